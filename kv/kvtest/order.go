package kvtest

import (
	"slices"
	"strings"

	"github.com/crabstore/crabstore/kv"
)

func orderPromises() []promise {
	return []promise{
		{name: "ScansAscendInByteOrder", test: scansAscendInByteOrder, everywhere: true},
		{name: "B02_NoByteOfAPrefixIsAWildcard", test: noWildcards, everywhere: true},
		{name: "B03_PrefixesHaveTheRightEnd", test: prefixesHaveTheRightEnd, everywhere: true},
	}
}

// inByteOrder is ordered as no locale, no case folding and no normal form orders
// it: by the bytes.
func inByteOrder() []string {
	return []string{
		"\x00", "\x00\x00", "\x00\xff", "\x01", " ", "%", "/", "0", "10", "9", "A", "A\x00", "AB", "B", "Z", "_",
		"a", "a\x00", "a\x00b", "a/", "a/b", "aB", "a_", "aa", "ab", "b",
		"e\u0301", // é in two code points: 65 CC 81
		"z", "\x7f", "\x80",
		"\u00e9",     // é in one: C3 A9
		"\u65e5",     // E6 97 A5
		"\uffff",     // EF BF BF: before the next, which is not so in UTF-16
		"\U0001f980", // F0 9F A6 80
		"\xfe", "\xff", "\xff\x00", "\xff\xff",
	}
}

func scansAscendInByteOrder(f *fixture) {
	want := inByteOrder()
	for _, key := range slices.Backward(want) {
		f.put(key, "of "+key)
	}
	f.wantKeys("", want...)
	var entries []entry
	for _, key := range want {
		entries = append(entries, entry{key, "of " + key})
	}
	f.wantScan("", entries...)
	f.wantRange(col, entries, kv.Range{Reverse: true})
}

func noWildcards(f *fixture) {
	keys := []string{
		"A_b/1", "a%/1", `a\b/1`, "aXb/1", "a_b/1", "abc/1", // as the report has them
		"a*/1", "a?/1", "a[b]/1", "a.b/1", "a%25/1", "ab%", "_", "%",
	}
	slices.Sort(keys)
	for _, key := range keys {
		f.put(key, key)
	}
	for _, prefix := range []string{"a_b/", "a%/", `a\`, "a", "A", "_", "%", "a*", "a?", "a[", "a.", "a%25"} {
		f.wantKeys(prefix, withPrefix(keys, prefix)...)
	}
	for _, prefix := range []string{"a_b/", "a%/", `a\`} {
		f.deletePrefix(prefix)
	}
	f.wantKeys("", slices.DeleteFunc(keys, func(key string) bool {
		return key == "a_b/1" || key == "a%/1" || key == `a\b/1`
	})...)
}

func withPrefix(keys []string, prefix string) []string {
	var with []string
	for _, key := range keys {
		if strings.HasPrefix(key, prefix) {
			with = append(with, key)
		}
	}
	return with
}

func (f *fixture) deletePrefix(prefix string) {
	f.Helper()
	for key, err := range f.store.ScanKeys(f.ctx, col, []byte(prefix)) {
		f.must(err, "scan of %q", prefix)
		if !f.delete(string(key)) {
			f.Fatalf("scan of %q yielded the absent key %q", prefix, key)
		}
	}
}

func prefixesHaveTheRightEnd(f *fixture) {
	prefixes := []string{"", "\xff", "\xff\xff", "\x03\xaa\xff", "\x03\xff\xff"}
	all := map[string]bool{"\x03\xab": true, "\x03\xab\x00": true, "\x04": true}
	for _, p := range prefixes {
		for _, end := range []string{"", "\x00", "\xff", "\xff\xff"} {
			all[p+end] = true
		}
	}
	delete(all, "") // no key
	var keys []string
	for key := range all {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	entries := f.putAll(keys)
	for _, p := range prefixes {
		f.wantKeys(p, withPrefix(keys, p)...)
		for _, r := range []kv.Range{{Prefix: []byte(p)}, {Prefix: []byte(p), Reverse: true}} {
			f.wantRange(col, entries, r)
		}
	}
	for _, p := range slices.Backward(prefixes) {
		f.deletePrefix(p)
		keys = slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, p) })
		f.wantKeys("", keys...)
	}
}

// putAll puts keys, with values that name them, and returns them as entries.
func (f *fixture) putAll(keys []string) []entry {
	f.Helper()
	var entries []entry
	for _, key := range keys {
		f.put(key, "of "+key)
		entries = append(entries, entry{key, "of " + key})
	}
	return entries
}
