package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

const (
	lockExclusiveNow = 3 // LOCKFILE_FAIL_IMMEDIATELY | LOCKFILE_EXCLUSIVE_LOCK

	errLockViolation = syscall.Errno(33)
	errHandleFull    = syscall.Errno(39)
	errDiskFull      = syscall.Errno(112)
)

// lockFile locks one byte far behind the note, so that the note can be read.
func lockFile(f *os.File) error {
	at := syscall.Overlapped{OffsetHigh: 1}
	ok, _, err := lockFileEx.Call(f.Fd(), lockExclusiveNow, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return nil
	case errors.Is(err, errLockViolation):
		return errLocked
	}
	return err
}

// syncDir does nothing: Windows has no way to sync a directory.
func syncDir(*os.File) error { return nil }

// Inherit gives the file the mode of another.
func (f osFile) Inherit(info fs.FileInfo) error { return f.Chmod(info.Mode().Perm()) }

// IsFull tells whether an error says that there is no room for a write.
func IsFull(err error) bool {
	return errors.Is(err, errDiskFull) || errors.Is(err, errHandleFull)
}
