package memfs

import (
	"bytes"
	"io/fs"
	"runtime"
	"slices"
)

// inode is a file, whatever it is called. The file system's mu guards it.
type inode struct {
	now    []byte // as programs see it
	disk   []byte // as the disk has it; behind length, what is hidden there
	length int    // of the file, as the disk knows it
	mode   fs.FileMode
}

// file is a handle to an open file.
type file struct {
	fs       *FS
	path     string // by which it was opened
	inode    *inode
	writable bool
	closed   bool
}

// begin locks the file system for a call; the caller unlocks it, unless there is
// an error.
func (f *file) begin(op string, write bool) error {
	f.fs.mu.Lock()
	var err error
	switch {
	case f.closed:
		err = pathError(op, f.path, fs.ErrClosed)
	case write && !f.writable:
		err = pathError(op, f.path, fs.ErrPermission)
	default:
		return nil
	}
	f.fs.mu.Unlock()
	return err
}

// ReadAt reads from an offset.
func (f *file) ReadAt(b []byte, offset int64) (int, error) {
	if err := f.begin("read", false); err != nil {
		return 0, err
	}
	defer f.fs.mu.Unlock()
	return bytes.NewReader(f.inode.now).ReadAt(b, offset)
}

// WriteAt writes at an offset. A gap before it is zeros.
func (f *file) WriteAt(b []byte, offset int64) (int, error) {
	if err := f.begin("write", true); err != nil {
		return 0, err
	}
	defer f.fs.mu.Unlock()
	f.inode.now = resized(f.inode.now, max(len(f.inode.now), int(offset)+len(b)))
	return copy(f.inode.now[offset:], b), nil
}

// Truncate sets the length.
func (f *file) Truncate(size int64) error {
	if err := f.begin("truncate", true); err != nil {
		return err
	}
	defer f.fs.mu.Unlock()
	f.inode.now = resized(f.inode.now, int(size))
	return nil
}

// Reserve makes the file longer.
func (f *file) Reserve(_, to int64, _ bool) error { return f.Truncate(to) }

// resized returns b with another length; what is new is zeros, also where bytes
// that were cut away before are still in memory.
func resized(b []byte, size int) []byte {
	if size <= len(b) {
		return b[:size]
	}
	return append(b, make([]byte, size-len(b))...)
}

// synced makes the disk have the file. Where it was cut, there are zeros.
func (n *inode) synced() {
	behind := n.disk[min(len(n.now), len(n.disk)):]
	if len(n.now) < n.length {
		behind = make([]byte, len(behind))
	}
	n.disk, n.length = slices.Concat(n.now, behind), len(n.now)
}

// Sync makes the content and the length durable that the file has when it is called:
// others write while it is at it, as beside a disk, and of that it says nothing.
func (f *file) Sync() error {
	if err := f.begin("sync", false); err != nil {
		return err
	}
	f.inode.synced()
	f.fs.mu.Unlock()
	runtime.Gosched()
	return nil
}

// Stat tells of the file.
func (f *file) Stat() (fs.FileInfo, error) {
	if err := f.begin("stat", false); err != nil {
		return nil, err
	}
	defer f.fs.mu.Unlock()
	return f.inode.info(f.path), nil
}

// Inherit gives the file the mode of another.
func (f *file) Inherit(info fs.FileInfo) error {
	if err := f.begin("inherit", false); err != nil {
		return err
	}
	defer f.fs.mu.Unlock()
	f.inode.mode = info.Mode().Perm()
	return nil
}

// Close closes the handle. Closing it again is an error, as with a real one.
func (f *file) Close() error {
	if err := f.begin("close", false); err != nil {
		return err
	}
	defer f.fs.mu.Unlock()
	f.closed = true
	return nil
}
