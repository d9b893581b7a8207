package vfs

import (
	"os"
	"syscall"
)

// quietly returns the flag with which reading leaves no trace.
func quietly(flag int) int {
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		return 0
	}
	return syscall.O_NOATIME
}

// Reserve takes space on the disk and makes the file longer.
func (f osFile) Reserve(from, to int64, _ bool) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), 0, from, to-from)
		if err != syscall.EINTR {
			return err
		}
	}
}

// Sync makes the content and the length durable, and not the times, which would be one
// write more.
func (f osFile) Sync() error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return err
		}
	}
}
