// Package vfs is the little of a file system that crabdb uses, as an interface,
// so that tests can put faults, crashes and full disks in its place.
//
// Everything that can lose data goes through it: opening, reading, writing,
// truncating, syncing, renaming, removing, and syncing a directory. Paths are
// resolved by the caller; no method follows a symbolic link on purpose.
package vfs

import (
	"io"
	"io/fs"
)

// FS opens and moves files. Its methods are safe for concurrent use and return
// errors that errors.Is finds as fs.ErrNotExist and the like.
type FS interface {
	// OpenFile opens a file as os.OpenFile does, by the flags of package os.
	OpenFile(path string, flag int, perm fs.FileMode) (File, error)

	// Rename replaces newPath by oldPath at one moment. It is durable after
	// SyncDir.
	Rename(oldPath, newPath string) error

	// Remove removes a file. It is durable after SyncDir.
	Remove(path string) error

	// SameFile tells whether two infos, of whatever path, are of one file.
	SameFile(a, b fs.FileInfo) bool

	// Lstat tells of a file, without following a symbolic link.
	Lstat(path string) (fs.FileInfo, error)

	// ReadDir returns the names in a directory, sorted.
	ReadDir(dir string) ([]fs.DirEntry, error)

	// SyncDir makes what was created, renamed and removed in a directory durable.
	SyncDir(dir string) error

	// Lock takes the exclusive lock of a file, which it creates when it is missing,
	// and writes note into it, in the place of an older one that begins with the
	// same word; a file with another content keeps it. It does not wait: when another holds the lock it
	// returns a *LockedError. The lock ends with Close or with the process.
	Lock(path, note string) (io.Closer, error)
}

// File is an open file. Reads and writes are by offset and safe for concurrent
// use.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer

	// Truncate sets the length in bytes, and gives back what was reserved behind it.
	Truncate(size int64) error

	// Reserve makes the file reach from one offset, at or behind its end, to another,
	// filled with zeros for which there is space on the disk. With memory, WriteAt
	// may put what is written there into memory that is the file's, without a system
	// call, until the next Reserve or Truncate; the two and such writes are for one
	// goroutine at a time. It fails where a system cannot do that, and may have made
	// the file longer all the same.
	Reserve(from, to int64, memory bool) error

	// Sync makes the content and the length durable.
	Sync() error

	// Stat tells of the file, also after its path was renamed or removed.
	Stat() (fs.FileInfo, error)

	// Inherit gives the file the mode, and where it differs the owner, of another
	// one.
	Inherit(info fs.FileInfo) error
}

// LockedError is what Lock returns when another holds the lock.
type LockedError struct {
	Path string // of the lock file
	Note string // what the holder wrote into it; empty if it cannot be read
}

func (e *LockedError) Error() string { return "locked: " + e.Path }
