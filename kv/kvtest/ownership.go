package kvtest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/crabstore/crabstore/kv"
)

func ownershipPromises() []promise {
	return []promise{
		{name: "ArgumentsAreNotKept", test: argumentsAreNotKept, everywhere: true},
		{name: "GetHandsOutTheCallersOwn", test: getHandsOutTheCallersOwn, everywhere: true},
		{name: "B08_ScansHandOutTheCallersOwn", test: scansHandOutTheCallersOwn, everywhere: true},
		{name: "TransactionsKeepNoArguments", test: transactionsKeepNoArguments},
	}
}

// scribble changes all that the owner of a slice may change: its bytes, and
// through append those behind it.
func scribble(b []byte) {
	for i := range b {
		b[i] = '!'
	}
	for len(b) < cap(b) {
		b = append(b, '!')
	}
}

func argumentsAreNotKept(f *fixture) {
	key, value := []byte("key"), []byte("value")
	f.must(f.store.Put(f.ctx, col, key, value), "Put")
	scribble(key)
	scribble(value)
	f.wantScan("", entry{"key", "value"})

	key = []byte("key")
	_, err := f.store.Get(f.ctx, col, key)
	f.must(err, "Get")
	scribble(key)
	key = []byte("other")
	_, err = f.store.Delete(f.ctx, col, key)
	f.must(err, "Delete")
	scribble(key)
	f.wantScan("", entry{"key", "value"})
}

func getHandsOutTheCallersOwn(f *fixture) {
	f.put("a", "value of a")
	f.put("b", "value of b")
	for range 2 {
		value, err := f.store.Get(f.ctx, col, []byte("a"))
		f.must(err, "Get")
		scribble(value)
		f.wantScan("", entry{"a", "value of a"}, entry{"b", "value of b"})
		f.wantValue("a", "value of a")
	}
}

// scansHandOutTheCallersOwn keeps the slices of a scan, half of them scribbled
// over, and looks at the others when the scan has gone on, ended, and the store
// was written to.
func scansHandOutTheCallersOwn(f *fixture) {
	const n = 200
	keys, want := ascending(n, numbered)
	f.fill(n, numbered)
	kept := map[string][]kv.Entry{}
	keep := func(from string, e kv.Entry) {
		if len(kept[from])%2 == 1 {
			scribble(e.Key)
			scribble(e.Value)
		}
		kept[from] = append(kept[from], e)
	}
	for e, err := range f.store.Scan(f.ctx, col, []byte("key/")) {
		f.must(err, "Scan")
		keep("Scan", e)
	}
	for key, err := range f.store.ScanKeys(f.ctx, col, []byte("key/")) {
		f.must(err, "ScanKeys")
		keep("ScanKeys", kv.Entry{Key: key})
	}
	for e, err := range kv.ScanRange(f.ctx, f.store, col, kv.Range{Prefix: []byte("key/0")}) {
		f.must(err, "ScanRange")
		keep("ScanRange", e)
	}
	f.wantKeys("", keys...)
	f.wantScan("", want...)
	f.fill(1000, func(i int) string { return fmt.Sprint("later/", i) })
	for from, entries := range kept {
		if len(entries) != n {
			f.Fatalf("%s yielded %d entries, want %d", from, len(entries), n)
		}
		for i, e := range entries {
			f.wantKept(from, e.Key, i, numbered(i))
			if from != "ScanKeys" {
				f.wantKept(from, e.Value, i, numbered(i))
			}
		}
	}
}

func (f *fixture) wantKept(from string, got []byte, i int, want string) {
	f.Helper()
	if i%2 == 1 {
		want = strings.Repeat("!", len(want))
	}
	if !bytes.Equal(got, []byte(want)) {
		f.Fatalf("%s: a slice of entry %d became %q, want %q", from, i, got, want)
	}
}

func transactionsKeepNoArguments(f *fixture) {
	f.put("old", "value")
	f.update(func(tx *fixture) {
		key, value := []byte("key"), []byte("value")
		tx.must(tx.store.Put(tx.ctx, col, key, value), "Put")
		scribble(key)
		scribble(value)
		tx.wantScan("", entry{"key", "value"}, entry{"old", "value"})
		for _, name := range []string{"key", "old"} {
			got, err := tx.store.Get(tx.ctx, col, []byte(name))
			tx.must(err, "Get")
			scribble(got)
		}
		old := []byte("old")
		_, err := tx.store.Delete(tx.ctx, col, old)
		tx.must(err, "Delete")
		scribble(old)
		for e, err := range tx.store.Scan(tx.ctx, col, nil) {
			tx.must(err, "Scan")
			scribble(e.Key)
			scribble(e.Value)
		}
	})
	f.wantScan("", entry{"key", "value"})
}
