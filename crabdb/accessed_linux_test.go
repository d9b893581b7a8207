package crabdb

import (
	"syscall"
	"testing"
	"time"
)

// accessed returns the time of the last access to a file.
func accessed(t *testing.T, path string) time.Time {
	t.Helper()
	st, ok := stat(t, path).Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatalf("no times of %s", path)
	}
	return time.Unix(st.Atim.Unix())
}
