package crashdisk

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/crabstore/crabstore/crabdb"
)

var ctx = context.Background()

func open(t *testing.T, d *Disk, opts crabdb.Options) *crabdb.DB {
	t.Helper()
	db, err := d.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func has(t *testing.T, d *Disk, key string) bool {
	t.Helper()
	db := open(t, d, crabdb.Options{})
	defer db.Close()
	_, err := db.Get(ctx, 1, []byte(key))
	if err != nil && !errors.Is(err, crabdb.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

// What was synced is there after every crash, what was not after a kill, and not when
// the power is lost and only what was synced stays.
func TestLosses(t *testing.T) {
	for _, plain := range []bool{false, true} {
		d := New()
		db := open(t, d, crabdb.Options{Plain: plain})
		for i, key := range []string{"synced", "written"} {
			if err := db.Put(ctx, 1, []byte(key), []byte("value")); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				if err := db.Sync(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, l := range d.Losses(rand.New(rand.NewPCG(1, 2)), plain) {
			left := l.Disk()
			if !has(t, left, "synced") {
				t.Errorf("plain %t, %s: what was synced is lost", plain, l.How)
			}
			if l.Killed != has(t, left, "written") && (l.Killed || l.How == "synced alone") {
				t.Errorf("plain %t, %s: what was not synced is there: %t", plain, l.How, !l.Killed)
			}
		}
	}
}

// Of a killed process no call reaches the disk, and another can open the store, on
// which what the first had not synced can still be lost.
func TestKill(t *testing.T) {
	d := New()
	first := open(t, d, crabdb.Options{})
	calls := 0
	d.Watch(func(string) { calls++ })
	if err := first.Put(ctx, 1, []byte("a"), nil); err != nil || calls == 0 {
		t.Fatalf("a put of %d calls: %v", calls, err)
	}
	d.Watch(nil)
	d.Kill()
	if err := first.Sync(); !errors.Is(err, ErrKilled) {
		t.Errorf("a sync of a process that was killed: %v", err)
	}
	left := func() *Disk { return d.Losses(rand.New(rand.NewPCG(1, 2)), false)[1].Disk() }
	if has(t, left(), "a") || !has(t, d, "a") {
		t.Error("a kill writes to the disk, or loses what was written")
	}
	if New().Empty() == d.Empty() {
		t.Error("no disk is empty, or all are")
	}
}
