package crabdb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// A transaction that fails, or panics, writes nothing, and gives the turn back.
func TestUpdateThatFails(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		m := memfs.New()
		db := mustOpen(t, memPath, opts.On(m))
		put(t, db, "k", "v")
		before := bytesIn(t, m)
		own := errors.New("its own")
		fails := func(tx *Tx) {
			must(t, tx.Put(1, []byte("k"), []byte("new")))
			must(t, tx.Put(1, []byte("l"), []byte("new")))
			_, err := tx.Delete(1, []byte("k"))
			must(t, err)
		}
		if err := db.Update(ctx, func(tx *Tx) error { fails(tx); return own }); err != own {
			t.Fatalf("the error is %v", err)
		}
		func() {
			defer func() {
				if recover() != "panic" {
					t.Error("the panic was swallowed")
				}
			}()
			db.Update(ctx, func(tx *Tx) error { fails(tx); panic("panic") })
		}()
		c, cancel := context.WithCancel(ctx)
		wantError(t, db.Update(c, func(tx *Tx) error { fails(tx); cancel(); return nil }), context.Canceled)
		cancel()
		must(t, db.Update(ctx, func(tx *Tx) error {
			_, err := tx.Delete(1, []byte("absent"))
			return err
		}))
		wantBytes(t, m, before)
		wantContent(t, db, keys("k=v"))
		put(t, db, "k", "w")
		wantSound(t, db)
	})
}

// A transaction sees what it wrote, others do not until it is committed, and nobody
// sees half of it.
func TestUpdateIsSeenWhole(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		db := mustOpen(t, newPath(t), opts)
		put(t, db, "a", "1")
		put(t, db, "b", "2")
		long := strings.Repeat("long ", 20_000)
		in(t, db, func(tx *Tx) {
			must(t, tx.Put(1, []byte("a"), []byte("new")))
			must(t, tx.Put(1, []byte("a"), []byte(long)))
			must(t, tx.Put(1, []byte("c"), nil))
			if existed, err := tx.Delete(1, []byte("b")); !existed || err != nil {
				t.Errorf("delete: %v, %v", existed, err)
			}
			if existed, err := tx.Delete(1, []byte("b")); existed || err != nil {
				t.Errorf("delete again: %v, %v", existed, err)
			}
			if got := scanned(t, tx); !got.equal(keys("a="+long, "c")) {
				t.Errorf("the transaction sees %v", got)
			}
			wantContent(t, db, keys("a=1", "b=2"))
			must(t, db.View(ctx, func(view *Tx) error {
				if got := scanned(t, view); !got.equal(keys("a=1", "b=2")) {
					t.Errorf("a view sees %v", got)
				}
				return nil
			}))
		})
		wantContent(t, db, keys("a="+long, "c"))
		wantSound(t, db)
	})
}

func scanned(t *testing.T, tx *Tx) content {
	t.Helper()
	got := content{}
	for e, err := range tx.Scan(ctx, 1, Range{}) {
		must(t, err)
		value, err := tx.Get(1, e.Key)
		if err != nil || string(value) != string(e.Value) {
			t.Errorf("scanned %q, got %q, %v", e.Value, value, err)
		}
		got[id{1, string(e.Key)}] = string(e.Value)
	}
	return got
}

// A view is as it was when it began, however long it lasts.
func TestViewIsFrozen(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		db := mustOpen(t, newPath(t), opts)
		want := content{}
		for i := range 200 {
			put(t, db, fmt.Sprint("k", i), "old")
			want[id{1, fmt.Sprint("k", i)}] = "old"
		}
		must(t, db.View(ctx, func(tx *Tx) error {
			for i := range 200 {
				put(t, db, fmt.Sprint("k", i), "new")
				del(t, db, fmt.Sprint("k", (i+100)%200))
				put(t, db, fmt.Sprint("more", i), "new")
				if i%50 == 0 {
					must(t, db.Compact(ctx))
					must(t, db.Checkpoint(ctx))
				}
			}
			if got := scanned(t, tx); !got.equal(want) {
				t.Errorf("the view sees %v", got)
			}
			return nil
		}))
	})
}

// A transaction that has ended is of no use, wherever it was kept.
func TestEndedTransaction(t *testing.T) {
	db := mustOpen(t, newPath(t), quiet())
	put(t, db, "k", "v")
	var kept []*Tx
	keep := func(tx *Tx) error { kept = append(kept, tx); return tx.Alive() }
	must(t, db.Update(ctx, keep))
	must(t, db.View(ctx, keep))
	wantError(t, db.Update(ctx, func(tx *Tx) error { return errors.Join(keep(tx), context.Canceled) }), context.Canceled)
	for _, tx := range kept {
		_, get := tx.Get(1, []byte("k"))
		_, del := tx.Delete(1, []byte("k"))
		var scan error
		for _, err := range tx.Scan(ctx, 1, Range{}) {
			scan = err
		}
		for _, err := range []error{get, del, scan, tx.Put(1, nil, nil), tx.Alive()} {
			wantError(t, err, ErrClosed)
		}
	}
	wantContent(t, db, keys("k=v"))
}

// A transaction may be used by many goroutines.
func TestTransactionUsedConcurrently(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		db := mustOpen(t, newPath(t), opts)
		want := content{}
		for w := range 4 {
			for i := range 100 {
				want[id{1, fmt.Sprint(w, " ", i)}] = fmt.Sprint(i)
			}
		}
		in(t, db, func(tx *Tx) {
			var group sync.WaitGroup
			for w := range 4 {
				group.Go(func() {
					for i := range 100 {
						k := fmt.Appendf(nil, "%d %d", w, i)
						err := tx.Put(1, k, fmt.Append(nil, i))
						got, err2 := tx.Get(1, k)
						for _, err3 := range tx.Scan(ctx, 1, Range{Prefix: k}) {
							err = errors.Join(err, err3)
						}
						if err = errors.Join(err, err2); err != nil || string(got) != fmt.Sprint(i) {
							t.Errorf("%s = %q, %v", k, got, err)
						}
					}
				})
			}
			group.Wait()
		})
		wantContent(t, db, want)
		wantSound(t, db)
	})
}

// Updates wait for each other, as long as their contexts live.
func TestUpdatesAreInTurn(t *testing.T) {
	db := mustOpen(t, newPath(t), quiet())
	must(t, db.Put(ctx, 1, []byte("n"), numbered(0)))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				err := db.Update(ctx, func(tx *Tx) error {
					v, err := tx.Get(1, []byte("n"))
					return errors.Join(err, tx.Put(1, []byte("n"), numbered(number(v)+1)))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if v, err := db.Get(ctx, 1, []byte("n")); err != nil || number(v) != 800 {
		t.Errorf("%d, %v", number(v), err)
	}
	in(t, db, func(*Tx) {
		c, cancel := context.WithCancel(ctx)
		waiting := make(chan error, 1)
		go func() { waiting <- db.Put(c, 1, []byte("k"), nil) }()
		cancel()
		wantError(t, <-waiting, context.Canceled)
	})
}
