package kvtest

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// fiveMethods hides all that a store has beyond the five methods.
type fiveMethods struct{ kv.KVStorage }

// TestFiveMethods is the suite over a store that has no capability: kv does the
// rest.
func TestFiveMethods(t *testing.T) {
	Run(t, Config{
		Open:      func(testing.TB) kv.KVStorage { return fiveMethods{memkv.New()} },
		NonAtomic: true,
	})
}

// TestOverlay is what a transaction keeps, over a kv.Overlay.
func TestOverlay(t *testing.T) {
	var kept []promise
	for _, p := range promises() {
		if p.everywhere {
			p.everywhere = false // an Update on it joins it, and rolls nothing back
			kept = append(kept, p)
		}
	}
	run(t, Config{Open: func(testing.TB) kv.KVStorage { return kv.NewOverlay(memkv.New()) }}, kept)
}

// TestRealmView is the suite over one realm of a store in which others have keys.
func TestRealmView(t *testing.T) {
	run(t, Config{Open: func(t testing.TB) kv.KVStorage {
		s := memkv.New()
		for _, c := range everyColumn() {
			for _, key := range []string{"acm/x", "acme", "acme-corp/x", "acme.", "acme0", "acmf/x", "\x00", "\xff"} {
				if err := s.Put(context.Background(), c, []byte(key), []byte("not ours")); err != nil {
					t.Fatal(err)
				}
			}
		}
		return relative{kv.InRealm(s, "acme")}
	}}, slices.DeleteFunc(promises(), func(p promise) bool {
		// Keys of full length do not fit behind the realm, and the count is of all realms.
		return slices.Contains([]string{"LongestKey", "ScanEndsWithItsColumn", "RandomHistoriesEqualAModel", "StatsCountKeys"}, p.name)
	}))
}

// relative is a store whose keys lack the realm that the store below wants.
type relative struct{ realm kv.KVStorage }

func (s relative) Unwrap() kv.KVStorage { return s.realm }

func (s relative) inside(key []byte) []byte { return append([]byte("acme/"), key...) }

func (s relative) Get(ctx context.Context, c kv.Column, key []byte) ([]byte, error) {
	if err := kv.CheckKey(key); err != nil {
		return nil, err
	}
	return s.realm.Get(ctx, c, s.inside(key))
}

func (s relative) Put(ctx context.Context, c kv.Column, key, value []byte) error {
	if err := kv.CheckKey(key); err != nil {
		return err
	}
	return s.realm.Put(ctx, c, s.inside(key), value)
}

func (s relative) Delete(ctx context.Context, c kv.Column, key []byte) (bool, error) {
	if err := kv.CheckKey(key); err != nil {
		return false, err
	}
	return s.realm.Delete(ctx, c, s.inside(key))
}

func (s relative) ScanKeys(ctx context.Context, c kv.Column, prefix []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for key, err := range s.realm.ScanKeys(ctx, c, s.inside(prefix)) {
			if err == nil {
				key = key[len("acme/"):]
			}
			if !yield(key, err) {
				return
			}
		}
	}
}

func (s relative) Scan(ctx context.Context, c kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return s.strip(s.realm.Scan(ctx, c, s.inside(prefix)))
}

func (s relative) ScanRange(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	r.Prefix = s.inside(r.Prefix)
	if r.After != nil {
		r.After = s.inside(r.After)
	}
	return s.strip(kv.ScanRange(ctx, s.realm, c, r))
}

func (s relative) strip(scan iter.Seq2[kv.Entry, error]) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		for e, err := range scan {
			if err == nil {
				e.Key = e.Key[len("acme/"):]
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (s relative) Update(ctx context.Context, fn func(kv.KVStorage) error) error {
	return kv.Update(ctx, s.realm, func(tx kv.KVStorage) error { return fn(relative{tx}) })
}

func (s relative) View(ctx context.Context, fn func(kv.KVStorage) error) error {
	return kv.View(ctx, s.realm, func(tx kv.KVStorage) error { return fn(relative{tx}) })
}
