package packtree

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// pair is an entry of the model.
type pair struct {
	key   string
	value uint64
}

// model is the independent answer: a map, sorted when asked for order.
type model map[string]uint64

func (m model) sorted() []pair {
	pairs := make([]pair, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, pair{k, v})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
	return pairs
}

// small are limits under which a few hundred keys make a deep tree.
var small = limits{leafBytes: 64, manyBytes: 256, maxChildren: 4}

func newSmall() *Tree { return &Tree{limits: small, version: 1} }

// seed returns a fresh seed, and prints it with a failure.
func seed(t testing.TB) *rand.Rand {
	s := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", s)
		}
	})
	return rand.New(rand.NewPCG(s, 0))
}

// check compares a view with the model, through every way of reading.
func check(t testing.TB, v View, m model) {
	t.Helper()
	want := m.sorted()
	if v.Len() != len(want) {
		t.Fatalf("Len = %d, want %d", v.Len(), len(want))
	}
	i := 0
	c := v.Cursor()
	for ok := c.Seek(nil); ok; ok = c.Next() {
		if i == len(want) || string(c.Key()) != want[i].key || c.Value() != want[i].value {
			t.Fatalf("entry %d forwards is %q = %d, want %v", i, c.Key(), c.Value(), want[min(i, len(want)-1)])
		}
		i++
	}
	if i != len(want) {
		t.Fatalf("%d entries forwards, want %d", i, len(want))
	}
	for ok := c.SeekLast(); ok; ok = c.Prev() {
		i--
		if i < 0 || string(c.Key()) != want[i].key || c.Value() != want[i].value {
			t.Fatalf("entry %d backwards is %q = %d, want %v", i, c.Key(), c.Value(), want[max(i, 0)])
		}
	}
	if i != 0 {
		t.Fatalf("%d entries left over backwards", i)
	}
	for _, p := range want {
		if value, ok := v.Get([]byte(p.key)); !ok || value != p.value {
			t.Fatalf("Get(%q) = %d, %v, want %d", p.key, value, ok, p.value)
		}
	}
}

func TestRandomHistory(t *testing.T) {
	r := seed(t)
	tree, m := newSmall(), model{}
	for i := range 20000 {
		key := fmt.Sprintf("k%d", r.IntN(2000))
		if r.IntN(1000) == 0 { tree.View() }
		if r.IntN(3) == 0 {
			old, ok := tree.Delete([]byte(key))
			was, had := m[key]
			if ok != had || old != was { t.Fatal(i, key, ok, had, old, was) }
			delete(m, key)
		} else {
			v := r.Uint64() >> r.IntN(64)
			old, ok := tree.Set([]byte(key), v)
			was, had := m[key]
			if ok != had || old != was { t.Fatal(i, key, ok, had, old, was) }
			m[key] = v
		}
	}
	check(t, tree.View(), m)
}
