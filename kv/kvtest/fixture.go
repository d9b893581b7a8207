package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/crabstore/crabstore/kv"
)

// fixture is what the promises are written with: the store under test, and its
// methods with strings for bytes, ending the test on an error that is not the
// point of it. Methods that end the test are for the test's own goroutine.
type fixture struct {
	rapid.TB // a *testing.T, or a *rapid.T in a random history
	Config
	tb    testing.TB // the test around a random history
	ctx   context.Context
	store kv.KVStorage
}

// on returns f for another store.
func (f *fixture) on(s kv.KVStorage) *fixture {
	g := *f
	g.store = s
	return &g
}

// col is the column of tests to which the column does not matter.
const col = kv.Memory

func (f *fixture) must(err error, format string, args ...any) {
	f.Helper()
	if err != nil {
		f.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

func (f *fixture) wantError(err, want error, format string, args ...any) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("%s: got error %v, want %v", fmt.Sprintf(format, args...), err, want)
	}
}

func (f *fixture) put(key, value string) {
	f.Helper()
	f.must(f.store.Put(f.ctx, col, []byte(key), []byte(value)), "Put %.40q", key)
}

func (f *fixture) delete(key string) (existed bool) {
	f.Helper()
	existed, err := f.store.Delete(f.ctx, col, []byte(key))
	f.must(err, "Delete %.40q", key)
	return existed
}

func (f *fixture) get(key string) string {
	f.Helper()
	value, err := f.store.Get(f.ctx, col, []byte(key))
	f.must(err, "Get %.40q", key)
	return string(value)
}

func (f *fixture) wantValue(key, want string) {
	f.Helper()
	if got := f.get(key); got != want {
		f.Fatalf("Get %.40q: got %.40q, want %.40q", key, got, want)
	}
}

func (f *fixture) wantAbsent(keys ...string) {
	f.Helper()
	for _, key := range keys {
		value, err := f.store.Get(f.ctx, col, []byte(key))
		if !errors.Is(err, kv.ErrNotFound) {
			f.Fatalf("Get %.40q: got %.40q, %v; want ErrNotFound", key, value, err)
		}
	}
}

// keys returns what ScanKeys yields.
func (f *fixture) keys(prefix string) []string {
	f.Helper()
	return f.collectKeys(f.store.ScanKeys(f.ctx, col, []byte(prefix)))
}

func (f *fixture) wantKeys(prefix string, want ...string) {
	f.Helper()
	if got := f.keys(prefix); !slices.Equal(got, want) {
		f.Fatalf("ScanKeys %.40q: got %s, want %s", prefix, brief(got), brief(want))
	}
}

// wantSet wants exactly these keys, in whatever order they are named.
func (f *fixture) wantSet(keys []string) {
	f.Helper()
	slices.Sort(keys)
	f.wantKeys("", keys...)
}

// wantEmpty tells that no column holds a key.
func (f *fixture) wantEmpty() {
	f.Helper()
	for _, c := range kv.Columns() {
		if got := f.collectKeys(f.store.ScanKeys(f.ctx, c, nil)); len(got) > 0 {
			f.Fatalf("%s holds %s, want nothing", c, brief(got))
		}
	}
}

func (f *fixture) collectKeys(scan iter.Seq2[[]byte, error]) []string {
	f.Helper()
	var keys []string
	for key, err := range scan {
		f.must(err, "scan of keys")
		keys = append(keys, string(key))
	}
	return keys
}

// entry is a kv.Entry that can be compared.
type entry struct{ key, value string }

func (f *fixture) collect(scan iter.Seq2[kv.Entry, error]) []entry {
	f.Helper()
	var entries []entry
	for e, err := range scan {
		f.must(err, "scan")
		entries = append(entries, entry{string(e.Key), string(e.Value)})
	}
	return entries
}

// scan returns what Scan yields.
func (f *fixture) scan(prefix string) []entry {
	f.Helper()
	return f.collect(f.store.Scan(f.ctx, col, []byte(prefix)))
}

func (f *fixture) wantScan(prefix string, want ...entry) {
	f.Helper()
	if got := f.scan(prefix); !slices.Equal(got, want) {
		f.Fatalf("Scan %.40q: got %s, want %s", prefix, brief(got), brief(want))
	}
}

// update runs fn in an Update that has to succeed.
func (f *fixture) update(fn func(tx *fixture)) {
	f.Helper()
	f.must(kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
		fn(f.on(tx))
		return nil
	}), "Update")
}

// fill puts n keys, with themselves as values, in few updates.
func (f *fixture) fill(n int, name func(i int) string) {
	f.Helper()
	for from := 0; from < n; from += 100 {
		f.update(func(tx *fixture) {
			for i := from; i < min(from+100, n); i++ {
				tx.put(name(i), name(i))
			}
		})
	}
}

// numbered names a key such that keys sort as their numbers.
func numbered(i int) string { return fmt.Sprintf("key/%06d", i) }

// ascending returns the names of 0 to n-1, and as entries what fill puts.
func ascending(n int, name func(i int) string) (keys []string, entries []entry) {
	for i := range n {
		keys = append(keys, name(i))
		entries = append(entries, entry{name(i), name(i)})
	}
	return keys, entries
}

// within runs fn, which may end its goroutine, and ends the test when it is not
// back in time: a call waits for what will never come.
func (f *fixture) within(what string, fn func()) {
	f.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	f.wait(done, what)
	if f.Failed() {
		f.FailNow()
	}
}

// wait waits for an event, and ends the test when it does not come.
func (f *fixture) wait(event <-chan struct{}, what string) {
	f.Helper()
	limit := time.NewTimer(f.patience)
	defer limit.Stop()
	select {
	case <-event:
	case <-limit.C:
		f.Fatalf("%s: still waiting after %v", what, f.patience)
	}
}

// brief prints the first of many.
func brief[T string | entry](all []T) string {
	const some = 12
	if len(all) <= some {
		return fmt.Sprintf("%.40q", all)
	}
	return fmt.Sprintf("%.40q and so on, %d in all", all[:some], len(all))
}

// pick returns n, or a tenth of it in a short run.
func pick(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// brute returns the entries of a range, found by looking at each of all, which
// ascend.
func brute(all []entry, r kv.Range) []entry {
	var in []entry
	for _, e := range all {
		behind := bytes.Compare([]byte(e.key), r.After)
		if r.Reverse {
			behind = -behind
		}
		if !bytes.HasPrefix([]byte(e.key), r.Prefix) || r.After != nil && behind <= 0 {
			continue
		}
		if r.KeysOnly {
			e.value = ""
		}
		in = append(in, e)
	}
	if r.Reverse {
		slices.Reverse(in)
	}
	return in
}
