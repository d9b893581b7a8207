package kv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// hostileNames are what people call things, and what they might.
func hostileNames() []string {
	return []string{
		"a", "a/b", "ab", "a%2Fb", "A", "", ".", "..", "a\x00b", "\u00e9", "e\u0301", // é, composed and not
		"a/", "/a", "/", "%", "%2", "%2F", "%25", "a%", "\x7f", "\x1f", " ", "\xff", "\xff\xff", "\xed\xa0\x80", "日本", "\\",
	}
}

func TestKeyForms(t *testing.T) {
	s := memkv.New()
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{nil, "local"},
		{[]string{"memory", "x"}, "local/memory/x"},
		{[]string{"memory", "a/b"}, "local/memory/a%2Fb"},
		{[]string{"memory", "a%2Fb"}, "local/memory/a%252Fb"},
		{[]string{"memory", ""}, "local/memory/"},
		{[]string{"", ""}, "local//"},
		{[]string{"a\x00\x1f\x7fb"}, "local/a%00%1F%7Fb"},
		{[]string{"é", "\xff", ".."}, "local/é/\xff/.."},
	} {
		if got := string(kv.Key(s, c.parts...)); got != c.want {
			t.Errorf("Key of %q is %q, want %q", c.parts, got, c.want)
		}
		if got := string(kv.Prefix(s, c.parts...)); got != c.want+"/" {
			t.Errorf("Prefix of %q is %q, want %q", c.parts, got, c.want+"/")
		}
	}
	if got, want := string(kv.Key(memkv.Open(memkv.Options{Realm: "a/b"}), "x")), "a%2Fb/x"; got != want {
		t.Errorf("a realm with a slash: %q, want %q", got, want)
	}
	if got, want := kv.Join("a", "b/c", ""), "a/b%2Fc/"; got != want {
		t.Errorf("Join: %q, want %q", got, want)
	}
}

func TestD15_NamesAreEntriesOfTheirOwn(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	names := hostileNames()
	for _, name := range names {
		put(t, s, string(kv.Key(s, "memory", name)), name)
		put(t, s, string(kv.Key(s, "session", name, "meta")), name)
	}
	if got := len(scanned(t, s, "")); got != 2*len(names) {
		t.Fatalf("%d names made %d keys, want two each", len(names), got)
	}
	for _, name := range names {
		value, err := s.Get(ctx, kv.Memory, kv.Key(s, "memory", name))
		if err != nil || string(value) != name {
			t.Errorf("memory %q holds %q, %v", name, value, err)
		}
		if got := scanned(t, s, string(kv.Prefix(s, "session", name))); len(got) != 1 || got[0] != name {
			t.Errorf("below session %q are those of %q", name, got)
		}
	}
	if got := scanned(t, s, string(kv.Prefix(s, "memory"))); len(got) != len(names) {
		t.Errorf("listing all memories gives %d of %d", len(got), len(names))
	}
	for _, name := range names {
		existed, err := s.Delete(ctx, kv.Memory, kv.Key(s, "memory", name))
		if !existed || err != nil {
			t.Errorf("deleting %q: %v, %v; another deletion took it", name, existed, err)
		}
	}
}

func TestD15_ListingOneNameShowsNoOther(t *testing.T) {
	s := memkv.New()
	for _, parts := range [][]string{{"x"}, {"x", "y"}, {"xy"}, {"x/y"}, {"X"}} {
		put(t, s, string(kv.Key(s, parts...)), strings.Join(parts, "+"))
	}
	if got := scanned(t, s, string(kv.Prefix(s, "x"))); !slices.Equal(got, []string{"x+y"}) {
		t.Fatalf("below x: %q", got)
	}
	if a, b := kv.Key(s, "a", "b/c"), kv.Key(s, "a/b", "c"); bytes.Equal(a, b) {
		t.Fatalf("two different names are one key %q", a)
	}
}

func TestSplitRefusesWhatKeyDoesNotMake(t *testing.T) {
	for _, key := range []string{
		"a/%", "a/%2", "a/%2f", "a/%2G", "a/%41", "a/%%", "a/b\x00", "a\x1f", "\x7f", "%2F%", "a/%2F%4", "a%0a",
	} {
		if realm, parts, err := kv.Split([]byte(key)); !errors.Is(err, kv.ErrMalformedKey) {
			t.Errorf("Split of %q: %q, %q, %v; want ErrMalformedKey", key, realm, parts, err)
		}
	}
}

func TestSplitIsTheInverseOfKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.SampledFrom(hostileNames()), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		realm := part.Filter(func(s string) bool { return s != "" }).Draw(t, "realm")
		parts := rapid.SliceOf(part).Draw(t, "parts")
		key := kv.Key(memkv.Open(memkv.Options{Realm: realm}), parts...)
		gotRealm, gotParts, err := kv.Split(key)
		if err != nil || gotRealm != realm || !slices.Equal(gotParts, parts) {
			t.Fatalf("Key of %q, %q is %q, which splits into %q, %q, %v", realm, parts, key, gotRealm, gotParts, err)
		}
		if len(parts) == 0 {
			return
		}
		if got, err := kv.SplitParts(kv.Join(parts...)); err != nil || !slices.Equal(got, parts) {
			t.Fatalf("Join of %q is %q, which splits into %q, %v", parts, kv.Join(parts...), got, err)
		}
	})
}

func FuzzSplit(f *testing.F) {
	for _, name := range hostileNames() {
		f.Add([]byte("local/memory/" + name))
		f.Add(kv.Key(memkv.New(), "memory", name))
	}
	f.Fuzz(func(t *testing.T, key []byte) {
		realm, parts, err := kv.Split(key)
		if err != nil {
			if !errors.Is(err, kv.ErrMalformedKey) {
				t.Fatalf("Split of %q: %v", key, err)
			}
			return
		}
		if again := kv.Join(append([]string{realm}, parts...)...); again != string(key) {
			t.Fatalf("%q splits into %q, %q, which make %q", key, realm, parts, again)
		}
	})
}

func TestPrefixEnd(t *testing.T) {
	for prefix, want := range map[string]string{
		"a": "b", "a/": "a0", "a\xff": "b", "a\xff\xff": "b", "\x03\xaa\xff": "\x03\xab", "\x03\xff\xff": "\x04",
		"\x00": "\x01", "\xfe\xff": "\xff", "ab": "ac",
	} {
		given := []byte(prefix)
		if got := kv.PrefixEnd(given); string(got) != want {
			t.Errorf("PrefixEnd of %q is %q, want %q", prefix, got, want)
		}
		if string(given) != prefix {
			t.Errorf("PrefixEnd changed its argument %q to %q", prefix, given)
		}
	}
	for _, prefix := range []string{"", "\xff", "\xff\xff\xff"} {
		if got := kv.PrefixEnd([]byte(prefix)); got != nil {
			t.Errorf("PrefixEnd of %q is %q, want nil: nothing lies behind", prefix, got)
		}
	}
}

func TestPrefixEndDividesKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(rapid.SampledFrom([]byte{0x00, 'a', 0xFE, 0xFF}), 0, 5)
		prefix, key := some.Draw(t, "prefix"), some.Draw(t, "key")
		end := kv.PrefixEnd(prefix)
		below := bytes.Compare(key, prefix) >= 0 && (end == nil || bytes.Compare(key, end) < 0)
		if below != bytes.HasPrefix(key, prefix) {
			t.Fatalf("%x in [%x, %x) is %v, has the prefix: %v", key, prefix, end, below, !below)
		}
	})
}

func TestColumns(t *testing.T) {
	// The numbers are on disk in existing files.
	want := []string{"agent", "session", "memory", "skill", "harness", "config", "text", "run", "artifact", "archive"}
	for i, c := range kv.Columns() {
		if int(c) != i || c.String() != want[i] {
			t.Errorf("column %d is %s, want %s", c, c, want[i])
		}
	}
	if got := kv.Column(200).String(); got != "column 200" {
		t.Errorf("a column without a name is %q", got)
	}
}

func TestLimitsAreNamedInErrors(t *testing.T) {
	err := kv.CheckKey(bytes.Repeat([]byte("k"), kv.MaxKeySize+1))
	if !errors.Is(err, kv.ErrKeyTooLarge) || !strings.Contains(err.Error(), "1025") || !strings.Contains(err.Error(), "1024") {
		t.Errorf("CheckKey: %v; want both sizes in it", err)
	}
	err = kv.CheckValue(make([]byte, 11), 10)
	if !errors.Is(err, kv.ErrValueTooLarge) || !strings.Contains(err.Error(), "11") || !strings.Contains(err.Error(), "10") {
		t.Errorf("CheckValue: %v; want both sizes in it", err)
	}
}

func put(t testing.TB, s kv.KVStorage, key, value string) {
	t.Helper()
	if err := s.Put(context.Background(), kv.Memory, []byte(key), []byte(value)); err != nil {
		t.Fatalf("Put %q: %v", key, err)
	}
}

// scanned returns the values below a prefix.
func scanned(t testing.TB, s kv.KVStorage, prefix string) []string {
	t.Helper()
	var values []string
	for e, err := range s.Scan(context.Background(), kv.Memory, []byte(prefix)) {
		if err != nil {
			t.Fatalf("Scan %q: %v", prefix, err)
		}
		values = append(values, string(e.Value))
	}
	return values
}

func BenchmarkKey(b *testing.B) {
	s := memkv.New()
	for b.Loop() {
		kv.Key(s, "session", "01JDXW3V8Q6N8Y1R2T3S4V5W6X", "msg", "000000000042")
	}
}

func BenchmarkSplit(b *testing.B) {
	key := kv.Key(memkv.New(), "session", "01JDXW3V8Q6N8Y1R2T3S4V5W6X", "msg", "000000000042")
	for b.Loop() {
		if _, _, err := kv.Split(key); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleKey() {
	s := memkv.New()
	fmt.Printf("%s\n", kv.Key(s, "memory", "a/b"))
	fmt.Printf("%s\n", kv.Prefix(s, "memory"))
	// Output:
	// local/memory/a%2Fb
	// local/memory/
}
