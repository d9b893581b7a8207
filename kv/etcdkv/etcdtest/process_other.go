//go:build !linux

package etcdtest

import "syscall"

// diesWithParent does nothing where the kernel cannot: there a server outlives a
// test process that is killed.
func diesWithParent() *syscall.SysProcAttr { return nil }
