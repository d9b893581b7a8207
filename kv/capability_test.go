package kv_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// five hides all that a store has beyond the five methods.
type five struct{ kv.KVStorage }

// around is a store around another one.
type around struct{ kv.KVStorage }

func (a around) Unwrap() kv.KVStorage { return a.KVStorage }

func TestAsWalksFromTheOutsideIn(t *testing.T) {
	inner := memkv.Open(memkv.Options{Realm: "inner"})
	if got, ok := kv.As[*memkv.Store](around{around{inner}}); !ok || got != inner {
		t.Errorf("As does not find the store in its wrappers: %v, %v", got, ok)
	}
	if _, ok := kv.As[io.Closer](five{inner}); ok {
		t.Error("As looks into a store that has no Unwrap")
	}
	if r, ok := kv.As[kv.Realmed](kv.InRealm(around{inner}, "outer")); !ok || r.Realm() != "outer" {
		t.Error("As does not take the outermost")
	}
	if _, ok := kv.As[kv.Compactor](around{inner}); ok {
		t.Error("As finds what is not there")
	}
	if _, ok := kv.As[kv.Transactor](nil); ok {
		t.Error("As finds something in nothing")
	}
}

// part has transactions that a crash can tear.
type part struct{ *memkv.Store }

func (part) Atomic() bool { return false }

func TestAtomic(t *testing.T) {
	s := memkv.New()
	for _, c := range []struct {
		name  string
		store kv.KVStorage
		want  bool
	}{
		{"a Transactor", s, true},
		{"a wrapper of one", around{s}, true},
		{"a realm of one", kv.InRealm(s, "acme"), true},
		{"five methods", five{s}, false},
		{"a realm of five methods", kv.InRealm(five{s}, "acme"), false},
		{"a reader of five methods", kv.ReadOnly(around{five{s}}), false},
		{"a Transactor that says no", part{s}, false},
		{"a wrapper of that", around{kv.InRealm(part{s}, "acme")}, false},
	} {
		if got := kv.Atomic(c.store); got != c.want {
			t.Errorf("Atomic of %s is %v", c.name, got)
		}
	}
}

func TestRealmOf(t *testing.T) {
	s := memkv.Open(memkv.Options{Realm: "acme"})
	for want, store := range map[string]kv.KVStorage{
		"local": five{s}, "acme": around{s}, "b": kv.InRealm(s, "b"), "c": around{kv.InRealm(around{s}, "c")},
	} {
		if got := kv.RealmOf(store); got != want {
			t.Errorf("RealmOf is %q, want %q", got, want)
		}
	}
}

// crashing is a store of five methods that takes some writes and then no more.
type crashing struct {
	five
	left *int
}

var errCrash = errors.New("crash")

func (s crashing) Put(ctx context.Context, c kv.Column, key, value []byte) error {
	if *s.left--; *s.left < 0 {
		return errCrash
	}
	return s.five.Put(ctx, c, key, value)
}

// TestUpdateInPiecesLeavesTheFirst is what content before index relies on where
// there are no transactions: of writes that a crash cut off, the first are there.
func TestUpdateInPiecesLeavesTheFirst(t *testing.T) {
	ctx := context.Background()
	keys := []string{"content/2", "content/1", "index/9", "index/3"} // touched in this order
	for n := range len(keys) + 1 {
		s := memkv.New()
		left := n
		err := kv.Update(ctx, crashing{five{s}, &left}, func(tx kv.KVStorage) error {
			for _, key := range keys {
				put(t, tx, key, key)
			}
			put(t, tx, keys[0], keys[0]) // touched again: its place stays the first
			return nil
		})
		if n < len(keys) && !errors.Is(err, errCrash) || n == len(keys) && err != nil {
			t.Fatalf("with %d writes: %v", n, err)
		}
		want := slices.Clone(keys[:n])
		slices.Sort(want)
		if got := scanned(t, s, ""); !slices.Equal(got, want) {
			t.Fatalf("with %d writes the store holds %q, want %q", n, got, want)
		}
	}
}

func TestReadOnly(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	put(t, s, "k", "v")
	for _, r := range []kv.KVStorage{kv.ReadOnly(s), kv.ReadOnly(five{s}), kv.ReadOnly(kv.ReadOnly(s))} {
		if err := r.Put(ctx, kv.Memory, []byte("k"), nil); !errors.Is(err, kv.ErrReadOnly) {
			t.Errorf("Put: %v", err)
		}
		if _, err := r.Delete(ctx, kv.Memory, []byte("k")); !errors.Is(err, kv.ErrReadOnly) {
			t.Errorf("Delete: %v", err)
		}
		err := kv.Update(ctx, r, func(tx kv.KVStorage) error { return tx.Put(ctx, kv.Memory, []byte("k"), nil) })
		if !errors.Is(err, kv.ErrReadOnly) {
			t.Errorf("Put in an Update: %v", err)
		}
		if err := kv.Store(ctx, r, kv.Memory, []byte("k"), "x"); !errors.Is(err, kv.ErrReadOnly) {
			t.Errorf("Store: %v", err)
		}
		if got := scanned(t, r, ""); !slices.Equal(got, []string{"v"}) {
			t.Errorf("Scan: %q", got)
		}
		if e, err := kv.Last(ctx, r, kv.Memory, nil); err != nil || string(e.Key) != "k" {
			t.Errorf("Last: %q, %v", e.Key, err)
		}
	}
}

func TestRealmsOfOddNames(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	realms := []string{"", "a", "a/b", "a%2Fb", "%", "/", "\x00", "\xff", "é"}
	for _, realm := range realms {
		view := kv.InRealm(s, realm)
		put(t, view, string(kv.Key(view, "k")), realm)
	}
	for _, realm := range realms {
		view := kv.InRealm(s, realm)
		if got := scanned(t, view, ""); !slices.Equal(got, []string{realm}) {
			t.Errorf("the realm %q holds the keys of %q", realm, got)
		}
		if got, _, err := kv.Split(kv.Key(view, "k")); err != nil || got != realm {
			t.Errorf("the realm of a key of %q is %q, %v", realm, got, err)
		}
	}
	inner := kv.InRealm(kv.InRealm(s, "a"), "b")
	if err := inner.Put(ctx, kv.Memory, []byte("b/k"), nil); !errors.Is(err, kv.ErrOutsideRealm) {
		t.Errorf("a realm in a realm let a key out: %v", err)
	}
	for _, err := range inner.Scan(ctx, kv.Memory, nil) {
		if !errors.Is(err, kv.ErrOutsideRealm) {
			t.Errorf("a realm in a realm let a scan out: %v", err)
		}
	}
}

func TestLoadAndStoreNameTheKey(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	key := kv.Key(s, "k")
	type thing struct {
		Name string `json:"name"`
	}
	_, err := kv.Load[thing](ctx, s, kv.Memory, key)
	wantNamed(t, err, kv.ErrNotFound)
	if err := kv.Store(ctx, s, kv.Memory, key, thing{"x"}); err != nil {
		t.Fatal(err)
	}
	if got, err := kv.Load[thing](ctx, s, kv.Memory, key); err != nil || got.Name != "x" {
		t.Fatalf("Load: %v, %v", got, err)
	}
	wantNamed(t, kv.Store(ctx, s, kv.Memory, key, func() {}), kv.ErrUnstorable)
	if got, err := kv.Load[thing](ctx, s, kv.Memory, key); err != nil || got.Name != "x" {
		t.Fatalf("a value that cannot be stored replaced the one there: %v, %v", got, err)
	}
	put(t, s, string(key), "\xc1")
	_, err = kv.Load[thing](ctx, s, kv.Memory, key)
	wantNamed(t, err, kv.ErrCorrupt)
}

func wantNamed(t *testing.T, err, want error) {
	t.Helper()
	if prefix := `memory "local/k": `; !errors.Is(err, want) || len(fmt.Sprint(err)) < len(prefix) || err.Error()[:len(prefix)] != prefix {
		t.Fatalf("got %v, want %v behind the column and key", err, want)
	}
}
