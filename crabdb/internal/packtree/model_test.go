package packtree

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pair is an entry as the model and the tests' own decoder see it.
type pair struct {
	key   string
	value uint64
}

// model is the independent answer: a map, sorted when order is asked for.
type model map[string]uint64

func (m model) sorted() []pair {
	pairs := make([]pair, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, pair{key, m[key]})
	}
	return pairs
}

// small are limits under which a few hundred keys make a deep tree.
var small = limits{leafBytes: 64, manyBytes: 256, maxChildren: 4}

func newTree(l limits) *Tree { return &Tree{limits: l, version: firstVersion} }

// random returns a source of chance; if the test fails it says with which seed.
func random(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// kinds are ways to draw keys, each from few enough that they come up again.
var kinds = []struct {
	name string
	draw func(r *rand.Rand) string
}{
	{"numbers", func(r *rand.Rand) string { return fmt.Sprint(r.IntN(3000)) }},
	{"sessions", func(r *rand.Rand) string {
		return fmt.Sprintf("local/session/01HF7YAT%02d/msg/%012d", r.IntN(40), r.IntN(60))
	}},
	{"prefixes of each other", func(r *rand.Rand) string { return strings.Repeat("a", r.IntN(300)) }},
	{"zeros and 0xff", func(r *rand.Rand) string {
		key := make([]byte, r.IntN(10))
		for i := range key {
			key[i] = byte(-r.IntN(2))
		}
		return string(key)
	}},
	{"any bytes", func(r *rand.Rand) string {
		return string([]byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}[:r.IntN(4)])
	}},
	{"long", func(r *rand.Rand) string {
		return strings.Repeat("p", 100*r.IntN(11)) + strings.Repeat(string(rune('a'+r.IntN(4))), r.IntN(100))
	}},
	{"lengths about 128", func(r *rand.Rand) string {
		return strings.Repeat("p", 120+r.IntN(16)) + strings.Repeat(string(rune('a'+r.IntN(4))), 120+r.IntN(16))
	}},
	{"larger than a leaf", func(r *rand.Rand) string {
		return fmt.Sprint(r.IntN(100)) + strings.Repeat("x", 3000*r.IntN(3))
	}},
}

// drawValue returns a value of any width, mostly an offset into a file.
func drawValue(r *rand.Rand) uint64 {
	if r.IntN(20) == 0 {
		return r.Uint64() >> r.IntN(64)
	}
	return r.Uint64N(1 << 30)
}

// agree compares a view with the model by every way of reading.
func agree(t rapid.TB, v View, m model) {
	t.Helper()
	want := m.sorted()
	if v.Len() != len(want) {
		t.Fatalf("Len = %d, want %d", v.Len(), len(want))
	}
	if got := forwards(v); !slices.Equal(got, want) {
		t.Fatalf("forwards: %s", difference(got, want))
	}
	got := backwards(v)
	slices.Reverse(got)
	if !slices.Equal(got, want) {
		t.Fatalf("backwards: %s", difference(got, want))
	}
	var leaves []pair
	for leaf := range v.Leaves() {
		pairs, err := decode(leaf)
		if err != nil {
			t.Fatal(err)
		}
		if _, last, err := block(leaf).validate(nil, nil); err != nil || string(last) != pairs[len(pairs)-1].key {
			t.Fatalf("validate = %q, %v for a leaf that ends with %q", last, err, pairs[len(pairs)-1].key)
		}
		leaves = append(leaves, pairs...)
	}
	if !slices.Equal(leaves, want) {
		t.Fatalf("leaves: %s", difference(leaves, want))
	}
	for _, p := range want {
		if value, ok := v.Get([]byte(p.key)); !ok || value != p.value {
			t.Fatalf("Get(%q) = %d, %v, want %d", p.key, value, ok, p.value)
		}
	}
}

func forwards(v View) (pairs []pair) {
	c := v.Cursor()
	for ok := c.Seek(nil); ok; ok = c.Next() {
		pairs = append(pairs, pair{string(c.Key()), c.Value()})
	}
	return pairs
}

func backwards(v View) (pairs []pair) {
	c := v.Cursor()
	for ok := c.SeekLast(); ok; ok = c.Prev() {
		pairs = append(pairs, pair{string(c.Key()), c.Value()})
	}
	return pairs
}

func difference(got, want []pair) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("entry %d is %v, want %v", i, got[i], want[i])
		}
	}
	return fmt.Sprintf("%d entries, want %d", len(got), len(want))
}

// seeks compares both seeks for key with the model, and a step either way.
func seeks(t rapid.TB, v View, want []pair, key []byte) {
	t.Helper()
	at, found := slices.BinarySearchFunc(want, key, func(p pair, key []byte) int {
		return bytes.Compare([]byte(p.key), key)
	})
	if value, ok := v.Get(key); ok != found || ok && value != want[at].value {
		t.Fatalf("Get(%q) = %d, %v", key, value, ok)
	}
	is := func(c *Cursor, ok bool, i int, what string) {
		t.Helper()
		if there := i >= 0 && i < len(want); ok != there || c.Valid() != there {
			t.Fatalf("%s of %q is %v, valid %v, want %v", what, key, ok, c.Valid(), there)
		} else if there && (string(c.Key()) != want[i].key || c.Value() != want[i].value) {
			t.Fatalf("%s of %q is %q = %d, want %v", what, key, c.Key(), c.Value(), want[i])
		}
	}
	c := v.Cursor()
	is(c, c.Seek(key), at, "Seek")
	if c.Valid() {
		is(c, c.Prev(), at-1, "Seek, Prev")
	}
	is(c, c.SeekBefore(key), at-1, "SeekBefore")
	if c.Valid() {
		is(c, c.Next(), at, "SeekBefore, Next")
	}
}
