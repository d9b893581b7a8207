package kvtest

import (
	"strings"

	"github.com/crabstore/crabstore/kv"
)

func valuePromises() []promise {
	return []promise{
		{name: "A25_EmptyIsNotAbsent", test: emptyIsNotAbsent, everywhere: true},
		{name: "B06_AnyBytesRoundTrip", test: anyBytesRoundTrip, everywhere: true},
		{name: "LargeValuesRoundTrip", test: largeValuesRoundTrip, everywhere: true},
	}
}

func emptyIsNotAbsent(f *fixture) {
	f.must(f.store.Put(f.ctx, col, []byte("empty"), []byte{}), "Put of an empty value")
	f.must(f.store.Put(f.ctx, col, []byte("nil"), nil), "Put of a nil value")
	f.put("shrunk", "something")
	f.put("shrunk", "")
	f.wantEmptyValues("empty", "nil", "shrunk")
	f.wantAbsent("absent")
}

// wantEmptyValues wants exactly these keys, with values that are empty and not nil.
func (f *fixture) wantEmptyValues(keys ...string) {
	f.Helper()
	for _, key := range keys {
		value, err := f.store.Get(f.ctx, col, []byte(key))
		if err != nil || value == nil || len(value) > 0 {
			f.Fatalf("Get of the empty value of %q: %#v, %v; want one that is empty and not nil", key, value, err)
		}
	}
	seen := 0
	for e, err := range f.store.Scan(f.ctx, col, nil) {
		f.must(err, "Scan")
		if e.Value == nil || len(e.Value) > 0 {
			f.Fatalf("Scan: %q has the value %#v, want one that is empty and not nil", e.Key, e.Value)
		}
		seen++
	}
	if seen != len(keys) {
		f.Fatalf("Scan yielded %d entries, want %d", seen, len(keys))
	}
	f.wantKeys("", keys...)
}

func anyBytesRoundTrip(f *fixture) {
	values := []string{
		"\x00", "\x00\x00", "\xff\xfe", "a\x00b", "\xed\xa0\x80", "\xc0\x80", // a surrogate, an overlong form
		`{"json":"\u0000"}`, "'; drop table x; --", "\r\n", "\x1a", everyByte(),
	}
	for _, value := range values {
		f.put(value, value)
	}
	for _, value := range values {
		f.wantValue(value, value)
		f.wantScan(value, brute(f.scan(""), kv.Range{Prefix: []byte(value)})...)
	}
	for _, e := range f.scan("") {
		if e.key != e.value {
			f.Fatalf("Scan yields the key %q with the value %q", e.key, e.value)
		}
	}
	if got := len(f.keys("")); got != len(values) {
		f.Fatalf("%d keys, want %d", got, len(values))
	}
}

func everyByte() string {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return string(all)
}

// largeValuesRoundTrip goes to 1 MiB always, and in a long run to 8 MiB or the
// store's own limit.
func largeValuesRoundTrip(f *fixture) {
	sizes := []int{4095, 4096, 65535, 65536, 1 << 20}
	if limit := min(f.MaxValue, 8<<20); pick(100) == 100 && limit > 1<<20 {
		sizes = append(sizes, limit)
	}
	for i, size := range sizes {
		value := strings.Repeat(everyByte(), size/256+1)[:size]
		f.put(numbered(i), value)
		if f.get(numbered(i)) != value {
			f.Fatalf("a value of %d bytes came back as another", size)
		}
	}
	i := 0
	for e, err := range f.store.Scan(f.ctx, col, nil) {
		f.must(err, "Scan")
		if len(e.Value) != sizes[i] || string(e.Key) != numbered(i) {
			f.Fatalf("Scan yields %q with %d bytes, want %q with %d", e.Key, len(e.Value), numbered(i), sizes[i])
		}
		i++
	}
}
