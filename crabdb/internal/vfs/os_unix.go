//go:build unix && !solaris && !illumos && !aix

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lockFile uses flock(2): it belongs to the open file, so a second open of the
// same process is refused too, and the kernel drops it with the process.
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		}
		return err
	}
}

func syncDir(d *os.File) error {
	err := d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil // a file system that cannot sync a directory, as some network ones
	}
	return err
}

// Inherit gives the file the mode and owner of another.
func (f osFile) Inherit(info fs.FileInfo) error {
	if err := f.Chmod(info.Mode().Perm()); err != nil {
		return err
	}
	want, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	have, err := f.Stat()
	if err != nil {
		return err
	}
	if own, ok := have.Sys().(*syscall.Stat_t); ok && own.Uid == want.Uid && own.Gid == want.Gid {
		return nil
	}
	return f.Chown(int(want.Uid), int(want.Gid))
}

// IsFull tells whether an error says that there is no room for a write.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
