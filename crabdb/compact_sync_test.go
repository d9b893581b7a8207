package crabdb

import (
	"syscall"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// Whoever is told that his write is safe from a power loss while a compaction puts
// another file in the old one's place must have been told the truth. The new file
// counted as soon as it was renamed; but until the directory is synced a power loss
// brings back the old one, in which nobody had synced the write.
func TestSyncDuringACompactionIsTrue(t *testing.T) {
	m := memfs.New()
	var db *DB
	compacting, looked := false, false
	hook := func(c faultfs.Call) error {
		if !compacting || c.Op != faultfs.SyncDir {
			return nil
		}
		looked = true
		must(t, db.Sync())
		after := mustOpen(t, memPath, quiet().On(m.Synced()))
		want(t, after, "k", "v")
		return nil
	}
	db = mustOpen(t, memPath, quiet().On(faultfs.FS{FS: m, Hook: hook}))
	put(t, db, "k", "v")
	compacting = true
	must(t, db.Compact(ctx))
	if !looked {
		t.Fatal("the compaction did not sync the directory")
	}
}

// When the directory cannot be synced it is not known which file a power loss
// leaves, and so no earlier write is safe.
func TestSyncAfterACompactionWhoseNameIsNotDurable(t *testing.T) {
	m := memfs.New()
	compacting := false
	hook := func(c faultfs.Call) error {
		if compacting && c.Op == faultfs.SyncDir {
			return syscall.EIO
		}
		return nil
	}
	db := mustOpen(t, memPath, quiet().On(faultfs.FS{FS: m, Hook: hook}))
	put(t, db, "k", "v")
	compacting = true
	err := db.Compact(ctx)
	wantError(t, err, ErrPoisoned)
	wantError(t, err, syscall.EIO)
	wantError(t, db.Sync(), ErrPoisoned)
	wantError(t, db.Put(ctx, 1, []byte("l"), nil), ErrPoisoned)
	want(t, db, "k", "v")
	for name, left := range map[string]*memfs.FS{"killed": m.Kill(), "powerless": m.Synced()} {
		again := mustOpen(t, memPath, quiet().On(left))
		if name == "killed" {
			want(t, again, "k", "v")
		}
		put(t, again, "l", "w")
	}
}
