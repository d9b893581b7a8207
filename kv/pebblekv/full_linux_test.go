package pebblekv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

// TestFullFileSystem fills a real file system, frees some of it, and opens the store again.
func TestFullFileSystem(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(mount, syscall.MNT_DETACH) })
	ballast := filepath.Join(mount, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(mount, "store")
	s := open(t, dir, Options{tune: small})
	n, key := 0, func(i int) string { return fmt.Sprintf("key/%06d", i) }
	var err error
	for err == nil {
		if err = s.Put(ctx, kv.Memory, []byte(key(n)), []byte(noise(n, 1<<10))); err == nil {
			n++
		}
	}
	if n < 1000 {
		t.Fatalf("it was full after %d kilobytes", n)
	}
	wantError(t, err, ErrPoisoned, syscall.ENOSPC)
	wantPoisoned(t, s)
	want(t, s, key(n-1), noise(n-1, 1<<10))
	wantError(t, s.Close(), ErrPoisoned)
	if _, err := Open(dir, Options{tune: small}); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("opened while the disk is full: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{tune: small})
	if all := content(t, s, kv.Memory); len(all) != n && len(all) != n+1 {
		t.Fatalf("%d are there, %d were acknowledged", len(all), n)
	}
	for i := range n {
		want(t, s, key(i), noise(i, 1<<10))
	}
	put(t, s, "more", "of it")
	shut(t, s)
}
