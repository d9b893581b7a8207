// Package jsonkv is a store in plain JSON files, for people who want to read, edit and
// keep in git what their agent remembers. It is for small stores.
//
// # What is on the disk
//
// The directory of a store holds one document for each session, sessions/{handle}.json
// with all keys {realm}/session/{handle}/… of column Session, and store.json with all
// others. A handle that is no file name everywhere has a hash in its name. Documents are
// pretty-printed and sorted, so that a change is a small diff; document.go has their
// form, and package kv that of the values. The file named lock is locked by who writes,
// and says who that is; commit.json and what begins with new- are there while something
// is being written. Keep these out of git:
//
//	lock
//	commit.json
//	new-*
//
// Files are created with mode 0600, directories with 0700; a document keeps the mode
// that somebody gave it. What is in the directory besides is left alone.
//
// # Editing by hand
//
// Documents may be changed, written and removed while the store is closed (if the last
// writer was killed, open the store once before). What is changed while it is open is
// not overwritten: the next write of that document fails with ErrEdited, until the store
// was opened again. A document that is broken is refused with kv.ErrCorrupt, the file,
// the line and what is wanted there, and nothing is changed then: one that is no JSON,
// has a key twice, or a key that belongs into another document. A newer format is
// refused with ErrVersion, what is no store with ErrNotStore.
//
// # What is promised
//
// An Update is all or nothing, over a crash and a power loss too, and so is what several
// writers who came together wrote together: a document is written beside the old one,
// synced, and renamed; of several, a commit file that names them is written first, and
// is carried out by whoever opens the store next. Every write is on the disk, synced,
// when it returns, so Checkpoint has nothing to do. If a write fails, nothing of it is
// there; if it is not known whether it is, the store is poisoned and says so
// (ErrPoisoned).
//
// One process writes (kv.ErrBusy names the directory and the pid of another). Any number
// of others read: Options.ReadOnly takes no lock and changes nothing, and sees the store
// as it is at one moment, that of Open, also beside a writer and after a crash.
//
// Everything is in memory, in an ordered map that never changes, so reads wait for
// nobody. An Update decides, in its function, one at a time, over all writes before it,
// and a plain Put or Delete does too: everything is serializable. A function given to
// Update that writes to the store instead of to its transaction waits for itself, until
// its context ends.
//
// # Limits
//
//   - A value is 16 MiB at most (MaxValueSize).
//   - Memory: the values, and the text of the documents that were written; three times
//     the size of the documents is a good guess.
//   - Every write rewrites its documents. On a virtual disk with an fsync of 0.8 ms, on
//     two busy cores: a put into a session of 1,000 messages of 500 bytes (0.5 MB) takes
//     6 ms, half of that for two fsyncs; into a store.json of 10 MB 30 to 60 ms; an Update of
//     a session and store.json, which are eight fsyncs, 13 to 20 ms. 50 writers who come
//     together share their writings, 0.2 ms each. Opening 10 MB takes 0.2 s.
//     (go test -bench . ./kv/jsonkv)
//   - File systems whose times of modification are coarser than two writes of one
//     document lie apart, and that use the numbers of files again at once, may hide a
//     write from a reader beside it.
//
// # How it is laid out
//
// store.go opens a store and has its methods, queue.go brings writes together,
// commit.go writes documents, load.go reads them, document.go is their form and name.go
// their names, disk.go the file system, backup.go Backup and Restore.
package jsonkv
