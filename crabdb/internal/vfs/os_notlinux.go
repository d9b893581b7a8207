//go:build !linux

package vfs

import "errors"

// quietly returns no flag: there is none with which reading leaves no trace.
func quietly(int) int { return 0 }

// Reserve refuses: there is no way to take space that all of these systems have.
func (osFile) Reserve(_, _ int64, _ bool) error { return errors.ErrUnsupported }
