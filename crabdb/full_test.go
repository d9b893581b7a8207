package crabdb

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// fullAfter lets n bytes of writes to the disk, and then says that it is full. The
// header, which is written in place, needs no room.
func (f *failing) fullAfter(n int) {
	var left atomic.Int64
	left.Store(int64(n))
	f.set(func(c faultfs.Call) error {
		if c.Op != faultfs.Write || c.Offset == 0 && len(c.Data) == headerSize {
			return nil
		}
		room := left.Add(-int64(len(c.Data))) + int64(len(c.Data))
		if room >= int64(len(c.Data)) {
			return nil
		}
		return &faultfs.ShortWrite{N: int(max(room, 0)), Err: syscall.ENOSPC}
	})
}

// A full disk fails the write at hand, at whatever byte, and no other: the write is
// undone, and when there is room again the store goes on.
func TestA05_DiskFullAtEveryByteOfAWrite(t *testing.T) {
	writes := map[string]func(db *DB) error{
		"put":        func(db *DB) error { return db.Put(ctx, 1, []byte("k1"), []byte("a value")) },
		"replace":    func(db *DB) error { return db.Put(ctx, 1, []byte("old"), []byte("a value")) },
		"delete":     func(db *DB) error { _, err := db.Delete(ctx, 1, []byte("old")); return err },
		"checkpoint": func(db *DB) error { return db.Checkpoint(ctx) },
		"update": func(db *DB) error {
			return db.Update(ctx, func(tx *Tx) error {
				if _, err := tx.Delete(1, []byte("old")); err != nil {
					return err
				}
				return tx.Put(1, []byte("k1"), []byte("a value"))
			})
		},
	}
	eachFormat(t, func(t *testing.T, opts Options) {
		for name, write := range writes {
			t.Run(name, func(t *testing.T) {
				for n := 0; ; n++ {
					db, fail, m := brittle(t, opts)
					put(t, db, "old", "1")
					before := stats(t, db)
					fail.fullAfter(n)
					err := write(db)
					fail.set(nil)
					if err == nil {
						if n < recordFrame {
							t.Fatalf("%d bytes are enough", n)
						}
						return
					}
					wantError(t, err, syscall.ENOSPC)
					wantContent(t, db, keys("old=1"))
					if st := stats(t, db); st.File != before.File || st.Live != before.Live || st.Poisoned != nil {
						t.Fatalf("after %d bytes: %+v\nbefore: %+v", n, st, before)
					}
					if size := len(bytesIn(t, m)); int64(size) != before.File {
						t.Fatalf("after %d bytes the file has %d, want %d", n, size, before.File)
					}
					put(t, db, "k2", "2")
					for _, left := range []*memfs.FS{m.Kill(), m} {
						if left == m {
							mustClose(t, db)
						}
						again := mustOpen(t, memPath, opts.On(left))
						wantContent(t, again, keys("old=1", "k2=2"))
						if st := stats(t, again); st.Recovery.Torn != 0 {
							t.Fatalf("after %d bytes: recovery %+v", n, st.Recovery)
						}
						wantSound(t, again)
						mustClose(t, again)
					}
				}
			})
		}
	})
}

// A compaction for which there is no room changes nothing, at whatever byte the disk
// is full, and leaves nothing; the next succeeds.
func TestA05_DiskFullDuringACompaction(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		for n := 0; ; n += 7 {
			db, fail, m := brittle(t, opts)
			want := content{}
			for i := range 10 {
				put(t, db, fmt.Sprint("k", i%5), fmt.Sprint(i))
				want[id{1, fmt.Sprint("k", i%5)}] = fmt.Sprint(i)
			}
			before := bytesIn(t, m)
			fail.fullAfter(n)
			err := db.Compact(ctx)
			fail.set(nil)
			if err == nil {
				if n < len(before)/2 {
					t.Fatalf("%d bytes are enough", n)
				}
				return
			}
			wantError(t, err, syscall.ENOSPC)
			wantText(t, err, "compact", memPath)
			wantBytes(t, m, before)
			if names := siblings(t, m); len(names) > 0 {
				t.Fatalf("it left %q", names)
			}
			wantContent(t, db, want)
			must(t, db.Compact(ctx))
			wantContent(t, db, want)
			if len(bytesIn(t, m)) >= len(before)+200 {
				t.Fatal("the second compaction did nothing")
			}
		}
	})
}

// Another failure of a write, or a full disk whose undoing fails, leaves it open what
// the file holds. Reads go on, writes are refused, and opening anew finds what there
// is.
func TestFailedWritePoisons(t *testing.T) {
	for name, hook := range map[string]func(faultfs.Call) error{
		"write": func(c faultfs.Call) error {
			if c.Op == faultfs.Write {
				return &faultfs.ShortWrite{N: 5, Err: syscall.EIO}
			}
			return nil
		},
		"full, and no truncation": func(c faultfs.Call) error {
			switch c.Op {
			case faultfs.Write:
				return &faultfs.ShortWrite{N: 5, Err: syscall.ENOSPC}
			case faultfs.Truncate:
				return syscall.EIO
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachFormat(t, func(t *testing.T, opts Options) {
				db, fail, m := brittle(t, opts)
				put(t, db, "k", "v")
				fail.set(hook)
				err := db.Put(ctx, 1, []byte("l"), []byte("w"))
				fail.set(nil)
				wantError(t, err, ErrPoisoned)
				wantError(t, err, syscall.EIO)
				wantPoisoned(t, db, syscall.EIO)
				wantContent(t, db, keys("k=v"))
				again := mustOpen(t, memPath, opts.On(m.Kill()))
				wantContent(t, again, keys("k=v"))
				put(t, again, "l", "w")
			})
		})
	}
}

// wantPoisoned wants every write to be refused with the first cause, and reads to
// go on.
func wantPoisoned(t *testing.T, db *DB, cause error) {
	t.Helper()
	_, del := db.Delete(ctx, 1, []byte("k"))
	for name, err := range map[string]error{
		"Put":        db.Put(ctx, 1, []byte("k"), nil),
		"Delete":     del,
		"Update":     db.Update(ctx, func(tx *Tx) error { return tx.Put(1, []byte("k"), nil) }),
		"Checkpoint": db.Checkpoint(ctx),
		"Compact":    db.Compact(ctx),
		"Stats":      stats(t, db).Poisoned,
	} {
		wantError(t, err, ErrPoisoned)
		wantError(t, err, cause)
		if strings.Count(err.Error(), ErrPoisoned.Error()) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readContent(db); err != nil {
		t.Fatal(err)
	}
}

// Each call of each operation fails in turn. The operation says so or has succeeded;
// what the store holds then, and what it holds when it is opened again, is the state
// before the operation or behind it.
func TestFailureOfEachCall(t *testing.T) {
	old := strings.Repeat("old", 50)
	operations := map[string]struct {
		run  func(db *DB) error
		want content
	}{
		"put":    {func(db *DB) error { return db.Put(ctx, 1, []byte("k"), []byte("new")) }, keys("k=new", "l=1")},
		"delete": {func(db *DB) error { _, err := db.Delete(ctx, 1, []byte("l")); return err }, keys("k=" + old)},
		"update": {func(db *DB) error {
			return db.Update(ctx, func(tx *Tx) error { return tx.Put(1, []byte("k"), []byte("new")) })
		}, keys("k=new", "l=1")},
		"checkpoint": {func(db *DB) error { return db.Checkpoint(ctx) }, keys("k="+old, "l=1")},
		"compact":    {func(db *DB) error { return db.Compact(ctx) }, keys("k="+old, "l=1")},
		"sync":       {func(db *DB) error { return db.Sync() }, keys("k="+old, "l=1")},
		"close":      {func(db *DB) error { return db.Close() }, keys("k="+old, "l=1")},
	}
	failures := 0
	eachFormat(t, func(t *testing.T, opts Options) {
		for _, sync := range []SyncMode{SyncCheckpoint, SyncWrite} {
			for name, o := range operations {
				for n := 0; n >= 0; n++ {
					for _, onwards := range []bool{false, true} {
						db, fail, m := brittle(t, opts.with(sync).spacious())
						put(t, db, "l", "1")
						put(t, db, "k", old) // so long that the next write takes space
						var calls int
						var failed faultfs.Call
						fail.set(func(c faultfs.Call) error {
							calls++
							if calls-1 == n || onwards && calls > n {
								failed = c
								return syscall.EIO
							}
							return nil
						})
						err := o.run(db)
						fail.set(nil)
						if calls <= n {
							n = -2 // there are no more
							break
						}
						failures++
						before, states := keys("k="+old, "l=1"), []content{o.want}
						if err != nil {
							wantError(t, err, syscall.EIO)
							states = append(states, before)
						}
						what := fmt.Sprintf("%s, %v, call %d (%s), onwards %v: %v", name, sync, n, failed, onwards, err)
						wantOneOf(t, what, db, states)
						wantOneOf(t, what, mustOpen(t, memPath, opts.On(m.Kill())), states)
						db.Close()
					}
				}
			}
		}
	})
	t.Logf("%d failures", failures)
}

// wantOneOf wants a store to hold one of some contents, unless it is closed.
func wantOneOf(t *testing.T, what string, db *DB, states []content) {
	t.Helper()
	if db.isClosed() != nil {
		return
	}
	got, err := readContent(db)
	if err != nil || !slices.ContainsFunc(states, got.equal) {
		t.Fatalf("%s\nthe store holds %v, %v\nwant one of %v", what, got, err, states)
	}
}
