//go:build !windows && !(unix && !solaris && !illumos && !aix)

package vfs

import (
	"errors"
	"io/fs"
	"os"
)

// lockFile refuses: without a lock two processes could write one store.
func lockFile(*os.File) error { return errors.ErrUnsupported }

func syncDir(d *os.File) error { return d.Sync() }

// Inherit gives the file the mode of another.
func (f osFile) Inherit(info fs.FileInfo) error { return f.Chmod(info.Mode().Perm()) }

// IsFull tells whether an error says that there is no room for a write.
func IsFull(error) bool { return false }
