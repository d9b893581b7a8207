//go:build !linux

package vfs

// quietly returns no flag: there is none with which reading leaves no trace.
func quietly(int) int { return 0 }
