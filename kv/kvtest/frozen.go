package kvtest

import (
	"iter"
	"slices"

	"github.com/crabstore/crabstore/kv"
)

func frozenPromises() []promise {
	return []promise{
		{name: "A27_DeleteTheCurrentKeyInAScan", test: deleteTheCurrentKey, everywhere: true},
		{name: "A27_DeleteTheNextKeyInAScan", test: deleteTheNextKey, everywhere: true},
		{name: "A27_PutAheadInAScan", test: putAhead, everywhere: true},
		{name: "ReplaceValuesInAScan", test: replaceValues, everywhere: true},
		{name: "UpdateInAScan", test: updateInAScan, everywhere: true},
		{name: "HeldScansStayFrozen", test: heldScansStayFrozen, everywhere: true},
	}
}

// sizes are those of the reported fault, and one at which the nodes of a tree
// merge when it is emptied.
func sizes() []int { return []int{10, pick(10_000)} }

func deleteTheCurrentKey(f *fixture) {
	for _, n := range sizes() {
		f.fill(n, numbered)
		seen := 0
		for key, err := range f.store.ScanKeys(f.ctx, col, nil) {
			f.must(err, "scan")
			if string(key) != numbered(seen) {
				f.Fatalf("of %d keys, number %d is %q, want %q", n, seen, key, numbered(seen))
			}
			if !f.delete(string(key)) {
				f.Fatalf("%q was absent when it was yielded", key)
			}
			seen++
		}
		if seen != n {
			f.Fatalf("%d keys visited, want %d", seen, n)
		}
		f.wantEmpty()
	}
}

func deleteTheNextKey(f *fixture) {
	for _, n := range sizes() {
		f.fill(n, numbered)
		seen := 0
		for e, err := range f.store.Scan(f.ctx, col, []byte("key/")) {
			f.must(err, "scan")
			if string(e.Key) != numbered(seen) || string(e.Value) != numbered(seen) {
				f.Fatalf("of %d keys, number %d is %q with %q, want %q", n, seen, e.Key, e.Value, numbered(seen))
			}
			if seen%2 == 0 {
				f.delete(numbered(seen + 1)) // it is yielded all the same
			} else {
				f.delete(numbered(seen - 1))
			}
			seen++
		}
		if seen != n {
			f.Fatalf("%d keys visited, want %d", seen, n)
		}
		f.wantEmpty()
	}
}

func putAhead(f *fixture) {
	ahead := func(i int) string { return numbered(i) + "/ahead" }
	for _, n := range sizes() {
		f.fill(n, numbered)
		seen := 0
		for key, err := range f.store.ScanKeys(f.ctx, col, nil) {
			f.must(err, "scan")
			if string(key) != numbered(seen) {
				f.Fatalf("of %d keys, number %d is %q, want %q", n, seen, key, numbered(seen))
			}
			f.put(ahead(seen), "") // just in front of the scan
			f.put("zzz", "")
			seen++
		}
		if got := len(f.keys("")); seen != n || got != 2*n+1 {
			f.Fatalf("%d keys visited, want %d; %d are there, want %d", seen, n, got, 2*n+1)
		}
		f.deletePrefix("")
		f.wantEmpty()
	}
}

func replaceValues(f *fixture) {
	const n = 300
	f.fill(n, numbered)
	seen := 0
	for e, err := range f.store.Scan(f.ctx, col, nil) {
		f.must(err, "Scan")
		if string(e.Value) != numbered(seen) {
			f.Fatalf("value %d is %q, want %q: it was replaced after the scan began", seen, e.Value, numbered(seen))
		}
		for i := seen; i < min(seen+3, n); i++ {
			f.put(numbered(i), "replaced")
		}
		seen++
	}
	for _, e := range f.scan("") {
		if e.value != "replaced" {
			f.Fatalf("%q is still %q", e.key, e.value)
		}
	}
}

// updateInAScan writes and reads in every way while a scan runs: had the scan a
// lock, the loop would wait for itself.
func updateInAScan(f *fixture) {
	const n = 20
	f.fill(n, numbered)
	f.within("writing in the body of a scan", func() {
		seen := 0
		for e, err := range f.store.Scan(f.ctx, col, nil) {
			f.must(err, "Scan")
			f.update(func(tx *fixture) {
				tx.delete(string(e.Key))
				tx.put("moved/"+string(e.Key), string(e.Value))
				tx.wantAbsent(string(e.Key))
			})
			f.must(kv.View(f.ctx, f.store, func(tx kv.KVStorage) error {
				f.on(tx).wantValue("moved/"+string(e.Key), string(e.Value))
				return nil
			}), "View")
			seen++
		}
		if seen != n {
			f.Fatalf("%d keys visited, want %d", seen, n)
		}
	})
	want, _ := ascending(n, func(i int) string { return "moved/" + numbered(i) })
	f.wantKeys("", want...)
}

// heldScansStayFrozen holds scans of each kind open, part way, while everything
// that they have yet to yield is changed.
func heldScansStayFrozen(f *fixture) {
	const n = 1000
	_, want := ascending(n, numbered)
	f.fill(n, numbered)
	backwards := slices.Clone(want)
	slices.Reverse(backwards)
	scans := []*heldScan{
		hold("Scan", f.store.Scan(f.ctx, col, nil), want),
		hold("ScanRange", kv.ScanRange(f.ctx, f.store, col, kv.Range{After: []byte(numbered(9))}), want[10:]),
		hold("ScanRange in reverse", kv.ScanRange(f.ctx, f.store, col, kv.Range{Reverse: true}), backwards),
	}
	for _, h := range scans {
		defer h.stop()
		h.advance(f, 5)
	}
	for i := 0; i < n; i += 2 {
		f.delete(numbered(i))
		f.put(numbered(i+1), "replaced")
		f.put(numbered(i)+"/new", "")
	}
	for _, h := range scans {
		h.advance(f, 100)
	}
	f.deletePrefix("")
	for _, h := range scans {
		h.advance(f, n+1)
	}
	f.wantEmpty()
}

// heldScan is a scan that is held open, and what it has yet to yield.
type heldScan struct {
	name string
	next func() (kv.Entry, error, bool)
	stop func()
	want []entry
}

func hold(name string, scan iter.Seq2[kv.Entry, error], want []entry) *heldScan {
	next, stop := iter.Pull2(scan)
	return &heldScan{name, next, stop, want}
}

// advance takes up to n entries of the scan, and its end when n is beyond it.
func (h *heldScan) advance(f *fixture, n int) {
	f.Helper()
	for range n {
		e, err, ok := h.next()
		f.must(err, "%s, held open", h.name)
		switch {
		case !ok && len(h.want) == 0:
			return
		case !ok:
			f.Fatalf("%s, held open, ends before %q", h.name, h.want[0].key)
		case len(h.want) == 0:
			f.Fatalf("%s, held open, goes on to %q, want its end", h.name, e.Key)
		case (entry{string(e.Key), string(e.Value)}) != h.want[0]:
			f.Fatalf("%s, held open, yields %q with %.40q, want %q", h.name, e.Key, e.Value, h.want[0])
		}
		h.want = h.want[1:]
	}
}
