package crabdb

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// A sync fails once, whichever it is, and all later ones succeed. What the failed one
// should have written may be gone, so the store never again says that all is well;
// what it had promised before, it keeps.
func TestA20_SyncFailsOnce(t *testing.T) {
	failed := 0
	eachFormat(t, func(t *testing.T, opts Options) {
		for _, mode := range []SyncMode{SyncCheckpoint, SyncWrite} {
			for k := 0; ; k++ {
				db, fail, m := brittle(t, opts.with(mode))
				var syncs int
				fail.set(func(c faultfs.Call) error {
					if c.Op != faultfs.Sync || strings.Contains(c.Path, compactSuffix) {
						return nil
					}
					if syncs++; syncs-1 == k {
						return syscall.EIO
					}
					return nil
				})
				promised, err := syncing(db)
				if syncs <= k {
					must(t, err)
					break
				}
				failed++
				wantError(t, err, ErrPoisoned)
				wantError(t, err, syscall.EIO)
				wantPoisoned(t, db, syscall.EIO)
				wantError(t, db.Checkpoint(ctx), ErrPoisoned) // a second time
				wantError(t, db.Close(), ErrPoisoned)
				left := mustOpen(t, memPath, opts.On(m.Synced()))
				got := contentOf(t, left)
				for key, v := range promised {
					if got[key] != v {
						t.Fatalf("sync %d failed, and %q = %q was promised: %v", k, key, v, got)
					}
				}
			}
		}
	})
	t.Logf("%d syncs failed", failed)
}

// syncing does what syncs, in turn, until one fails. It returns what was safe then.
func syncing(db *DB) (promised content, err error) {
	now := content{}
	for i := range 6 {
		k := fmt.Sprint("k", i)
		if err := db.Put(ctx, 1, []byte(k), []byte("v")); err != nil {
			return promised, err
		}
		now[id{1, k}] = "v"
		if db.opts.Sync == SyncWrite {
			promised = maps.Clone(now)
		}
		switch i {
		case 1, 4:
			err = db.Checkpoint(ctx)
		case 2:
			err = db.Sync()
		case 3:
			err = db.Compact(ctx)
		}
		if err != nil {
			return promised, err
		}
		if i > 0 && i < 5 {
			promised = maps.Clone(now)
		}
	}
	return promised, nil
}

// When the file that a compaction writes cannot be synced, or closed after another
// failure, the compaction is given up; the old file stands, and the store goes on.
func TestA20_SyncOfACompactionFails(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		for k := range 2 { // the bulk, and what was caught up with
			db, fail, m := brittle(t, opts)
			put(t, db, "k", "1")
			put(t, db, "k", "2")
			before := bytesIn(t, m)
			n := 0
			fail.set(func(c faultfs.Call) error {
				switch {
				case !strings.Contains(c.Path, compactSuffix):
					return nil
				case c.Op == faultfs.Close:
					return syscall.ENXIO
				case c.Op != faultfs.Sync:
					return nil
				}
				if n++; n-1 == k {
					return syscall.EIO
				}
				return nil
			})
			err := db.Compact(ctx)
			fail.set(nil)
			wantError(t, err, syscall.EIO)
			wantError(t, err, syscall.ENXIO)
			wantBytes(t, m, before)
			if got := siblings(t, m); len(got) > 0 {
				t.Fatalf("it left %q", got)
			}
			put(t, db, "l", "3")
			must(t, db.Compact(ctx))
			wantContent(t, db, keys("k=2", "l=3"))
			mustClose(t, db)
			wantContent(t, mustOpen(t, memPath, opts.On(m.Synced())), keys("k=2", "l=3"))
		}
	})
}

// An error that only Close gives is told.
func TestA20_CloseFails(t *testing.T) {
	db, fail, _ := brittle(t, quiet())
	put(t, db, "k", "v")
	fail.on(faultfs.Close, syscall.EIO)
	for range 2 {
		wantError(t, db.Close(), syscall.EIO)
	}
}

// With SyncWrite a write that has returned survives a power loss, and writers at the
// same time share a sync.
func TestSyncWriteIsShared(t *testing.T) {
	const writers = 10
	m := memfs.New()
	var syncs, writes atomic.Int64
	all := make(chan struct{})
	hook := func(c faultfs.Call) error {
		if c.Path != memPath {
			return nil
		}
		switch c.Op {
		case faultfs.Write:
			if writes.Add(1) == writers {
				close(all)
			}
		case faultfs.Sync:
			if syncs.Add(1) == 1 {
				<-all // the first sync lasts until the others have written
			}
		}
		return nil
	}
	db := mustOpen(t, memPath, quiet().with(SyncWrite).On(faultfs.FS{FS: m, Hook: hook}))
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			k := fmt.Sprint("k", i)
			if err := db.Put(ctx, 1, []byte(k), []byte("v")); err != nil {
				t.Error(err)
			}
			left, err := Open(memPath, quiet().On(m.Synced()))
			if err != nil {
				t.Error(err)
				return
			}
			defer left.Close()
			if _, err := left.Get(ctx, 1, []byte(k)); err != nil {
				t.Errorf("%s was acknowledged, and after a power loss: %v", k, err)
			}
		})
	}
	group.Wait()
	// The last write may end after the second sync has begun, which then misses it.
	if n := syncs.Load(); n < 2 || n > 3 {
		t.Errorf("%d writers made %d syncs", writers, n)
	}
}

// Each mode syncs when it says so: a write by itself, in the first mode, does not.
func TestSyncModesSyncWhenTheySaySo(t *testing.T) {
	for mode, want := range map[SyncMode]int64{SyncCheckpoint: 0, SyncWrite: 3} {
		var syncs atomic.Int64
		hook := func(c faultfs.Call) error {
			if c.Op == faultfs.Sync && c.Path == memPath {
				syncs.Add(1)
			}
			return nil
		}
		db := mustOpen(t, memPath, quiet().with(mode).On(faultfs.FS{FS: memfs.New(), Hook: hook}))
		put(t, db, "a", "1")
		in(t, db, func(tx *Tx) { must(t, tx.Put(1, []byte("b"), nil)) })
		del(t, db, "a")
		_, err := db.Delete(ctx, 1, []byte("absent")) // writes nothing
		must(t, err)
		must(t, db.Update(ctx, func(*Tx) error { return nil }))
		if got := syncs.Load(); got != want {
			t.Errorf("mode %d: %d syncs, want %d", mode, got, want)
		}
		must(t, db.Sync())
		must(t, db.Sync()) // nothing new
		if got := syncs.Load(); got != max(want, 1) {
			t.Errorf("mode %d: %d syncs with Sync, want %d", mode, got, max(want, 1))
		}
	}
}

// With SyncInterval a sync comes by itself.
func TestSyncIntervalSyncsByItself(t *testing.T) {
	m, fail := memfs.New(), &failing{}
	syncs := make(chan struct{}, 100)
	hook := func(c faultfs.Call) error {
		if c.Op == faultfs.Sync && c.Path == memPath {
			syncs <- struct{}{}
		}
		return fail.hook(c)
	}
	opts := quiet().with(SyncInterval).On(faultfs.FS{FS: m, Hook: hook})
	opts.SyncEvery = time.Millisecond
	db := mustOpen(t, memPath, opts)
	put(t, db, "a", "1")
	<-syncs
	put(t, db, "b", "2")
	<-syncs // the one before is over by now
	left := mustOpen(t, memPath, quiet().On(m.Synced()))
	want(t, left, "a", "1")

	fail.on(faultfs.Sync, syscall.EIO)
	var err error
	for i := 0; err == nil; i++ { // until the sync that comes now has failed
		err = db.Put(ctx, 1, fmt.Append(nil, i%10), nil)
	}
	wantError(t, err, ErrPoisoned)
	for stats(t, db).Background == nil { // the store is poisoned first, and the failure noted next
		runtime.Gosched()
	}
	wantError(t, stats(t, db).Background, syscall.EIO)
}

// A sync of the interval that succeeds does not hide that a compaction failed.
func TestSyncIntervalHidesNoOtherFailure(t *testing.T) {
	fail, syncs := &failing{}, make(chan struct{}, 100)
	hook := func(c faultfs.Call) error {
		if c.Op == faultfs.Sync && c.Path == memPath {
			syncs <- struct{}{}
		}
		return fail.hook(c)
	}
	opts := Options{CompactMin: -1, CompactInline: true, Sync: SyncInterval, SyncEvery: time.Millisecond, fs: faultfs.FS{FS: memfs.New(), Hook: hook}}
	db := mustOpen(t, memPath, opts)
	put(t, db, "k", "1")
	fail.on(faultfs.Rename, syscall.EIO)
	put(t, db, "k", "2") // and fails to compact
	wantError(t, stats(t, db).Background, syscall.EIO)
	for i := range 2 { // the first sync is over when the second begins
		put(t, db, fmt.Sprint("new ", i), strings.Repeat("live ", 100)) // which makes no compaction due
		<-syncs
	}
	wantError(t, stats(t, db).Background, syscall.EIO)
}
