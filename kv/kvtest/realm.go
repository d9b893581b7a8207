package kvtest

import (
	"github.com/crabstore/crabstore/kv"
)

func realmPromises() []promise {
	return []promise{
		{name: "RealmsConfine", test: realmsConfine, everywhere: true},
		{name: "RealmsConfineTransactions", test: realmsConfineTransactions, everywhere: true},
		{name: "D15_RealmIsNoPrefixOfAnother", test: realmIsNoPrefix, everywhere: true},
	}
}

// neighbours fills the realm acme and those beside it, and returns the entries of
// acme.
func (f *fixture) neighbours() []entry {
	f.Helper()
	for _, realm := range []string{"ac", "acm", "acme", "acme-corp", "acmf", "b"} {
		for _, name := range []string{"x", "x/y"} {
			key := kv.Key(kv.InRealm(f.store, realm), name)
			f.put(string(key), realm)
		}
	}
	f.put("acme", "no realm at all")
	f.put("\xff", "no realm at all")
	return []entry{{"acme/x", "acme"}, {"acme/x%2Fy", "acme"}}
}

func realmsConfine(f *fixture) {
	inside := f.neighbours()
	view := f.on(kv.InRealm(f.store, "acme"))
	before := len(f.keys(""))
	if got := kv.RealmOf(view.store); got != "acme" {
		f.Fatalf("RealmOf a view in the realm acme is %q", got)
	}
	for _, key := range []string{"acm/x", "acme-corp/x", "acme", "acmf/x", "b/x", "\xff", "local/x", "x"} {
		_, err := view.store.Get(f.ctx, col, []byte(key))
		f.wantError(err, kv.ErrOutsideRealm, "Get of %q", key)
		f.wantError(view.store.Put(f.ctx, col, []byte(key), nil), kv.ErrOutsideRealm, "Put of %q", key)
		_, err = view.store.Delete(f.ctx, col, []byte(key))
		f.wantError(err, kv.ErrOutsideRealm, "Delete of %q", key)
		if key != "acme" {
			view.wantOutside(key)
		}
	}
	for _, prefix := range []string{"", "a", "acm", "acme", "acme/", "acme/x"} {
		view.wantScan(prefix, inside...)
		view.wantRange(col, inside, kv.Range{Prefix: []byte(prefix), Reverse: true})
		view.wantRange(col, inside, kv.Range{Prefix: []byte(prefix), After: []byte("acme/x")})
	}
	view.put("acme/new", "")
	view.wantKeys("acme/n", "acme/new")
	view.delete("acme/x")
	if got := len(f.keys("")); got != before {
		f.Fatalf("one key more and one less in the realm made %d keys of %d", got, before)
	}
}

func (f *fixture) wantOutside(prefix string) {
	f.Helper()
	yields := 0
	for key, err := range f.store.ScanKeys(f.ctx, col, []byte(prefix)) {
		f.wantError(err, kv.ErrOutsideRealm, "scan of the prefix %q, yielding %q", prefix, key)
		yields++
	}
	if yields != 1 {
		f.Fatalf("scan of the prefix %q outside the realm yields %d times, want one error", prefix, yields)
	}
}

func realmsConfineTransactions(f *fixture) {
	inside := f.neighbours()
	view := f.on(kv.InRealm(f.store, "acme"))
	confined := func(tx *fixture) {
		_, err := tx.store.Get(f.ctx, col, []byte("acme-corp/x"))
		f.wantError(err, kv.ErrOutsideRealm, "Get in a transaction of a realm")
		f.wantError(tx.store.Put(f.ctx, col, []byte("b/y"), nil), kv.ErrOutsideRealm, "Put in a transaction of a realm")
		tx.wantOutside("acme-corp/")
		tx.wantScan("", inside...)
		if got := string(kv.Key(tx.store, "k")); got != "acme/k" {
			f.Fatalf("Key in a transaction of the realm acme is %q", got)
		}
	}
	view.view(confined)
	view.update(func(tx *fixture) {
		confined(tx)
		tx.update(confined)
		tx.view(confined)
		tx.put(string(kv.Key(tx.store, "new")), "1")
	})
	f.wantValue("acme/new", "1")
}

func realmIsNoPrefix(f *fixture) {
	f.neighbours()
	view := f.on(kv.InRealm(f.store, "acme"))
	view.deletePrefix(string(kv.Prefix(view.store)))
	view.wantScan("")
	f.wantKeys("", "ac/x", "ac/x%2Fy", "acm/x", "acm/x%2Fy", "acme", "acme-corp/x", "acme-corp/x%2Fy",
		"acmf/x", "acmf/x%2Fy", "b/x", "b/x%2Fy", "\xff")
}
