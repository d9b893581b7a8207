package kvtest

import (
	"github.com/crabstore/crabstore/kv"
)

func wrapperPromises() []promise {
	return []promise{
		{name: "AtomicIsAsDeclared", test: atomicIsAsDeclared},
		{name: "WrappersAreSeenThrough", test: wrappersAreSeenThrough, everywhere: true},
		{name: "KeysLieInTheRealm", test: keysLieInTheRealm, everywhere: true},
	}
}

// wrapper is a store around another that adds nothing.
type wrapper struct{ kv.KVStorage }

func (w wrapper) Unwrap() kv.KVStorage { return w.KVStorage }

func atomicIsAsDeclared(f *fixture) {
	for name, s := range map[string]kv.KVStorage{
		"the store":      f.store,
		"a wrapper":      wrapper{wrapper{f.store}},
		"a realm of it":  kv.InRealm(f.store, "acme"),
		"a reader of it": kv.ReadOnly(f.store),
	} {
		if got := kv.Atomic(s); got == f.NonAtomic {
			f.Fatalf("Atomic of %s is %v, NonAtomic is declared as %v", name, got, f.NonAtomic)
		}
	}
	for name, run := range transactionsOf(f.store) {
		f.must(run(f.ctx, func(tx kv.KVStorage) error {
			if got := kv.Atomic(tx); got == f.NonAtomic {
				f.Fatalf("Atomic in %s is %v, NonAtomic is declared as %v", name, got, f.NonAtomic)
			}
			return nil
		}), "%s", name)
	}
}

func wrappersAreSeenThrough(f *fixture) {
	w := f.on(wrapper{wrapper{f.store}})
	if got, want := kv.RealmOf(w.store), kv.RealmOf(f.store); got != want {
		f.Fatalf("the realm of a wrapper is %q, of the store %q", got, want)
	}
	_, inner := kv.As[kv.Ranger](f.store)
	if _, outer := kv.As[kv.Ranger](w.store); outer != inner {
		f.Fatalf("As finds a Ranger in a wrapper: %v; in the store: %v", outer, inner)
	}
	all := f.putAll([]string{"a", "b", "c"})
	w.update(func(tx *fixture) {
		tx.put("d", "of d")
		tx.wantRange(col, append(all, entry{"d", "of d"}), kv.Range{Reverse: true})
	})
	w.view(func(tx *fixture) { tx.wantRange(col, append(all, entry{"d", "of d"}), kv.Range{After: []byte("a")}) })
	w.wantRange(col, append(all, entry{"d", "of d"}), kv.Range{Reverse: true, KeysOnly: true})
}

// keysLieInTheRealm builds keys with the store and with a transaction of it: both
// are in the same realm.
func keysLieInTheRealm(f *fixture) {
	key := string(kv.Key(f.store, "memory", "a/b"))
	realm, parts, err := kv.Split([]byte(key))
	if err != nil || realm != kv.RealmOf(f.store) || len(parts) != 2 || parts[1] != "a/b" {
		f.Fatalf("Key %q splits into %q %q, %v", key, realm, parts, err)
	}
	f.update(func(tx *fixture) { tx.put(string(kv.Key(tx.store, "memory", "a/b")), "v") })
	f.view(func(tx *fixture) { tx.wantValue(string(kv.Key(tx.store, "memory", "a/b")), "v") })
	f.wantScan("", entry{key, "v"})
}
