package etcdkv

import (
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

// writes is a transaction that tests make, and what it makes of a store that holds
// before.
type writes struct {
	name          string
	before, after map[string]string
}

func (w writes) run(s kv.KVStorage) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		for key := range w.before {
			if _, stays := w.after[key]; !stays {
				if _, err := tx.Delete(ctx, col, []byte(key)); err != nil {
					return err
				}
			}
		}
		for key, value := range w.after {
			if w.before[key] == value {
				continue
			}
			if err := tx.Put(ctx, col, []byte(key), []byte(value)); err != nil {
				return err
			}
		}
		return nil
	})
}

// transactions are one of each kind: what fits a request of etcd, what has large
// values, what goes through the stage, and through a stage of several pieces.
func transactions() []writes {
	long := strings.Repeat("long ", 300_000) // three chunks
	small := writes{"small", map[string]string{"a": "1", "gone": "x", "stays": "y"}, map[string]string{"a": "2", "b": "3", "stays": "y"}}
	large := writes{"large values", map[string]string{"a": long + "1", "gone": long, "stays": "y"}, map[string]string{"a": long + "2", "b": long + "3", "stays": "y"}}
	many := writes{"staged", map[string]string{"k000": "old", "gone": long, "stays": long}, map[string]string{"b": long, "stays": long}}
	for i := range 130 {
		many.after[fmt.Sprintf("k%03d", i)] = fmt.Sprint(i)
	}
	wide := writes{"staged in pieces", map[string]string{"k00": "old", "gone": "x"}, map[string]string{}}
	for i := range 90 { // more pieces than are read at once
		wide.after[fmt.Sprintf("k%02d", i)] = fmt.Sprint(i, strings.Repeat("w", 60_000))
	}
	return []writes{small, large, many, wide}
}

// prepare returns the place of a store that holds what w begins with.
func (w writes) prepare(t testing.TB) string {
	t.Helper()
	at := place(t)
	s := openWith(t, at, nil)
	for key, value := range w.before {
		put(t, s, key, value)
	}
	return at
}

// steps returns how many requests the transaction makes.
func (w writes) steps(t testing.TB) int64 {
	t.Helper()
	var n atomic.Int64
	if err := w.run(openWith(t, w.prepare(t), count(&n))); err != nil {
		t.Fatal(err)
	}
	return n.Load()
}

// A client crashes between any two steps of a commit, or as one is done. Another one
// finds all of it or nothing, by reading as well as by writing on, and when it has
// swept nothing else is left.
func TestB05_CrashAtEveryStepOfACommit(t *testing.T) {
	for i, w := range transactions() {
		t.Run(w.name, func(t *testing.T) {
			if testing.Short() && i%2 == 1 {
				t.Skip("a long one")
			}
			steps := w.steps(t)
			seen := map[bool]int{}
			for n := range steps {
				for _, late := range []bool{false, true} {
					at := w.prepare(t)
					err := w.run(openWith(t, at, crash(n, late)))
					if err != nil && !isCrash(err) {
						t.Fatalf("crash at step %d of %d, late %v: %v", n, steps, late, err)
					}
					seen[w.checkWhole(t, at, err)]++
				}
			}
			if seen[false] == 0 || seen[true] == 0 {
				t.Errorf("of %d crashes %d left nothing and %d all; want some of both", 2*steps, seen[false], seen[true])
			}
		})
	}
}

// checkWhole tells whether the transaction is there.
func (w writes) checkWhole(t *testing.T, at string, err error) (committed bool) {
	t.Helper()
	reader := openReadOnly(t, at)
	found := content(t, reader)
	committed = maps.Equal(found, w.after)
	if !committed && (err == nil || !maps.Equal(found, w.before)) {
		t.Fatalf("after %v a reader finds %s; want %s or %s", err, brief(found), brief(w.before), brief(w.after))
	}
	writer := openWith(t, at, nil)
	writer.patience = 0 // nobody is there to wait for
	put(t, writer, "new", "n")
	if found["new"] = "n"; !maps.Equal(content(t, writer), found) {
		t.Fatalf("when another has written there is %s; want %s", brief(content(t, writer)), brief(found))
	}
	writer.youth = 0
	if err := writer.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(content(t, writer), found) {
		t.Fatalf("a sweep left %s; want %s", brief(content(t, writer)), brief(found))
	}
	wantNoLitter(t, writer)
	return committed
}

func openReadOnly(t testing.TB, at string) *Store {
	t.Helper()
	s, err := Open(ctx, at, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// wantNoLitter wants no stage, and of chunks only those that are referred to.
func wantNoLitter(t testing.TB, s *Store) {
	t.Helper()
	chunks := 0
	for _, value := range content(t, s) {
		if len(value) > inlineLimit {
			chunks += (len(value) + chunkSize - 1) / chunkSize
		}
	}
	for part, want := range map[string]int{"s/": 0, "v/": chunks} {
		if keys := keysBelow(t, s, part); len(keys) != want {
			t.Fatalf("below %s lie %d keys, want %d: %.200q", part, len(keys), want, keys)
		}
	}
}

func brief(m map[string]string) string {
	out := map[string]string{}
	for key, value := range m {
		out[key] = fmt.Sprintf("%.12s(%d)", value, len(value))
	}
	return fmt.Sprintf("%d keys %.400s", len(m), fmt.Sprint(out))
}
