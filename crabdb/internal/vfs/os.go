package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// OS is the file system of the machine.
type OS struct{}

type osFile struct{ *os.File }

// OpenFile opens a file. One that is opened for reading keeps the time of its last
// access, on systems that can do so.
func (OS) OpenFile(path string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(path, flag|quietly(flag), perm)
	if errors.Is(err, fs.ErrPermission) && quietly(flag) != 0 { // it is somebody else's
		f, err = os.OpenFile(path, flag, perm)
	}
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Rename replaces newPath by oldPath.
func (OS) Rename(oldPath, newPath string) error { return os.Rename(oldPath, newPath) }

// Remove removes a file.
func (OS) Remove(path string) error { return os.Remove(path) }

// Lstat tells of a file.
func (OS) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// SameFile tells whether two infos are of one file.
func (OS) SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }

// ReadDir returns the names in a directory.
func (OS) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

// SyncDir makes the entries of a directory durable.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(syncDir(d), d.Close())
}

// Lock takes the lock of a file.
func (OS) Lock(path, note string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 256))
		err = errors.Join(err, f.Close())
		if errors.Is(err, errLocked) {
			return nil, &LockedError{path, strings.TrimSpace(string(holder))}
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// The note is for people. The lock holds without it, so a full disk is no
	// reason to fail; and a file that begins otherwise than notes do is somebody's
	// own, to be left as it is.
	kind, _, _ := strings.Cut(note, " ")
	if old, err := io.ReadAll(io.LimitReader(f, 256)); err == nil && (len(old) == 0 || strings.HasPrefix(string(old), kind)) {
		if f.Truncate(0) == nil {
			_, _ = f.WriteAt([]byte(note+"\n"), 0)
		}
	}
	return f, nil
}

// errLocked is what lockFile returns when another holds the lock.
var errLocked = errors.New("held by another")
