package pebblekv

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is the file system through which pebble writes a store. It does two things.
//
// It decides when the log is synced: at each commit where writes sync, else when a
// log is full and closed, so that of all logs the last alone can have a torn tail.
//
// And it takes care of failures. When a log, a manifest or a directory cannot be
// written pebble ends the process: it panics, some of its locks held, or calls
// Fatalf. So it is never told. At the first failure the store is poisoned: the files
// stay as they are, as if the process had been killed at that moment, and whatever
// pebble goes on to write lies in memory until the store is closed. It can finish
// what it has begun and be read and closed as ever; the store above it refuses writes.
// That a table cannot be written it is told, since it bears that: a flush is repeated,
// into memory, and a compaction is given up for a while, which poisons nothing.
type disk struct {
	vfs.FS
	dir        string
	syncWrites bool
	closing    <-chan struct{} // closed when the store is about to be

	failure  atomic.Pointer[error]
	memory   *vfs.MemFS   // where files are made after the failure
	deferred atomic.Int64 // when a compaction failed last, in nanoseconds since 1970
}

// compactionRest is how long no compaction begins when one has failed: pebble itself
// would try again at once, and for ever.
const compactionRest = time.Second

func newDisk(fsys vfs.FS, dir string, syncWrites bool, closing <-chan struct{}) (*disk, error) {
	d := &disk{FS: fsys, dir: dir, syncWrites: syncWrites, closing: closing, memory: vfs.NewMem()}
	return d, d.memory.MkdirAll(dir, 0o700)
}

// failed returns the error that poisoned the store, or nil.
func (d *disk) failed() error {
	if err := d.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// fail poisons the store. The first error counts.
func (d *disk) fail(err error) {
	err = fmt.Errorf("%w: %w", ErrPoisoned, err)
	d.failure.CompareAndSwap(nil, &err)
}

// owns tells whether a file is one of the store itself, and not of a backup of it.
func (d *disk) owns(name string) bool { return d.PathDir(name) == d.dir }

// gone tells whether a file of the store is no longer to be changed.
func (d *disk) gone(name string) bool { return d.failed() != nil && d.owns(name) }

// Create makes a file: on the disk, or in memory when the store is poisoned or is so
// by this.
func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !d.owns(name) {
		return d.FS.Create(name, category)
	}
	f := &file{disk: d, role: roleOf(name, category), lazy: !d.syncWrites && strings.HasSuffix(name, ".log")}
	if f.role == compaction {
		d.rest()
		if err := d.failed(); err != nil {
			return nil, f.report(err)
		}
	}
	if d.failed() != nil {
		return d.memory.Create(name, category)
	}
	var err error
	if f.File, err = d.FS.Create(name, category); err == nil {
		return f, nil
	}
	if f.role == compaction {
		return nil, f.report(err)
	}
	d.fail(err)
	return d.memory.Create(name, category)
}

// rest waits until compactions have rested from a failure.
func (d *disk) rest() {
	wait := time.Until(time.Unix(0, d.deferred.Load()).Add(compactionRest))
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.closing:
	}
}

func (d *disk) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if d.gone(name) {
		if f, err := d.memory.Open(name, opts...); err == nil {
			return f, nil
		}
	}
	return d.FS.Open(name, opts...)
}

func (d *disk) Stat(name string) (vfs.FileInfo, error) {
	if d.gone(name) {
		if info, err := d.memory.Stat(name); err == nil {
			return info, nil
		}
	}
	return d.FS.Stat(name)
}

// OpenDir opens a directory for syncing it.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil || name != d.dir {
		return f, err
	}
	return &file{File: f, disk: d, role: journal}, nil
}

func (d *disk) Remove(name string) error {
	if d.gone(name) {
		_ = d.memory.Remove(name) // it may be on the disk, where it stays
		return nil
	}
	return d.FS.Remove(name)
}

func (d *disk) Rename(oldname, newname string) error {
	if d.gone(newname) {
		return nil
	}
	err := d.FS.Rename(oldname, newname)
	if err != nil && d.owns(newname) {
		d.fail(err)
		return nil
	}
	return err
}

// role is what the failure of a file means.
type role int

const (
	journal    role = iota // a log, a manifest or another file of which pebble takes no error
	table                  // the table of a flush
	compaction             // a table that only compacts others
)

func roleOf(name string, category vfs.DiskWriteCategory) role {
	switch {
	case !strings.HasSuffix(name, ".sst"):
		return journal
	case category == "pebble-memtable-flush":
		return table
	}
	return compaction
}

// file is a file of the store that is being written, or its directory.
type file struct {
	vfs.File
	disk *disk
	role role
	lazy bool // a log that is synced when it is closed
}

// do does what changes the file, unless the store is poisoned, and tells pebble of a
// failure what it can bear to hear.
func (f *file) do(change func() error) error {
	if err := f.disk.failed(); err != nil {
		if f.role == journal {
			return nil
		}
		return err
	}
	if err := change(); err != nil {
		return f.report(err)
	}
	return nil
}

func (f *file) report(err error) error {
	if f.role == compaction {
		f.disk.deferred.Store(time.Now().UnixNano())
		return err
	}
	f.disk.fail(err)
	if f.role == table {
		return err
	}
	return nil
}

func (f *file) Write(p []byte) (int, error) {
	if err := f.do(func() error { _, err := f.File.Write(p); return err }); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *file) Sync() error {
	if f.lazy {
		return nil
	}
	return f.do(f.File.Sync)
}

func (f *file) SyncData() error {
	if f.lazy {
		return nil
	}
	return f.do(f.File.SyncData)
}

// SyncTo only spreads the work of a later Sync.
func (f *file) SyncTo(length int64) (fullSync bool, err error) {
	err = f.do(func() error { fullSync, err = f.File.SyncTo(length); return err })
	return fullSync && err == nil, err
}

// Preallocate does nothing for logs: a small store is to be small on the disk too.
func (f *file) Preallocate(offset, length int64) error {
	if f.role == journal {
		return nil
	}
	return f.File.Preallocate(offset, length)
}

func (f *file) Close() error {
	if f.lazy {
		_ = f.do(f.File.Sync) // a journal: it has no error to return
	}
	err := f.File.Close()
	return f.do(func() error { return err })
}
