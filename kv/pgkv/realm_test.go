package pgkv_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/pgkv"
	"github.com/crabstore/crabstore/kv/pgkv/pgtest"
)

// keysIn returns what scans of a prefix find, forward and in reverse alike.
func keysIn(t *testing.T, s kv.KVStorage, prefix string) (keys []string) {
	t.Helper()
	for key, err := range s.ScanKeys(ctx, col, []byte(prefix)) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, string(key))
	}
	var back []string
	for e, err := range kv.ScanRange(ctx, s, col, kv.Range{Prefix: []byte(prefix), Reverse: true}) {
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, string(e.Key))
	}
	slices.Reverse(back)
	if !slices.Equal(keys, back) {
		t.Fatalf("keys of %q: %q, in reverse %q", prefix, keys, back)
	}
	return keys
}

// D15: realms of which one's name begins like another's, beside each other in a table.
func TestRealmsBesideEachOther(t *testing.T) {
	address := pgtest.Shared(t).URL(t)
	all := open(t, address, pgkv.Options{})
	realms := []string{"ac", "acme", "acme/x", "acme-corp", "acmf", "local", "%"}
	stores := map[string]*pgkv.Store{}
	for i, realm := range realms {
		s := open(t, address, pgkv.Options{Realm: realm})
		stores[realm] = s
		err := s.Update(ctx, func(tx kv.KVStorage) error { // i+1 keys in it
			for n := range i + 1 {
				if err := tx.Put(ctx, col, kv.Key(tx, "k", fmt.Sprint(n)), []byte(realm)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, odd := range []string{"acme", "a", "\xff"} {
		if err := all.Put(ctx, col, []byte(odd), nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, realm := range realms {
		inRealm(t, stores[realm], realm, i+1)
	}
	if n := len(keysIn(t, all, "")); n != 28+3 {
		t.Errorf("the whole table has %d keys", n)
	}
	st, err := all.Stats(ctx)
	if err != nil || st.Keys != 28+3 {
		t.Errorf("Stats of the whole table: %+v, %v", st, err)
	}
}

// inRealm looks for n keys of a realm, and for others that must not be seen.
func inRealm(t *testing.T, s *pgkv.Store, realm string, n int) {
	t.Helper()
	if s.Realm() != realm || kv.RealmOf(s) != realm {
		t.Errorf("the realm %q is %q", realm, s.Realm())
	}
	own := string(kv.AppendPart(nil, realm)) + "/"
	look := func(s kv.KVStorage) error {
		for _, prefix := range []string{"", own[:1], own, own + "k/"} {
			keys := keysIn(t, s, prefix)
			if len(keys) != n {
				t.Errorf("realm %q, prefix %q: %q, want %d keys", realm, prefix, keys, n)
			}
			last, err := kv.Last(ctx, s, col, []byte(prefix))
			if err != nil || string(last.Key) != own+fmt.Sprint("k/", n-1) || string(last.Value) != realm {
				t.Errorf("realm %q, Last of %q: %q, %v", realm, prefix, last.Key, err)
			}
		}
		return nil
	}
	_ = look(s)
	for _, run := range []func(func(kv.KVStorage) error) error{
		func(fn func(kv.KVStorage) error) error { return s.Update(ctx, fn) },
		func(fn func(kv.KVStorage) error) error { return s.View(ctx, fn) },
	} {
		if err := run(func(tx kv.KVStorage) error { outside(t, tx); return look(tx) }); err != nil {
			t.Error(err)
		}
	}
	outside(t, s)
	st, err := s.Stats(ctx)
	if err != nil || st.Keys != int64(n) || st.Bytes != int64(n*(len(own)+len("k/0")+len(realm))) {
		t.Errorf("Stats of the realm %q: %+v, %v", realm, st, err)
	}
}

// outside names keys that are in no realm of the test.
func outside(t *testing.T, s kv.KVStorage) {
	t.Helper()
	for _, key := range []string{"a", "acmg/k", "\xff", "x"} {
		_, got := s.Get(ctx, col, []byte(key))
		_, deleted := s.Delete(ctx, col, []byte(key))
		errs := map[string]error{"Get": got, "Delete": deleted, "Put": s.Put(ctx, col, []byte(key), nil)}
		if key != "a" { // which is a prefix of some
			for _, err := range s.ScanKeys(ctx, col, []byte(key)) {
				errs["ScanKeys"] = err
			}
		}
		for call, err := range errs {
			// A View may say first that it is one.
			if !errors.Is(err, kv.ErrOutsideRealm) && !errors.Is(err, kv.ErrReadOnly) {
				t.Errorf("%s of %q: %v", call, key, err)
			}
		}
	}
}
