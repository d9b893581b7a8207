package pebblekv

import (
	"io"
	"io/fs"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// faulty is a file system in memory that is full after so many changes: of those that
// come then, all fail, or the first so many.
type faulty struct {
	vfs.FS
	left   atomic.Int64                                    // changes until it is full
	spared func(name string, c vfs.DiskWriteCategory) bool // files to which nothing happens
	hit    atomic.Int64                                    // changes that failed
	hits   int64                                           // how many fail; 0 means all
}

func newFaulty(after int) *faulty { return faultyOn(vfs.NewMem(), after) }

func faultyOn(fsys vfs.FS, after int) *faulty {
	f := &faulty{FS: fsys}
	f.left.Store(int64(after))
	return f
}

func (f *faulty) fell() bool { return f.hit.Load() > 0 }
func (f *faulty) heal()      { f.left.Store(1 << 40) }

func (f *faulty) change(name string, c vfs.DiskWriteCategory) error {
	if f.spared != nil && f.spared(name, c) || f.left.Add(-1) >= 0 {
		return nil
	}
	if n := f.hit.Add(1); f.hits > 0 && n > f.hits {
		return nil
	}
	return &fs.PathError{Op: "change", Path: name, Err: syscall.ENOSPC}
}

func (f *faulty) file(name string, c vfs.DiskWriteCategory, file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &faultyFile{file, f, name, c}, nil
}

func (f *faulty) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.change(name, c); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name, c)
	return f.file(name, c, file, err)
}

func (f *faulty) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	return f.file(name, "", file, err)
}

func (f *faulty) Remove(name string) error {
	if err := f.change(name, ""); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *faulty) Rename(oldname, newname string) error {
	if err := f.change(newname, ""); err != nil {
		return err
	}
	return f.FS.Rename(oldname, newname)
}

func (f *faulty) MkdirAll(dir string, perm fs.FileMode) error {
	if err := f.change(dir, ""); err != nil {
		return err
	}
	return f.FS.MkdirAll(dir, perm)
}

func (f *faulty) Lock(name string) (io.Closer, error) {
	if err := f.change(name, ""); err != nil {
		return nil, err
	}
	return f.FS.Lock(name)
}

type faultyFile struct {
	vfs.File
	fsys *faulty
	name string

	category vfs.DiskWriteCategory
}

// Write leaves half of what it cannot write.
func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.fsys.change(f.name, f.category); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f *faultyFile) Sync() error {
	if err := f.fsys.change(f.name, f.category); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) SyncData() error {
	if err := f.fsys.change(f.name, f.category); err != nil {
		return err
	}
	return f.File.SyncData()
}

func (f *faultyFile) Close() error {
	if err := f.fsys.change(f.name, f.category); err != nil {
		_ = f.File.Close()
		return err
	}
	return f.File.Close()
}
