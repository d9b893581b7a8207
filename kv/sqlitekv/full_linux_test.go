package sqlitekv_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/sqlitekv"
)

// On a full disk a write fails and leaves nothing, reads go on, and when there is room
// again so do writes.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("no small disk to fill: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	path, ballast := filepath.Join(dir, "store.db"), filepath.Join(dir, "ballast")
	s := open(t, path, sqlitekv.Options{})
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	value := []byte(strings.Repeat("v", 20_000))
	pair := func(i int) error {
		return s.Update(ctx, func(tx kv.KVStorage) error {
			return errors.Join(tx.Put(ctx, kv.Memory, fmt.Appendf(nil, "a%03d", i), value),
				tx.Put(ctx, kv.Memory, fmt.Appendf(nil, "b%03d", i), value))
		})
	}
	n := 0
	var full error
	for full == nil && n < 1000 {
		if full = pair(n); full == nil {
			n++
		}
	}
	if full == nil || errors.Is(full, kv.ErrBusy) || !strings.Contains(full.Error(), "full") {
		t.Fatalf("after %d pairs: %v; want an error that says that the disk is full", n, full)
	}
	t.Logf("%d pairs, then: %v", n, full)
	if err := s.Put(ctx, kv.Memory, []byte("c"), append(value, value...)); err == nil {
		t.Error("a Put of as much went through")
	}
	wantPairs(t, s, n)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := pair(n); err != nil {
			t.Fatalf("when there is room again: %v", err)
		}
		n++
	}
	wantPairs(t, s, n)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantPairs(t, open(t, path, sqlitekv.Options{}), n)
}

func wantPairs(t testing.TB, s kv.KVStorage, n int) {
	t.Helper()
	keys := 0
	for e, err := range s.Scan(ctx, kv.Memory, nil) {
		if err != nil || len(e.Value) != 20_000 {
			t.Fatalf("%q: %d bytes, %v", e.Key, len(e.Value), err)
		}
		keys++
	}
	if keys != 2*n {
		t.Errorf("%d keys are there; want %d pairs", keys, n)
	}
}
