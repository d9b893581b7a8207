// Package sqlitekv makes a SQLite database a kv.KVStorage, with SQLite translated to Go
// (modernc.org/sqlite): no C compiler, no shared library.
//
// # What it promises
//
// Updates are serializable and all or nothing, over a crash too. Writers of one process
// queue for the one connection that writes; each transaction begins as a writer (BEGIN
// IMMEDIATE), so that none fails in its middle because another was faster, and none is
// run twice. Several processes may share the file, on a local file system: a lock of
// another one is waited for, 5 seconds and then four attempts more, before kv.ErrBusy.
// Readers wait for no writer and no writer for them: each scan and View has a
// connection, and with it a snapshot, of its own. A scan that is left open for long
// keeps the log from being emptied, which therefore grows.
//
// A killed process loses nothing that was acknowledged. A power loss may take what was
// written after the last checkpoint, the latest first, and whole transactions; SQLite
// makes one when the log has 1000 pages (4 MB), Checkpoint does, and so does Close in
// the last process. With Options.SyncWrites it takes nothing. When a sync has failed it
// is not known what reached the disk: reads go on, writes are refused (ErrPoisoned). Of
// one that failed in a checkpoint of its own SQLite tells nobody.
// A full disk fails a write, of which nothing stays, and is forgotten when it has room.
//
// SQLite has no checksums: it notices damage to the structure of the file (kv.ErrCorrupt)
// and not to the bytes of a value. The largest value is kv.MaxValueSize, of which a
// write and a read take a copy; a transaction is held in memory until it commits.
// Stats counts the keys by reading their index. The process must not open the file but
// by SQLite: closing any descriptor of a file drops the locks that it has on it.
//
// Opened read-only, a store is read without a byte of database or log being changed. It
// may be written meanwhile: with a log beside the file the reading is SQLite's own, for
// which it may make the index of the log (-shm); without one nothing locks the file, and
// should a writer come in the middle of a scan, which the size and the time of the file
// tell, that ends with kv.ErrBusy and not with a mixture.
//
// # The file
//
// PRAGMA application_id is 0x43726162 ("Crab"), PRAGMA user_version the version of the
// table. A newer one is refused (ErrVersion), and so is what is no store (ErrNotStore),
// before anything is touched; an older one is brought up to date, with its index, in one
// transaction, when it is opened for writing. Version 2:
//
//	CREATE TABLE entries (col INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL) STRICT;
//	CREATE UNIQUE INDEX entries_by_key ON entries (col, key);
//
// BLOBs compare by their bytes. Version 1 had the values inside the index by the key
// (PRIMARY KEY (col, key), WITHOUT ROWID), which is better for scans of small values and
// much worse for everything as soon as a value is larger than some 1,000 bytes: only
// a few rows then fit a page of the tree, of which the inner pages hold whole rows too.
// BenchmarkLayout, 100,000 keys, two cores:
//
//	                        256-byte values      1 KiB              64 KiB
//	                        beside   inside      beside   inside    beside   inside
//	fill, 1000 an update     2.3 s    5.1 s       2.8 s   13.7 s      49 s     79 s
//	Get                      12 µs    14 µs       12 µs    37 µs      84 µs   383 µs
//	Put                      43 µs    50 µs       49 µs   116 µs     451 µs   979 µs
//	scan of 100 entries     356 µs   135 µs      539 µs   503 µs       7 ms     8 ms
//	scan of all keys         45 ms    81 ms       48 ms   228 ms      49 ms    2.1 s
//	scan of everything      114 ms   135 ms      269 ms   388 ms     5.4 s     7.2 s
//
// # How it is laid out
//
// store.go has the store, tx.go transactions and the snapshots below them, scan.go scans;
// conn.go is a connection with its statements, pool.go those that read, wait.go the
// patience with other processes; file.go is the file and its state, schema.go its
// versions, upkeep.go checkpoints, compaction, backup and figures.
package sqlitekv
