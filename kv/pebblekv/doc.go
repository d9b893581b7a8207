// Package pebblekv makes a pebble database a kv.KVStorage: a log-structured tree in a
// directory, for stores that are written much and outgrow one file.
//
// # What lies where
//
// The key of an entry is the byte of its column, then its key; pebble orders keys as
// bytes, so that a column is a range. A transaction is one batch, a View one snapshot,
// a scan one iterator. The format is pebble's own, pinned at a version that place.go
// states with its reason, and the database is marked as one of this adapter.
//
// # Transactions
//
// One writer has the turn at a time. An Update has it from before its function begins
// until it is in the log, and a plain Put or Delete takes it as well. So everything that
// is written is serializable, and a function given to Update that writes to the store
// itself instead of to its transaction waits for itself, until its context ends. Reads
// never wait.
//
// # What survives
//
// A write returns when the operating system has it: a killed process loses nothing that
// was acknowledged, and no transaction is half there. A power loss takes what was written
// since the last Checkpoint, or less, from the end: what is left is a prefix of the
// history. With Options.SyncWrites it takes nothing. Closing the store is a Checkpoint.
//
// Pebble's commits ask for a sync of the log throughout, since that is what waits for the
// write; unless SyncWrites says otherwise it is answered without doing it. All else
// is synced as pebble asks: tables before the manifest names them, the manifest before
// what it makes superfluous is deleted, and the directory. A log is synced when it is
// closed, before the next one is made, so that the last log alone can end in a torn tail,
// wherever its pages were lost; pebble ends the replay there, and refuses a torn log that
// is not the last. Logs are never written over: a page that was lost would show what lay
// there before, and one who reads beside the writer would see it change. Checkpoint
// flushes the log's content into tables, so that nothing rests on it. What pebble replays
// when it opens a store, it flushes and syncs before it takes anything else.
//
// Damage within the last log cannot be told from a torn tail and ends the replay like one.
// Everything else is under checksums, and gives kv.ErrCorrupt with the name of the file.
//
// # Failures of the disk
//
// When the log, the manifest or a flush cannot be written, the store is poisoned: it
// stays readable, refuses writes with ErrPoisoned and the cause, and leaves its files as
// they are. Opened again, it holds everything that was acknowledged. The write that met
// the failure is reported as failed; it may be read until then, and may be there
// afterwards. A compaction that fails poisons nothing, is tried again after a second, and
// is told by Stats.
//
// # Limits
//
// Values are of up to kv.MaxValueSize, transactions of up to 2 GiB (kv.ErrTxTooLarge),
// and take several times their size in memory while they are written. One process
// writes, and a second one gets kv.ErrBusy; any number may read beside it, each what was
// there when it opened (Options.ReadOnly; frozen.go says why that holds). An open store
// takes 32 MiB of cache and up to 64 MiB of what is not flushed.
//
// # Files
//
// store.go opens and closes, place.go tells what a directory is, engine.go sets pebble up;
// tx.go writes, reader.go reads; disk.go, on private.go, is the file system that pebble
// writes through, frozen.go the one that it reads through beside a writer; maintenance.go,
// backup.go and restore.go are what the daemon asks for besides.
package pebblekv
