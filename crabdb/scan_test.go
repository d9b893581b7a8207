package crabdb

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// A scan sees the store as it was when it began, whatever its own loop does: delete
// the key at hand, or the next one, or put one just ahead.
func TestA27_ChangingWhileScanning(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf("k%05d", i) }
	for what, change := range map[string]func(t *testing.T, db *DB, i int){
		"delete this": func(t *testing.T, db *DB, i int) { del(t, db, name(i)) },
		"delete next": func(t *testing.T, db *DB, i int) {
			_, err := db.Delete(ctx, 1, []byte(name(i+1)))
			must(t, err)
		},
		"put ahead":    func(t *testing.T, db *DB, i int) { put(t, db, name(i)+"+", "new") },
		"replace next": func(t *testing.T, db *DB, i int) { put(t, db, name(i+1), "new") },
		"in an update": func(t *testing.T, db *DB, i int) {
			in(t, db, func(tx *Tx) {
				_, err := tx.Delete(1, []byte(name(i)))
				must(t, err)
			})
		},
	} {
		for _, n := range []int{10, 10_000} {
			for _, reverse := range []bool{false, true} {
				t.Run(fmt.Sprint(what, " ", n, " ", reverse), func(t *testing.T) {
					db := mustOpen(t, newPath(t), Options{CompactMin: 1 << 15}) // compacts meanwhile
					in(t, db, func(tx *Tx) {
						for i := range n {
							must(t, tx.Put(1, []byte(name(i)), []byte("old")))
						}
					})
					seen := 0
					for e, err := range db.Scan(ctx, 1, Range{Reverse: reverse}) {
						must(t, err)
						i := seen
						if reverse {
							i = n - 1 - seen
						}
						if string(e.Key) != name(i) || string(e.Value) != "old" {
							t.Fatalf("entry %d is %q = %q", seen, e.Key, e.Value)
						}
						change(t, db, i)
						seen++
					}
					if seen != n {
						t.Fatalf("%d keys were seen, of %d", seen, n)
					}
					if left := len(contentOf(t, db)); (what == "delete this" || what == "in an update") && left != 0 {
						t.Fatalf("%d keys are left", left)
					}
				})
			}
		}
	}
}

// A transaction's scan sees what the transaction had written when it began.
func TestA27_ChangingWhileScanningATransaction(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		db := mustOpen(t, newPath(t), opts)
		want := content{}
		in(t, db, func(tx *Tx) {
			for i := range 500 {
				must(t, tx.Put(1, fmt.Appendf(nil, "k%03d", i), []byte("old")))
			}
			seen := 0
			for e, err := range tx.Scan(ctx, 1, Range{}) {
				must(t, err)
				if string(e.Key) != fmt.Sprintf("k%03d", seen) || string(e.Value) != "old" {
					t.Fatalf("entry %d is %q = %q", seen, e.Key, e.Value)
				}
				if _, err := tx.Delete(1, e.Key); err != nil {
					t.Fatal(err)
				}
				must(t, tx.Put(1, append(e.Key, "+"...), []byte("new")))
				want[id{1, fmt.Sprintf("k%03d+", seen)}] = "new"
				seen++
			}
			if seen != 500 {
				t.Fatalf("%d keys were seen", seen)
			}
		})
		wantContent(t, db, want)
		wantSound(t, db)
	})
}

// A scan ends with the context's error, once.
func TestScanEndsWithItsContext(t *testing.T) {
	db := mustOpen(t, newPath(t), quiet())
	for i := range 10 {
		put(t, db, fmt.Sprint(i), "v")
	}
	c, cancel := context.WithCancel(ctx)
	defer cancel()
	var seen, failed int
	for _, err := range db.Scan(c, 1, Range{}) {
		if err != nil {
			wantError(t, err, context.Canceled)
			failed++
			continue
		}
		if seen++; seen == 3 {
			cancel()
		}
	}
	if seen != 3 || failed != 1 {
		t.Fatalf("%d entries and %d errors", seen, failed)
	}
	for name, err := range map[string]error{
		"Put":    db.Put(c, 1, nil, nil),
		"Update": db.Update(c, func(*Tx) error { return errors.New("it ran") }),
		"View":   db.View(c, func(*Tx) error { return errors.New("it ran") }),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
