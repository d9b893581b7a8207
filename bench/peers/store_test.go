package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// An adapter must do what store promises, in each mode, and still after compaction
// and reopening.
func TestAdapters(t *testing.T) {
	for _, e := range engines() {
		for _, m := range []mode{{}, {synced: true}, {manual: true}} {
			t.Run(fmt.Sprintf("%s/%+v", e.name, m), func(t *testing.T) { testAdapter(t, e, m) })
		}
	}
}

func testAdapter(t *testing.T, e engine, m mode) {
	dir := t.TempDir()
	db := must(e.open(dir, m))(t)
	check(t, db.put([]byte("a/1"), []byte("old")))
	check(t, db.put([]byte("a/1"), []byte("one")))
	check(t, db.putBatch([]entry{{[]byte("a/3"), []byte("three")}, {[]byte("a/2"), []byte("two")}, {[]byte("b/1"), []byte{}}}))
	check(t, db.put([]byte("a/4"), []byte("four")))
	check(t, db.delete([]byte("a/4")))
	check(t, db.delete([]byte("a/5")))
	checkContents(t, db)
	check(t, db.compact())
	checkContents(t, db)
	check(t, db.close())
	db = must(e.open(dir, m))(t)
	checkContents(t, db)
	check(t, db.close())
}

func checkContents(t *testing.T, db store) {
	t.Helper()
	one := must(db.get([]byte("a/1"), make([]byte, 0, 64)))(t)
	two := must(db.get([]byte("a/2"), nil))(t)
	if string(one) != "one" || string(two) != "two" {
		t.Errorf("got %q and %q", one, two)
	}
	copy(one, "xxx") // it is a copy
	if again := must(db.get([]byte("a/1"), nil))(t); string(again) != "one" {
		t.Errorf("changing a value changed the store: %q", again)
	}
	for _, key := range []string{"a/4", "a/5", "a", "a/"} {
		if _, err := db.get([]byte(key), nil); !errors.Is(err, errAbsent) {
			t.Errorf("get %s: %v, want absent", key, err)
		}
	}
	for _, c := range []struct {
		prefix string
		values bool
		want   []string
	}{
		{"a/", true, []string{"a/1=one", "a/2=two", "a/3=three"}},
		{"a/", false, []string{"a/1=", "a/2=", "a/3="}},
		{"a/2", true, []string{"a/2=two"}},
		{"c", true, nil},
	} {
		var got []string
		check(t, db.scan([]byte(c.prefix), c.values, func(key, value []byte) {
			got = append(got, string(key)+"="+string(value))
		}))
		if !slices.Equal(got, c.want) {
			t.Errorf("scan of %s: %q, want %q", c.prefix, got, c.want)
		}
	}
}

func TestPrefixEnd(t *testing.T) {
	for _, c := range []struct{ prefix, want []byte }{
		{[]byte("a/"), []byte("a0")},
		{[]byte{'a', 0xff}, []byte{'b'}},
		{[]byte{0xff, 0xff}, nil},
		{nil, nil},
	} {
		if got := prefixEnd(c.prefix); !bytes.Equal(got, c.want) {
			t.Errorf("behind %q is %q, want %q", c.prefix, got, c.want)
		}
	}
}

// must returns the value of a call that may not fail.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		check(t, err)
		return value
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
