package kvtest

import (
	"iter"
	"slices"
	"strconv"

	"github.com/crabstore/crabstore/kv"
)

func scanPromises() []promise {
	return []promise{
		{name: "ScanOfNothing", test: scanOfNothing, everywhere: true},
		{name: "ScanStopsEarly", test: scanStopsEarly, everywhere: true},
		{name: "RangingAgainScansAnew", test: rangingAgainScansAnew, everywhere: true},
		{name: "ScansNest", test: scansNest, everywhere: true},
		{name: "LongScans", test: longScans, everywhere: true},
	}
}

func scanOfNothing(f *fixture) {
	f.wantEmpty()
	f.wantScan("")
	f.put("b", "")
	f.wantScan("a")
	f.wantScan("b\x00")
	f.wantScan("c")
	f.wantKeys("ba")
}

// scanStopsEarly leaves scans after each number of entries, and then writes: what
// a scan holds on to would be in the way. Each round deletes the first key.
func scanStopsEarly(f *fixture) {
	const n = 50
	f.fill(n, numbered)
	for stop := range n {
		seen := 0
		for e, err := range f.store.Scan(f.ctx, col, nil) {
			f.must(err, "Scan")
			if want := numbered(stop + seen); string(e.Key) != want {
				f.Fatalf("got %q, want %q", e.Key, want)
			}
			if seen++; seen > stop {
				break
			}
		}
		f.put(numbered(stop), "new")
		for range f.store.ScanKeys(f.ctx, col, nil) {
			break
		}
		for range kv.ScanRange(f.ctx, f.store, col, kv.Range{Reverse: true}) {
			break
		}
		if !f.delete(numbered(stop)) {
			f.Fatalf("%q is absent", numbered(stop))
		}
	}
	f.wantEmpty()
}

func rangingAgainScansAnew(f *fixture) {
	f.put("a", "1")
	keys, entries := f.store.ScanKeys(f.ctx, col, nil), f.store.Scan(f.ctx, col, nil)
	inRange := kv.ScanRange(f.ctx, f.store, col, kv.Range{Reverse: true})
	want := []entry{{"a", "1"}}
	for i := range 3 {
		var wantKeys []string
		for _, e := range want {
			wantKeys = append(wantKeys, e.key)
		}
		if got := f.collectKeys(keys); !slices.Equal(got, wantKeys) {
			f.Fatalf("round %d of ScanKeys yields %q, want %q", i, got, wantKeys)
		}
		if got := f.collect(entries); !slices.Equal(got, want) {
			f.Fatalf("round %d of Scan yields %q, want %q", i, got, want)
		}
		got := f.collect(inRange)
		slices.Reverse(got)
		if !slices.Equal(got, want) {
			f.Fatalf("round %d of ScanRange yields, in reverse, %q, want %q", i, got, want)
		}
		f.put("b"+strconv.Itoa(i), "2")
		want = append(want, entry{"b" + strconv.Itoa(i), "2"})
	}
}

func scansNest(f *fixture) {
	const n = 12
	keys, _ := ascending(n, numbered)
	f.fill(n, numbered)
	pairs := 0
	for outer, err := range f.store.ScanKeys(f.ctx, col, nil) {
		f.must(err, "outer scan")
		inner := f.keys("key/")
		if !slices.Equal(inner, keys) || string(outer) != keys[pairs/n] {
			f.Fatalf("at %q the inner scan yields %q", outer, inner)
		}
		pairs += len(inner)
	}
	if pairs != n*n {
		f.Fatalf("%d pairs, want %d", pairs, n*n)
	}
	f.pulledInTurn(keys)
}

// pulledInTurn has two scans advance in turn.
func (f *fixture) pulledInTurn(keys []string) {
	f.Helper()
	first, stopFirst := iter.Pull2(f.store.ScanKeys(f.ctx, col, nil))
	defer stopFirst()
	second, stopSecond := iter.Pull2(f.store.Scan(f.ctx, col, nil))
	defer stopSecond()
	for _, want := range keys {
		key, err, ok := first()
		e, err2, ok2 := second()
		if !ok || !ok2 || err != nil || err2 != nil || string(key) != want || string(e.Key) != want {
			f.Fatalf("two scans in turn: got %q, %v and %q, %v; want %q", key, err, e.Key, err2, want)
		}
	}
	if _, _, ok := first(); ok {
		f.Fatalf("a scan goes on behind the last key")
	}
}

// longScans has enough entries for every way in which a store fetches them in
// parts, and looks for one missed or doubled where the parts meet.
func longScans(f *fixture) {
	n := pick(5000)
	keys, want := ascending(n, numbered)
	f.fill(n, numbered)
	f.wantKeys("key/", keys...)
	f.wantScan("", want...)
	f.wantRange(col, want, kv.Range{Reverse: true, KeysOnly: true})
	f.wantRange(col, want, kv.Range{After: []byte(keys[n/3])})
}
