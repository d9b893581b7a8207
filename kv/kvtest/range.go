package kvtest

import (
	"errors"
	"slices"

	"github.com/crabstore/crabstore/kv"
)

func rangePromises() []promise {
	return []promise{
		{name: "RangesEqualAFilter", test: rangesEqualAFilter, everywhere: true},
		{name: "KeysOnlyHasNoValues", test: keysOnlyHasNoValues, everywhere: true},
		{name: "Last", test: last, everywhere: true},
	}
}

// wantRange compares a ScanRange with a filter over all entries of the column.
func (f *fixture) wantRange(c kv.Column, all []entry, r kv.Range) {
	f.Helper()
	got, want := f.collect(kv.ScanRange(f.ctx, f.store, c, r)), brute(all, r)
	if !slices.Equal(got, want) {
		f.Fatalf("ScanRange of %s, prefix %.40q, after %.40q (nil: %v), reverse %v, keys only %v:\ngot  %s\nwant %s",
			c, r.Prefix, r.After, r.After == nil, r.Reverse, r.KeysOnly, brief(got), brief(want))
	}
}

// rangesEqualAFilter tries every combination of a prefix, an After and the flags
// over keys that are each other's prefixes and neighbours.
func rangesEqualAFilter(f *fixture) {
	keys := []string{
		"\x00", "a", "a\x00", "a\x00\x00", "a\x01", "a/1", "a/2", "a/2/x", "aa", "a\xff", "a\xff\xff", "b",
		"b/", "b/1", "c", "\xfe\xff", "\xff", "\xff\x00", "\xff\xff", "\xff\xff\xff",
	}
	all := f.putAll(keys)
	bounds := append([]string{"", "0", "a/", "a/0", "a/2/", "a/3", "a\xfe", "az", "b/0", "d", "\xfe", "\xff\xff\xff\xff"}, keys...)
	prefixes := []string{"", "a", "a\x00", "a/", "a/2", "a\xff", "b/", "nothing", "\xff", "\xff\xff", "\xff\xff\xff\xff"}
	for _, prefix := range prefixes {
		for i := range 4 {
			r := kv.Range{Prefix: []byte(prefix), Reverse: i&1 > 0, KeysOnly: i&2 > 0}
			f.wantRange(col, all, r)
			for _, after := range bounds {
				r.After = []byte(after)
				f.wantRange(col, all, r)
			}
		}
	}
}

func keysOnlyHasNoValues(f *fixture) {
	f.fill(5, numbered)
	f.put("empty", "")
	for e, err := range kv.ScanRange(f.ctx, f.store, col, kv.Range{KeysOnly: true}) {
		f.must(err, "ScanRange")
		if e.Value != nil {
			f.Fatalf("keys only: %q has the value %q, want nil", e.Key, e.Value)
		}
	}
	for e, err := range kv.ScanRange(f.ctx, f.store, col, kv.Range{}) {
		f.must(err, "ScanRange")
		if e.Value == nil {
			f.Fatalf("%q has the value nil; only a scan of keys has that", e.Key)
		}
	}
}

func last(f *fixture) {
	_, err := kv.Last(f.ctx, f.store, col, nil)
	f.wantError(err, kv.ErrNotFound, "Last of an empty column")
	all := f.putAll([]string{"a", "a/1", "a/2", "a/2/x", "aa", "b", "\xff", "\xff\xff"})
	for _, prefix := range []string{"", "a", "a/", "a/2", "a/2/x", "b", "b/", "0", "c", "\xff", "\xff\xff", "\xff\xff\xff"} {
		want := brute(all, kv.Range{Prefix: []byte(prefix), Reverse: true})
		e, err := kv.Last(f.ctx, f.store, col, []byte(prefix))
		switch {
		case len(want) == 0 && errors.Is(err, kv.ErrNotFound):
		case len(want) == 0 || err != nil:
			f.Fatalf("Last %q: %q, %v; want %q", prefix, e.Key, err, want)
		case (entry{string(e.Key), string(e.Value)}) != want[0]:
			f.Fatalf("Last %q: %q with %q, want %q", prefix, e.Key, e.Value, want[0])
		}
	}
}
