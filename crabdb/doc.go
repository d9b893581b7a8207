// Package crabdb is the engine: an embedded, ordered key-value store in one file
// that is appended to and never edited, with an index of all keys in memory.
//
// It knows columns (a byte), keys and values, transactions, snapshots, and nothing
// of what they mean. It uses the standard library alone. FORMAT.md states the file
// to the byte.
//
// # How it works
//
// Every write appends a record and points the index at it. On Linux the file is
// also memory: a sealed one is read by copying from its mapped pages, and a store
// that writes much copies into space that it reserved ahead of the log, so that
// neither takes a system call; elsewhere pread and pwrite serve. The index is a
// copy-on-write B+tree of packed leaves (internal/packtree) from column and key to
// the place of the record; values stay in the file. A reader takes the tree as it
// is, in constant time, and works on that version for as long as it likes: no
// writer waits for it, and it for none. Opening loads the snapshot of the index
// that the last checkpoint left, and replays what came after it. Compaction copies
// the live records, in the order of their keys, to a new file and renames it over
// the old while reads and writes go on.
//
// # What it promises
//
// A write that has returned is with the operating system: a process that is killed
// loses nothing. When it is on the disk, so that a power loss takes it neither, is
// chosen by Options.Sync. Whatever happens, opening the store again gives a prefix
// of the history that was acknowledged, at least as long as the last checkpoint or,
// with SyncWrite, the last write; a transaction is in it whole or not at all. A
// value read from a sealed file is checked against its checksum on every read.
//
//	operation    process killed   power lost: SyncCheckpoint, SyncInterval, SyncWrite
//	Put, Delete  kept             kept since the last checkpoint; since the last interval; kept
//	Update       kept, whole      the same, whole or absent
//	Checkpoint   the old or the new snapshot is used; nothing depends on it
//	Compact      the old or the new file stands; each holds everything
//	Backup       writes beside the store and changes nothing of it
//	Restore      the whole store or none
//
// A full disk fails the write at hand: the file is cut back to where it ended, and
// the store goes on. A write or sync that fails otherwise poisons the store
// (ErrPoisoned), since what the disk holds is then unknown: it stays readable, and
// opening it again starts from what is there. Bad bytes where everything was once
// synced are ErrCorrupt, with the offset; bad bytes behind that are a tail torn by
// a crash, and are cut off. What is cut off is kept in a file beside the store if
// it held whole records. FORMAT.md has the whole of this in words, TESTING.md how
// it is tested, FAULTS.md what that found.
//
// What is assumed of the disk: what fsync reported as written stays; a sector of
// 512 bytes is written whole or not at all where it is written again in place,
// which only the header is; a rename is there whole or not at all.
//
// # What it does not do
//
// One process writes at a time; others may read. Every key is in memory: 10 to 11
// bytes each for keys of messages, more for keys that share less. There is no compression and no
// encryption. A file is at most 1 TiB, a value 1 GiB, a key 64 KiB, a transaction 4
// GiB and held in memory until it commits.
//
// # How it is laid out
//
//	header.go, record.go, snapshot.go   the format
//	logfile.go, walker.go               an open file; reading it in order
//	path.go, open.go, replay.go         opening and recovery
//	measure.go, salvage.go              what a plain snapshot lacks; damaged files
//	db.go, append.go, sync.go           writing, the end of the log, syncs
//	read.go, tx.go                      reading, transactions
//	checkpoint.go, copy.go, compact.go  snapshots, backups, compaction
//	restore.go                          making a store of a backup
//	refresh.go, check.go, stats.go      following a writer; faults; numbers
//	background.go, close.go             work beside reads and writes; the end
//	internal/vfs                        the file system, as an interface
//	internal/packtree                   the index
package crabdb
