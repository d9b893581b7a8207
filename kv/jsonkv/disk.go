package jsonkv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/crabstore/crabstore/kv"
)

// disk is the directory of a store, so that tests can put one in its place that
// fails, or loses power. Names are relative to it, with slashes.
type disk interface {
	Lstat(name string) (fs.FileInfo, error)

	// Same tells whether two infos are of one file that was not written in between.
	Same(a, b fs.FileInfo) bool

	// ReadDir returns the names in a directory.
	ReadDir(name string) ([]string, error)
	ReadFile(name string) ([]byte, error)
	Mkdir(name string) error

	// Create writes a file that is not there yet, with a time of modification. Its
	// content is durable when Create returns, and its name after SyncDir.
	Create(name string, data []byte, mode fs.FileMode, modified time.Time) error

	// Rename replaces newName by oldName at one moment. Like Remove it is durable
	// after SyncDir.
	Rename(oldName, newName string) error
	Remove(name string) error
	SyncDir(name string) error

	// Lock takes the lock of who writes, or returns kv.ErrBusy.
	Lock() (io.Closer, error)
	Close() error
}

// osDisk is a directory of the machine. Nothing outside it is reached through it.
type osDisk struct {
	*os.Root
	dir string
}

// openDisk opens a directory, and creates it where the options do not forbid it.
func openDisk(dir string, readOnly bool) (osDisk, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !readOnly:
		err = makeDir(dir)
	case err == nil && !info.IsDir():
		err = fmt.Errorf("%w: %s is no directory", ErrNotStore, dir)
	}
	if err != nil {
		return osDisk{}, fmt.Errorf("jsonkv: opening the store in %s: %w", dir, err)
	}
	root, err := os.OpenRoot(dir)
	return osDisk{root, dir}, err
}

// makeDir makes a directory, and those above it that are missing, so that they last.
func makeDir(dir string) error {
	dir = filepath.Clean(dir)
	above := filepath.Dir(dir)
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && above != dir {
		if err := makeDir(above); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	parent, err := os.Open(above)
	if err != nil {
		return err
	}
	return syncDir(parent)
}

// syncDir syncs a directory and closes it. Windows cannot, nor can some file systems
// of networks.
func syncDir(dir *os.File) error {
	err := dir.Sync()
	if runtime.GOOS == "windows" || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, dir.Close())
}

func (d osDisk) Same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func (d osDisk) ReadDir(name string) ([]string, error) {
	dir, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	return names, errors.Join(err, dir.Close())
}

func (d osDisk) Mkdir(name string) error { return d.Root.Mkdir(name, 0o700) }

func (d osDisk) Create(name string, data []byte, mode fs.FileMode, modified time.Time) error {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && mode != 0o600 {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = d.Chtimes(name, modified, modified)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (d osDisk) SyncDir(name string) error {
	dir, err := d.Open(name)
	if err != nil {
		return err
	}
	return syncDir(dir)
}

func (d osDisk) Lock() (io.Closer, error) {
	at := filepath.Join(d.dir, lockName)
	lock := flock.New(at, flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("jsonkv: lock %s: %w", at, err)
	}
	note, err := d.ReadFile(lockName)
	ours := err == nil && (len(note) == 0 || strings.HasPrefix(string(note), "pid "))
	if !held {
		if !ours || len(note) == 0 {
			note = []byte("another process")
		}
		return nil, fmt.Errorf("%w: the store in %s is being written by %s (lock file %s); close it there, or open it read-only",
			kv.ErrBusy, d.dir, strings.TrimSpace(string(note)), at)
	}
	// The note is for people. The lock holds without it, so that it cannot be written,
	// or that somebody has something else there, is no reason to fail.
	if ours {
		if f, err := d.OpenFile(lockName, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
			_, _ = fmt.Fprintf(f, "pid %d\n", os.Getpid())
			_ = f.Close()
		}
	}
	return lock, nil
}
