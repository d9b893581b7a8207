package packtree

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCursorFromEveryPosition seeks every key of a deep tree, every key just
// above and just below one, and walks from each to both ends.
func TestCursorFromEveryPosition(t *testing.T) {
	m := model{"": 1, "\x00": 2, "\xff": 3, "\xff\xff": 4}
	for i := range 60 {
		m[fmt.Sprintf("k%d", i*7)] = uint64(i)
		m[strings.Repeat("p", i)] = uint64(i)
	}
	tree := newTree(small)
	for key, value := range m {
		tree.Set([]byte(key), value)
	}
	want := m.sorted()
	view := tree.View()
	for at, p := range want {
		seeks(t, view, want, []byte(p.key))
		seeks(t, view, want, []byte(p.key+"\x00"))
		seeks(t, view, want, []byte(p.key+"\xff"))
		if n := len(p.key); n > 0 {
			seeks(t, view, want, []byte(p.key[:n-1]))
			seeks(t, view, want, append([]byte(p.key[:n-1]), p.key[n-1]-1, 0xff))
		}
		walk(t, view, want, at, (*Cursor).Next, 1)
		walk(t, view, want, at, (*Cursor).Prev, -1)
	}
	seeks(t, view, want, []byte("\xff\xff\xff"))
}

// walk goes from the entry with index at to one end and expects to see all.
func walk(t *testing.T, v View, want []pair, at int, move func(*Cursor) bool, step int) {
	t.Helper()
	c := v.Cursor()
	for ok := c.Seek([]byte(want[at].key)); ok; ok = move(c) {
		if string(c.Key()) != want[at].key || c.Value() != want[at].value {
			t.Fatalf("%q = %d, want %v", c.Key(), c.Value(), want[at])
		}
		at += step
	}
	if at != -1 && at != len(want) {
		t.Fatalf("the walk ended before entry %d", at)
	}
	if c.Valid() || c.Next() || c.Prev() || c.Valid() {
		t.Fatal("a cursor past the end came to life")
	}
}

// TestCursorTurns moves at random and compares each position.
func TestCursorTurns(t *testing.T) {
	r := random(t)
	for _, kind := range kinds {
		m, tree := model{}, newTree(small)
		for range 300 {
			key := kind.draw(r)
			m[key] = drawValue(r)
			tree.Set([]byte(key), m[key])
		}
		want := m.sorted()
		at := r.IntN(len(want))
		c := tree.View().Cursor()
		c.Seek([]byte(want[at].key))
		for range 2000 {
			if r.IntN(2) == 0 && at+1 < len(want) {
				at++
				c.Next()
			} else if at > 0 {
				at--
				c.Prev()
			}
			if string(c.Key()) != want[at].key || c.Value() != want[at].value {
				t.Fatalf("%s: %q = %d, want %v", kind.name, c.Key(), c.Value(), want[at])
			}
		}
	}
}

func TestCursorOfNothing(t *testing.T) {
	for _, v := range []View{{}, New().View()} {
		c := v.Cursor()
		if c.Valid() || c.Next() || c.Prev() || c.Seek(nil) || c.Seek([]byte("a")) || c.SeekBefore([]byte("a")) || c.SeekLast() {
			t.Error("a cursor over an empty view is at an entry")
		}
		if _, ok := v.Get(nil); ok || v.Len() != 0 || v.Bytes() != 0 {
			t.Error("an empty view holds something")
		}
	}
}

// TestCursorSeeksItsOwnKey seeks with the cursor's memory, and with a key made
// by appending to it.
func TestCursorSeeksItsOwnKey(t *testing.T) {
	tree := newTree(small)
	var want, got []string
	for i := range 200 {
		key := fmt.Sprintf("local/session/%03d", i)
		tree.Set([]byte(key), 0)
		want = append(want, key)
	}
	c := tree.View().Cursor()
	var after []byte
	for ok := c.Seek(nil); ok; ok = c.Seek(after) {
		if key := bytes.Clone(c.Key()); !c.Seek(c.Key()) || !bytes.Equal(c.Key(), key) {
			t.Fatalf("seeking %q from itself gives %q", key, c.Key())
		}
		got = append(got, string(c.Key()))
		after = append(c.Key(), 0)
		if c.Next(); string(after) != got[len(got)-1]+"\x00" {
			t.Fatalf("what was appended to %q became %q", got[len(got)-1], after)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestCursorKeyGrowsBackwards goes from a short key back to a long one, so that
// the cursor's memory has to grow while the beginning of that key is in it and
// in no entry that is looked at.
func TestCursorKeyGrowsBackwards(t *testing.T) {
	tree := New()
	long := strings.Repeat("a", 500)
	keys := []string{"aA", long + "a", long + "b", "aab"}
	for i, key := range keys {
		tree.Set([]byte(key), uint64(i))
	}
	c := tree.View().Cursor()
	c.Seek([]byte("aab"))
	for i := len(keys) - 1; i >= 0; i-- {
		if string(c.Key()) != keys[i] {
			t.Fatalf("entry %d is %q", i, c.Key())
		}
		c.Prev()
	}
}
