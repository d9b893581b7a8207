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
