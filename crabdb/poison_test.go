package crabdb

import (
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// failing is a hook that fails the calls that a test chooses.
type failing struct {
	when atomic.Pointer[func(faultfs.Call) error]
}

func (f *failing) hook(c faultfs.Call) error {
	if when := f.when.Load(); when != nil {
		return (*when)(c)
	}
	return nil
}

// set makes the next calls fail when fn says so; nil lets all succeed.
func (f *failing) set(fn func(faultfs.Call) error) {
	if fn == nil {
		f.when.Store(nil)
		return
	}
	f.when.Store(&fn)
}

// on fails every call of an operation.
func (f *failing) on(op faultfs.Op, err error) {
	f.set(func(c faultfs.Call) error {
		if c.Op == op {
			return err
		}
		return nil
	})
}

// brittle opens a store in memory, with a switch for failures.
func brittle(t *testing.T, opts Options) (*DB, *failing, *memfs.FS) {
	t.Helper()
	m, f := memfs.New(), &failing{}
	return mustOpen(t, memPath, opts.On(faultfs.FS{FS: m, Hook: f.hook})), f, m
}

// A sync that failed in the background concerns writes that had succeeded. Close,
// which promises that all is safe, said nothing of it.
func TestCloseOfAPoisonedStoreFails(t *testing.T) {
	db, fail, _ := brittle(t, quiet())
	put(t, db, "k", "v")
	fail.on(faultfs.Sync, syscall.EIO)
	wantError(t, db.Sync(), syscall.EIO)
	fail.set(nil)
	err := db.Close()
	wantError(t, err, ErrPoisoned)
	wantError(t, err, syscall.EIO)
}

// Sync of a closed store said that all was well.
func TestSyncAfterClose(t *testing.T) {
	path := newPath(t)
	for _, opts := range []Options{quiet(), readOnly()} {
		db := mustOpen(t, path, opts)
		must(t, db.Sync())
		mustClose(t, db)
		wantError(t, db.Sync(), ErrClosed)
	}
}

// A write that is done has succeeded, whatever becomes of the compaction that it
// brings about: its failure is not the write's.
func TestFailedInlineCompactionIsNotTheWritesFailure(t *testing.T) {
	opts := Options{CompactRatio: 0.5, CompactMin: -1, CompactInline: true}
	db, fail, _ := brittle(t, opts)
	put(t, db, "k", "1")
	tries := 0
	fail.set(func(c faultfs.Call) error {
		if c.Op != faultfs.Rename {
			return nil
		}
		tries++
		return syscall.EIO
	})
	for range 100 {
		put(t, db, "k", "2")
	}
	want(t, db, "k", "2")
	wantError(t, stats(t, db).Background, syscall.EIO)
	if tries == 0 || tries > 50 {
		t.Errorf("100 writes tried %d compactions", tries)
	}
	fail.set(nil)
	for range 100 {
		put(t, db, "k", "3")
	}
	if st := stats(t, db); st.Background != nil || st.Dead > st.Live {
		t.Fatalf("the compaction was not tried again: %+v", st)
	}
}

// Close needs room for a snapshot, and the records are safe without one. On a full
// disk it gave up before the sync.
func TestCloseOnAFullDiskSyncs(t *testing.T) {
	db, fail, m := brittle(t, quiet())
	put(t, db, "k", "v")
	fail.on(faultfs.Write, &faultfs.ShortWrite{N: 3, Err: syscall.ENOSPC})
	mustClose(t, db)
	again := mustOpen(t, memPath, quiet().On(m.Synced()))
	want(t, again, "k", "v")
}
