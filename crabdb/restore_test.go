package crabdb

import (
	"bytes"
	"context"
	"io/fs"
	"slices"
	"syscall"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// backupOf returns a backup of a small store, and what it holds.
func backupOf(t *testing.T, opts Options) ([]byte, content) {
	t.Helper()
	db := mustOpen(t, memPath, opts.On(memfs.New()))
	put(t, db, "a", "old")
	put(t, db, "a", "1")
	put(t, db, "b", "")
	putIn(t, db, 7, "c", "three")
	var b bytes.Buffer
	must(t, db.Backup(ctx, &b))
	return b.Bytes(), content{{1, "a"}: "1", {1, "b"}: "", {7, "c"}: "three"}
}

func TestRestore(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		backup, want := backupOf(t, opts)
		path := newPath(t)
		must(t, Restore(ctx, path, bytes.NewReader(backup), Options{}))
		db := mustOpen(t, path, quiet())
		wantContent(t, db, want)
		wantSound(t, db)
		put(t, db, "d", "4")
		mustClose(t, db)

		before := readFile(t, path)
		err := Restore(ctx, path, bytes.NewReader(backup), Options{})
		wantError(t, err, fs.ErrExist)
		wantText(t, err, path, "move it away")
		if !bytes.Equal(readFile(t, path), before) {
			t.Fatal("it changed the store that was there")
		}
	})
}

// Of a damaged backup nothing is restored: in a sealed one every change is seen, in
// both that something is missing.
func TestRestoreOfDamaged(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		backup, _ := backupOf(t, opts)
		refused := func(damaged []byte, what string, at int) {
			t.Helper()
			m := memfs.New()
			if err := Restore(ctx, memPath, bytes.NewReader(damaged), Options{fs: m}); err == nil {
				t.Fatalf("%s at %d is restored", what, at)
			}
			if names := slices.DeleteFunc(m.Names(), func(n string) bool { return n == memPath+lockSuffix }); len(names) > 0 {
				t.Fatalf("%s at %d leaves %q", what, at, names)
			}
		}
		for at := range backup {
			refused(backup[:at], "a cut", at)
		}
		if opts.Plain {
			return
		}
		for bit := range 8 * len(backup) {
			damaged := bytes.Clone(backup)
			damaged[bit/8] ^= 1 << (bit % 8)
			refused(damaged, "a flipped bit", bit)
		}
	})
}

// A crash before any call leaves no store or the whole one.
func TestRestoreCrash(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		backup, want := backupOf(t, opts)
		m := memfs.New()
		var left []*memfs.FS
		hook := func(c faultfs.Call) error {
			left = append(left, m.Synced(), m.Kill())
			return nil
		}
		must(t, Restore(ctx, memPath, bytes.NewReader(backup), Options{fs: faultfs.FS{FS: m, Hook: hook}}))
		whole := 0
		for _, left := range append(left, m.Synced()) {
			db, err := Open(memPath, quiet().On(left))
			must(t, err)
			got := contentOf(t, db)
			if got.equal(want) {
				whole++
			} else if len(got) > 0 {
				t.Fatalf("a crash leaves %v", got)
			}
			mustClose(t, db)
		}
		if whole == 0 || whole == len(left) {
			t.Fatalf("%d of %d crashes leave the whole store", whole, len(left))
		}
	})
}

func TestRestoreFails(t *testing.T) {
	backup, _ := backupOf(t, quiet())
	for _, op := range []faultfs.Op{faultfs.Open, faultfs.Write, faultfs.Sync, faultfs.Rename, faultfs.SyncDir, faultfs.Close} {
		hook := func(c faultfs.Call) error {
			if c.Op == op {
				return syscall.EIO
			}
			return nil
		}
		err := Restore(ctx, memPath, bytes.NewReader(backup), Options{fs: faultfs.FS{FS: memfs.New(), Hook: hook}})
		wantError(t, err, syscall.EIO)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	m := memfs.New()
	wantError(t, Restore(stopped, memPath, bytes.NewReader(backup), Options{fs: m}), context.Canceled)
	if m.Names()[0] != memPath+lockSuffix || len(m.Names()) > 1 {
		t.Fatalf("it left %q", m.Names())
	}
	db := mustOpen(t, memPath, quiet().On(m))
	mustClose(t, db)
	must(t, db.fs.Remove(memPath))
	locked, err := m.Lock(memPath+lockSuffix, "pid 1")
	must(t, err)
	wantError(t, Restore(ctx, memPath, bytes.NewReader(backup), Options{fs: m}), ErrLocked)
	must(t, locked.Close())
}
