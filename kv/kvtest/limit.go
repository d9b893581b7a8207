package kvtest

import (
	"errors"

	"github.com/crabstore/crabstore/kv"
)

func limitPromises() []promise {
	return []promise{
		{name: "LongestKey", test: longestKey, everywhere: true},
		{name: "KeysBeyondTheLimitsAreRefused", test: keysBeyondTheLimitsAreRefused, everywhere: true},
		{name: "ValuesBeyondTheLimitAreRefused", test: valuesBeyondTheLimitAreRefused},
		{name: "B05_LargeUpdates", test: largeUpdates},
	}
}

func longestKey(f *fixture) {
	keys := []string{
		string(repeat('a', kv.MaxKeySize-1)), string(repeat('a', kv.MaxKeySize)), string(repeat(0xFF, kv.MaxKeySize)),
	}
	entries := f.putAll(keys)
	for _, e := range entries {
		f.wantValue(e.key, e.value)
	}
	f.wantScan("", entries...)
	f.wantScan(keys[1], entries[1])
	f.wantRange(col, entries, kv.Range{After: []byte(keys[0])})
	f.wantRange(col, entries, kv.Range{After: []byte(keys[1]), Reverse: true})
	for _, key := range keys {
		if !f.delete(key) {
			f.Fatalf("Delete of a key of %d bytes told that it was absent", len(key))
		}
	}
	f.wantEmpty()
}

func keysBeyondTheLimitsAreRefused(f *fixture) {
	f.put("there", "before")
	for _, c := range []struct {
		key  []byte
		want error
	}{
		{nil, kv.ErrKeyEmpty},
		{[]byte{}, kv.ErrKeyEmpty},
		{repeat('k', kv.MaxKeySize+1), kv.ErrKeyTooLarge},
		{repeat('k', 1<<20), kv.ErrKeyTooLarge},
	} {
		_, err := f.store.Get(f.ctx, col, c.key)
		f.wantError(err, c.want, "Get of a key of %d bytes", len(c.key))
		f.wantError(f.store.Put(f.ctx, col, c.key, []byte("v")), c.want, "Put of a key of %d bytes", len(c.key))
		existed, err := f.store.Delete(f.ctx, col, c.key)
		f.wantError(err, c.want, "Delete of a key of %d bytes", len(c.key))
		if existed {
			f.Fatalf("Delete of a key of %d bytes told that it was there", len(c.key))
		}
	}
	f.wantScan("", entry{"there", "before"})
	f.wantScan(string(repeat('k', kv.MaxKeySize+1))) // a prefix has no limit: nothing lies below this one
}

// valuesBeyondTheLimitAreRefused allows a store with a lower limit than others to
// refuse a value only when it commits.
func valuesBeyondTheLimitAreRefused(f *fixture) {
	f.put("there", "before")
	sizes := []int{kv.MaxValueSize + 1}
	if f.MaxValue < kv.MaxValueSize {
		sizes = append(sizes, f.MaxValue+1)
	}
	for _, size := range sizes {
		value := make([]byte, size) // never touched, so that it takes no memory
		for _, key := range []string{"there", "new"} {
			f.wantError(f.store.Put(f.ctx, col, []byte(key), value), kv.ErrValueTooLarge, "Put of %d bytes", size)
			err := kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
				f.on(tx).put("first", "")
				return tx.Put(f.ctx, col, []byte(key), value)
			})
			f.wantError(err, kv.ErrValueTooLarge, "Update with a Put of %d bytes", size)
		}
	}
	f.wantScan("", entry{"there", "before"})
	f.put("there", "after")
	f.wantValue("there", "after")
}

// largeUpdates writes more in one Update than some stores take: it is all there
// or, with ErrTxTooLarge, nothing of it.
func largeUpdates(f *fixture) {
	for _, n := range []int{129, 10_000} {
		s := f.on(f.open())
		keys, want := ascending(n, numbered)
		err := kv.Update(s.ctx, s.store, func(tx kv.KVStorage) error {
			for _, key := range keys {
				if err := tx.Put(s.ctx, col, []byte(key), []byte(key)); err != nil {
					return err
				}
			}
			return nil
		})
		switch {
		case errors.Is(err, kv.ErrTxTooLarge):
			s.wantEmpty()
		case err != nil:
			s.Fatalf("Update with %d writes: %v; want none, or ErrTxTooLarge", n, err)
		default:
			s.wantScan("", want...)
		}
	}
}
