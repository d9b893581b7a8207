// Package memfs is a file system in memory that knows what of it a disk would
// still have after a power loss.
//
// Every file has two contents: the one that programs see, and the one that the
// last Sync left on the disk. A directory likewise has the entries that programs
// see, and those that SyncDir made durable. [FS.Crash] makes of both the file
// system that a machine could find when the power is back: what was synced is
// there, and of what was not, any part. That is more than a real disk does, which
// is the point: code that survives it relies on nothing but its syncs.
//
//	memfs.go  FS: names and entries
//	file.go   files: their contents, and handles to them
//	crash.go  what a power loss leaves
//	loss.go   the kinds of crashes that tests are made of
//
// Directories exist without being made. A path is a name and nothing else: there
// are no links.
package memfs

import (
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
)

// FS is a file system in memory, empty at first. It is safe for concurrent use.
type FS struct {
	mu      sync.Mutex
	entries map[string]*inode // by path, as programs see them
	durable map[string]*inode // as the disk has them
	pending []change          // what parts the two, oldest first
	locks   map[string]string // the notes of the locks that are held, by path
}

// change is one change of a directory that is not durable yet. A rename is one
// change of two entries.
type change struct {
	path string
	to   *inode // nil when the entry goes
	gone string // the entry that goes with it, in a rename
}

func (c change) apply(entries map[string]*inode) {
	if c.gone != "" {
		delete(entries, c.gone)
	}
	if c.to == nil {
		delete(entries, c.path)
	} else {
		entries[c.path] = c.to
	}
}

// New returns an empty file system.
func New() *FS {
	return &FS{entries: map[string]*inode{}, durable: map[string]*inode{}, locks: map[string]string{}}
}

func (m *FS) change(c change) {
	c.apply(m.entries)
	m.pending = append(m.pending, c)
}

func pathError(op, path string, err error) error { return &fs.PathError{Op: op, Path: path, Err: err} }

// OpenFile opens a file, by the flags O_RDONLY, O_RDWR, O_CREATE, O_EXCL and O_TRUNC.
func (m *FS) OpenFile(path string, flag int, perm fs.FileMode) (vfs.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.entries[path]
	switch {
	case !ok && flag&os.O_CREATE == 0:
		return nil, pathError("open", path, fs.ErrNotExist)
	case ok && flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return nil, pathError("open", path, fs.ErrExist)
	case !ok:
		n = &inode{mode: perm}
		m.change(change{path: path, to: n})
	}
	if flag&os.O_TRUNC != 0 {
		n.now = nil
	}
	return &file{fs: m, path: path, inode: n, writable: flag&(os.O_RDWR|os.O_WRONLY) != 0}, nil
}

// Rename replaces newPath by oldPath.
func (m *FS) Rename(oldPath, newPath string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.entries[oldPath]
	if !ok {
		return pathError("rename", oldPath, fs.ErrNotExist)
	}
	m.change(change{path: newPath, to: n, gone: oldPath})
	return nil
}

// Remove removes a file. Who has it open keeps it.
func (m *FS) Remove(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[path] == nil {
		return pathError("remove", path, fs.ErrNotExist)
	}
	m.change(change{path: path})
	return nil
}

// Lstat tells of a file.
func (m *FS) Lstat(path string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.entries[path]
	if !ok {
		return nil, pathError("lstat", path, fs.ErrNotExist)
	}
	return n.info(path), nil
}

// SameFile tells whether two infos are of one file.
func (m *FS) SameFile(a, b fs.FileInfo) bool { return a.Sys() == b.Sys() }

// ReadDir returns the files in a directory, sorted by name.
func (m *FS) ReadDir(dir string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var entries []fs.DirEntry
	for _, path := range slices.Sorted(maps.Keys(m.entries)) {
		if filepath.Dir(path) == filepath.Clean(dir) {
			entries = append(entries, fs.FileInfoToDirEntry(m.entries[path].info(path)))
		}
	}
	return entries, nil
}

// SyncDir makes the entries of a directory durable.
func (m *FS) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	rest := m.pending[:0]
	for _, c := range m.pending {
		if filepath.Dir(c.path) == filepath.Clean(dir) {
			c.apply(m.durable)
		} else {
			rest = append(rest, c)
		}
	}
	m.pending = rest
	return nil
}

// Lock takes the lock of a path.
func (m *FS) Lock(path, note string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if held, ok := m.locks[path]; ok {
		return nil, &vfs.LockedError{Path: path, Note: held}
	}
	if m.entries[path] == nil {
		m.change(change{path: path, to: &inode{mode: 0o600}})
	}
	m.entries[path].now = []byte(note + "\n")
	m.locks[path] = note
	return &lock{m, path}, nil
}

// ReleaseLocks gives all locks back, as the operating system does when a process is
// killed.
func (m *FS) ReleaseLocks() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.locks)
}

type lock struct {
	fs   *FS
	path string
}

// Close gives the lock back.
func (l *lock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	delete(l.fs.locks, l.path)
	return nil
}

// info is what Lstat and Stat tell.
type info struct {
	name  string
	size  int64
	mode  fs.FileMode
	inode *inode
}

func (n *inode) info(path string) fs.FileInfo {
	return info{filepath.Base(path), int64(len(n.now)), n.mode, n}
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return i.inode }

// Names returns the paths of all files, sorted.
func (m *FS) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.entries))
}
