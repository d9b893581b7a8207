// Package faultfs puts a hook before every call of a file system. The hook can
// count calls, fail one, cut a write short, or wait: it runs on the goroutine of
// the caller, with no lock held.
package faultfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
)

// Op is a method of vfs.FS or vfs.File.
type Op string

// The operations, as a hook is told of them.
const (
	Open     Op = "open"
	Rename   Op = "rename"
	Remove   Op = "remove"
	Lstat    Op = "lstat"
	ReadDir  Op = "readdir"
	SyncDir  Op = "syncdir"
	Lock     Op = "lock"
	Read     Op = "read"
	Write    Op = "write"
	Truncate Op = "truncate"
	Reserve  Op = "reserve"
	Sync     Op = "sync"
	Stat     Op = "stat"
	Inherit  Op = "inherit"
	Close    Op = "close"
)

// Changes tells whether the operation changes what is on the disk.
func (o Op) Changes() bool {
	switch o {
	case Lstat, ReadDir, Read, Stat, Close, Lock:
		return false
	}
	return true
}

// Call is one call that is about to be made.
type Call struct {
	Op     Op
	Path   string // by which a file was opened; of a rename the new one
	Offset int64  // of a read or write, or the length that a truncation or reservation makes
	Data   []byte // of a write, not to be changed
}

func (c Call) String() string { return fmt.Sprintf("%s %s %d+%d", c.Op, c.Path, c.Offset, len(c.Data)) }

// ShortWrite is the error of a hook that lets a write write its first N bytes, and
// then fail with Err.
type ShortWrite struct {
	N   int
	Err error
}

func (e *ShortWrite) Error() string { return e.Err.Error() }

// FS is a file system with a hook. A call for which the hook returns an error is
// not made.
type FS struct {
	vfs.FS
	Hook func(Call) error
}

// OpenFile calls the hook and opens a file.
func (f FS) OpenFile(path string, flag int, perm fs.FileMode) (vfs.File, error) {
	if err := f.Hook(Call{Op: Open, Path: path}); err != nil {
		return nil, err
	}
	inner, err := f.FS.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return file{inner, path, f.Hook}, nil
}

// Rename calls the hook and renames.
func (f FS) Rename(oldPath, newPath string) error {
	if err := f.Hook(Call{Op: Rename, Path: newPath}); err != nil {
		return err
	}
	return f.FS.Rename(oldPath, newPath)
}

// Remove calls the hook and removes.
func (f FS) Remove(path string) error {
	if err := f.Hook(Call{Op: Remove, Path: path}); err != nil {
		return err
	}
	return f.FS.Remove(path)
}

// Lstat calls the hook and tells of a file.
func (f FS) Lstat(path string) (fs.FileInfo, error) {
	if err := f.Hook(Call{Op: Lstat, Path: path}); err != nil {
		return nil, err
	}
	return f.FS.Lstat(path)
}

// ReadDir calls the hook and reads a directory.
func (f FS) ReadDir(dir string) ([]fs.DirEntry, error) {
	if err := f.Hook(Call{Op: ReadDir, Path: dir}); err != nil {
		return nil, err
	}
	return f.FS.ReadDir(dir)
}

// SyncDir calls the hook and syncs a directory.
func (f FS) SyncDir(dir string) error {
	if err := f.Hook(Call{Op: SyncDir, Path: dir}); err != nil {
		return err
	}
	return f.FS.SyncDir(dir)
}

// Lock calls the hook and takes a lock.
func (f FS) Lock(path, note string) (io.Closer, error) {
	if err := f.Hook(Call{Op: Lock, Path: path}); err != nil {
		return nil, err
	}
	return f.FS.Lock(path, note)
}

type file struct {
	vfs.File
	path string
	hook func(Call) error
}

func (f file) ReadAt(b []byte, offset int64) (int, error) {
	if err := f.hook(Call{Op: Read, Path: f.path, Offset: offset}); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, offset)
}

func (f file) WriteAt(b []byte, offset int64) (int, error) {
	err := f.hook(Call{Op: Write, Path: f.path, Offset: offset, Data: b})
	if short := (*ShortWrite)(nil); errors.As(err, &short) {
		n, err := f.File.WriteAt(b[:min(short.N, len(b))], offset)
		return n, errors.Join(err, short.Err)
	}
	if err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, offset)
}

func (f file) Truncate(size int64) error {
	if err := f.hook(Call{Op: Truncate, Path: f.path, Offset: size}); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f file) Reserve(from, to int64, memory bool) error {
	if err := f.hook(Call{Op: Reserve, Path: f.path, Offset: to}); err != nil {
		return err
	}
	return f.File.Reserve(from, to, memory)
}

func (f file) Sync() error {
	if err := f.hook(Call{Op: Sync, Path: f.path}); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f file) Stat() (fs.FileInfo, error) {
	if err := f.hook(Call{Op: Stat, Path: f.path}); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f file) Inherit(info fs.FileInfo) error {
	if err := f.hook(Call{Op: Inherit, Path: f.path}); err != nil {
		return err
	}
	return f.File.Inherit(info)
}

// Close calls the hook and closes the file, whatever the hook says: its error is
// that of a close that lost something.
func (f file) Close() error {
	return errors.Join(f.hook(Call{Op: Close, Path: f.path}), f.File.Close())
}
