package etcdkv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crabstore/crabstore/kv"
)

// isApplying tells of a request whether it is one that brings a pending commit to its
// end.
func isApplying(r request) bool {
	return len(r.compare) == 1 && len(r.then) > 0 && !slices.ContainsFunc(r.then, func(op clientv3.Op) bool {
		return op.IsPut() && strings.HasPrefix(string(op.ValueBytes()), pending)
	})
}

// leavePending commits a large transaction and crashes when it is committed and n
// requests more are made.
func leavePending(t testing.TB, at string, n int64, run func(s *Store) error) {
	t.Helper()
	var applied atomic.Int64
	s := openWith(t, at, func(ctx context.Context, r request, send sender) (*answer, error) {
		if isApplying(r) && applied.Add(1) > n {
			return nil, errCrashed
		}
		return send(ctx)
	})
	if err := run(s); err != nil {
		t.Fatal(err)
	}
	reader := openReadOnly(t, at)
	if _, g, err := reader.read(ctx); err != nil || g.state != pending {
		t.Fatalf("the guard is %v, %v; want a pending one", g, err)
	}
}

// While a commit is pending, in whatever state of being put in place, every way of
// reading sees all of it, and what a model of it says.
func TestReadingWhileACommitIsPending(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	for applied := range int64(4) {
		at := place(t)
		base := openWith(t, at, nil)
		model := map[string]string{}
		set := func(s kv.KVStorage, n int) error {
			for range n {
				key, value := fmt.Sprintf("%03d", dice.IntN(400)), strings.Repeat(fmt.Sprint(dice.Int()), 1+dice.IntN(3))
				if dice.IntN(3) == 0 {
					if _, err := s.Delete(ctx, col, []byte(key)); err != nil {
						return err
					}
					delete(model, key)
					continue
				}
				if dice.IntN(100) == 0 {
					value = strings.Repeat(value, 80_000/len(value))
				}
				if err := s.Put(ctx, col, []byte(key), []byte(value)); err != nil {
					return err
				}
				model[key] = value
			}
			return nil
		}
		if err := set(base, 200); err != nil {
			t.Fatal(err)
		}
		leavePending(t, at, applied, func(s *Store) error {
			return s.Update(ctx, func(tx kv.KVStorage) error { return set(tx, 300) })
		})
		reader := openReadOnly(t, at)
		checkReads(t, reader, model, dice)
		err := reader.View(ctx, func(tx kv.KVStorage) error { checkReads(t, tx, model, dice); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if err := base.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
		checkReads(t, reader, model, dice)
		wantNoLitter(t, base)
	}
}

func checkReads(t *testing.T, s kv.KVStorage, model map[string]string, dice *rand.Rand) {
	t.Helper()
	if got := content(t, s); !maps.Equal(got, model) {
		t.Fatalf("a scan sees %s, want %s", brief(got), brief(model))
	}
	keys := slices.Sorted(maps.Keys(model))
	for range 20 {
		key := fmt.Sprintf("%03d", dice.IntN(400))
		value, err := s.Get(ctx, col, []byte(key))
		want, there := model[key]
		if there != (err == nil) || !there && !errors.Is(err, kv.ErrNotFound) || string(value) != want {
			t.Fatalf("Get %s: %.20q, %v; want %.20q, there: %v", key, value, err, want, there)
		}
		for i := range value {
			value[i] = 'x' // it is ours, and not the next reader's
		}
		r := kv.Range{Prefix: []byte(key[:dice.IntN(3)]), Reverse: dice.IntN(2) == 0, KeysOnly: dice.IntN(2) == 0}
		if dice.IntN(2) == 0 {
			r.After = []byte(key)
		}
		checkRange(t, s, model, keys, r)
	}
}

func checkRange(t *testing.T, s kv.KVStorage, model map[string]string, keys []string, r kv.Range) {
	t.Helper()
	var want []string
	for _, key := range keys {
		after := r.After == nil || !r.Reverse && key > string(r.After) || r.Reverse && key < string(r.After)
		if after && strings.HasPrefix(key, string(r.Prefix)) {
			want = append(want, key)
		}
	}
	if r.Reverse {
		slices.Reverse(want)
	}
	var got []string
	for e, err := range kv.ScanRange(ctx, s, col, r) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(e.Key))
		if (e.Value == nil) != r.KeysOnly || !r.KeysOnly && string(e.Value) != model[string(e.Key)] {
			t.Fatalf("%+v: %s is %.20q, want %.20q", r, e.Key, e.Value, model[string(e.Key)])
		}
		for i := range e.Value {
			e.Value[i] = 'y' // likewise
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%+v yields %q, want %q", r, got, want)
	}
}

// Several clients come upon a pending commit at once, each with something to write.
func TestManyBringAPendingCommitToItsEnd(t *testing.T) {
	at := place(t)
	leavePending(t, at, 1, func(s *Store) error {
		return s.Update(ctx, func(tx kv.KVStorage) error {
			for i := range 500 {
				if err := tx.Put(ctx, col, fmt.Appendf(nil, "%03d", i), []byte("staged")); err != nil {
					return err
				}
			}
			return nil
		})
	})
	const clients = 4
	done := make(chan error)
	for i := range clients {
		s := openWith(t, at, nil)
		go func() {
			done <- s.Update(ctx, func(tx kv.KVStorage) error {
				return tx.Put(ctx, col, fmt.Appendf(nil, "%03d", i), fmt.Append(nil, "own"))
			})
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	s := openWith(t, at, nil)
	for key, value := range content(t, s) {
		want := "staged"
		if key < "004" {
			want = "own"
		}
		if value != want {
			t.Errorf("%s is %s, want %s", key, value, want)
		}
	}
	wantNoLitter(t, s)
}

// A sweep takes the chunks of a value that is on its way: the commit is made anew, and
// refers to nothing that is not there. So it is with a stage.
func TestSweepUnderACommit(t *testing.T) {
	for _, w := range transactions() {
		at := w.prepare(t)
		s, sweeper := openWith(t, at, nil), openWith(t, at, nil)
		sweeper.youth = 0
		swept := false
		s.wire = func(ctx context.Context, r request, send sender) (*answer, error) {
			if len(r.compare) > 0 && !swept { // the commit
				swept = true
				if err := sweeper.Compact(ctx); err != nil {
					t.Error(err)
				}
			}
			return send(ctx)
		}
		if err := w.run(s); err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		if got := content(t, sweeper); !maps.Equal(got, w.after) {
			t.Errorf("%s: there is %s, want %s", w.name, brief(got), brief(w.after))
		}
		wantNoLitter(t, s)
	}
}

// What is young is left alone.
func TestSweepSparesTheYoung(t *testing.T) {
	w := transactions()[1] // two values of three chunks each replace two such
	at := w.prepare(t)
	err := w.run(openWith(t, at, func(ctx context.Context, r request, send sender) (*answer, error) {
		if len(r.compare) > 0 {
			return nil, errCrashed // before the commit
		}
		return send(ctx)
	}))
	if !isCrash(err) {
		t.Fatal(err)
	}
	s := openWith(t, at, nil)
	for _, c := range []struct {
		youth time.Duration
		want  int
	}{{s.youth, 12}, {0, 6}} {
		s.youth = c.youth
		if err := s.Compact(ctx); err != nil {
			t.Fatal(err)
		}
		if got := len(keysBelow(t, s, "v/")); got != c.want {
			t.Errorf("a sweep of what is older than %v leaves %d chunks, want %d", c.youth, got, c.want)
		}
	}
}
