package kvtest

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// hooks replace methods of a store; those that are nil do not.
type hooks struct {
	get    func(ctx context.Context, c kv.Column, key []byte) ([]byte, error)
	put    func(ctx context.Context, c kv.Column, key, value []byte) error
	delete func(ctx context.Context, c kv.Column, key []byte) (bool, error)
	scan   func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] // all three scans
	update func(ctx context.Context, fn func(kv.KVStorage) error) error
	view   func(ctx context.Context, fn func(kv.KVStorage) error) error
	close  func() error
}

// broken is a sound store with hooks.
type broken struct {
	*memkv.Store
	hooks
}

func (b *broken) Get(ctx context.Context, c kv.Column, key []byte) ([]byte, error) {
	if b.get != nil {
		return b.get(ctx, c, key)
	}
	return b.Store.Get(ctx, c, key)
}

func (b *broken) Put(ctx context.Context, c kv.Column, key, value []byte) error {
	if b.put != nil {
		return b.put(ctx, c, key, value)
	}
	return b.Store.Put(ctx, c, key, value)
}

func (b *broken) Delete(ctx context.Context, c kv.Column, key []byte) (bool, error) {
	if b.delete != nil {
		return b.delete(ctx, c, key)
	}
	return b.Store.Delete(ctx, c, key)
}

func (b *broken) ScanKeys(ctx context.Context, c kv.Column, prefix []byte) iter.Seq2[[]byte, error] {
	return kv.KeysOf(b.ScanRange(ctx, c, kv.Range{Prefix: prefix, KeysOnly: true}))
}

func (b *broken) Scan(ctx context.Context, c kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return b.ScanRange(ctx, c, kv.Range{Prefix: prefix})
}

func (b *broken) ScanRange(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	if b.scan != nil {
		return b.scan(ctx, c, r)
	}
	return b.Store.ScanRange(ctx, c, r)
}

func (b *broken) Update(ctx context.Context, fn func(kv.KVStorage) error) error {
	if b.update != nil {
		return b.update(ctx, fn)
	}
	return b.Store.Update(ctx, fn)
}

func (b *broken) View(ctx context.Context, fn func(kv.KVStorage) error) error {
	if b.view != nil {
		return b.view(ctx, fn)
	}
	return b.Store.View(ctx, fn)
}

func (b *broken) Close() error {
	if b.close != nil {
		return b.close()
	}
	return b.Store.Close()
}

// fault is a way in which a store breaks one promise.
type fault struct {
	name   string
	breaks string // the promise
	with   func(s *memkv.Store) hooks
}

// TestBrokenStoresAreNoticed breaks one promise at a time and wants the test of
// it to fail.
func TestBrokenStoresAreNoticed(t *testing.T) {
	for _, f := range slices.Concat(scanFaults(), valueFaults(), transactionFaults(), lifeFaults()) {
		t.Run(f.breaks+"/"+strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
			wantNoticed(t, f.breaks, Config{Open: func(testing.TB) kv.KVStorage {
				s := memkv.New()
				return &broken{s, f.with(s)}
			}})
		})
	}
}

func wantNoticed(t *testing.T, name string, c Config) {
	t.Helper()
	c.patience = 200 * time.Millisecond // of the stuck ones
	var r *recorder
	for range 5 { // what hangs on the order of goroutines may not show at once
		if r = record(t, named(t, name), c); r.Failed() {
			t.Logf("%s: %.200s", name, r)
			return
		}
	}
	t.Fatalf("%s did not notice; it said %q", name, r)
}

func named(t *testing.T, name string) promise {
	t.Helper()
	all := promises()
	i := slices.IndexFunc(all, func(p promise) bool { return p.name == name })
	if i < 0 {
		t.Fatalf("there is no promise %q", name)
	}
	return all[i]
}

// TestNamesAreUnique keeps two promises from being one subtest.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range promises() {
		if seen[p.name] {
			t.Errorf("two promises are named %s", p.name)
		}
		seen[p.name] = true
	}
}
