package pebblekv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/crabstore/crabstore/kv"
)

// private is the file system of the operating system in which what is made is the
// owner's alone: files 0600, directories 0700. What exists keeps its mode.
type private struct{ vfs.FS }

func (p private) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := p.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := touch(name); err != nil {
		return nil, err
	}
	return p.OpenReadWrite(name, category)
}

func (p private) MkdirAll(dir string, _ os.FileMode) error { return p.FS.MkdirAll(dir, 0o700) }

// Lock is where two writers of one store meet. A descriptor of the lock file must not
// be closed by a process that has the lock, since that would release it; so it is
// opened here only while it is being made.
func (p private) Lock(name string) (io.Closer, error) {
	if err := touch(name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	lock, err := p.FS.Lock(name)
	var ofPath *fs.PathError
	if err != nil && !errors.As(err, &ofPath) { // an error of the lock, not of its file
		err = fmt.Errorf("%w: %s is open for writing elsewhere: %w", kv.ErrBusy, p.PathDir(name), err)
	}
	return lock, err
}

// touch makes an empty file that was not there.
func touch(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}
