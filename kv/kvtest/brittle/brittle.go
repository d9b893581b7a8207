// Package brittle is for tests: stores that fail on purpose, at any one of the
// calls that an operation makes.
package brittle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// ErrInjected is what a brittle store fails with.
var ErrInjected = errors.New("brittle: injected failure")

// Store is a store of the five methods and no more, so that an update of it is not
// atomic, which fails once at a chosen call.
type Store struct {
	store kv.KVStorage
	left  int
}

// New returns a view of s whose call number n, from 0, fails; all calls before and
// behind it reach s. It is for one goroutine.
func New(s kv.KVStorage, n int) *Store { return &Store{s, n} }

// Failed tells whether the failure has happened.
func (b *Store) Failed() bool { return b.left < 0 }

func (b *Store) call() error {
	b.left--
	if b.left == -1 {
		return ErrInjected
	}
	return nil
}

// Realm returns the realm of the store below.
func (b *Store) Realm() string { return kv.RealmOf(b.store) }

// Get is a call.
func (b *Store) Get(ctx context.Context, col kv.Column, key []byte) ([]byte, error) {
	if err := b.call(); err != nil {
		return nil, err
	}
	return b.store.Get(ctx, col, key)
}

// Put is a call.
func (b *Store) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	if err := b.call(); err != nil {
		return err
	}
	return b.store.Put(ctx, col, key, value)
}

// Delete is a call.
func (b *Store) Delete(ctx context.Context, col kv.Column, key []byte) (bool, error) {
	if err := b.call(); err != nil {
		return false, err
	}
	return b.store.Delete(ctx, col, key)
}

// ScanKeys is a call when the iteration begins.
func (b *Store) ScanKeys(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err := b.call(); err != nil {
			yield(nil, err)
			return
		}
		b.store.ScanKeys(ctx, col, prefix)(yield)
	}
}

// Scan is a call when the iteration begins.
func (b *Store) Scan(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		if err := b.call(); err != nil {
			yield(kv.Entry{}, err)
			return
		}
		b.store.Scan(ctx, col, prefix)(yield)
	}
}

// Each tests an operation with a failure at each of its calls. Every time it makes
// a new store and sets it up.
//
// On a store without atomic updates, check is called with the sound store after
// the failure, and tells what must hold whatever the call was. On one with them
// there must be nothing new in the store. The operation must return the failure,
// and succeed when there is none.
func Each(t *testing.T, setup func(s kv.KVStorage) error, op func(s kv.KVStorage) error, check func(t *testing.T, s kv.KVStorage)) {
	t.Helper()
	for n := 0; ; n++ {
		s := prepared(t, setup)
		b := New(s, n)
		err := op(b)
		want(t, n, b, err)
		check(t, s)
		if !b.Failed() {
			if n == 0 {
				t.Fatal("the operation makes no calls")
			}
			return
		}
		atomic(t, n, setup, op)
	}
}

func prepared(t *testing.T, setup func(s kv.KVStorage) error) kv.KVStorage {
	t.Helper()
	s := memkv.New()
	if err := setup(s); err != nil {
		t.Fatalf("setup: %v", err)
	}
	return s
}

func want(t *testing.T, n int, b *Store, err error) {
	t.Helper()
	if b.Failed() != errors.Is(err, ErrInjected) || !b.Failed() && err != nil {
		t.Fatalf("call %d failed: %t; the operation returned %v", n, b.Failed(), err)
	}
}

// atomic fails one call inside a transaction of the store.
func atomic(t *testing.T, n int, setup, op func(s kv.KVStorage) error) {
	t.Helper()
	s := prepared(t, setup)
	before := Dump(t, s)
	var b *Store
	err := kv.Update(context.Background(), s, func(tx kv.KVStorage) error {
		b = New(tx, n)
		return op(b)
	})
	want(t, n, b, err)
	if after := Dump(t, s); after != before {
		t.Fatalf("call %d failed, and the update wrote all the same: before\n%safter\n%s", n, before, after)
	}
}

// Dump returns all that is in a store, a line a key.
func Dump(t testing.TB, s kv.KVStorage) string {
	t.Helper()
	var out bytes.Buffer
	for _, col := range kv.Columns() {
		for e, err := range s.Scan(context.Background(), col, nil) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s %q %q\n", col, e.Key, e.Value)
		}
	}
	return out.String()
}
