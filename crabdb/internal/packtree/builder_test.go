package packtree

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestBuilderEqualsInserts builds the entries of random trees of every size
// from none up, and then edits both.
func TestBuilderEqualsInserts(t *testing.T) {
	r := random(t)
	for _, l := range []limits{small, defaultLimits} {
		for _, kind := range kinds {
			for size := 0; size < 400; size = size*2 + 1 {
				m := model{}
				for range size {
					m[kind.draw(r)] = drawValue(r)
				}
				b := &Builder{limits: l}
				for _, p := range m.sorted() {
					if err := b.Add([]byte(p.key), p.value); err != nil {
						t.Fatal(err)
					}
				}
				h := &history{tree: b.Finish(), model: m}
				if r.IntN(2) == 0 { // else the builder's nodes are edited in place
					h.freeze()
					h.agree(t)
				}
				for range 50 {
					h.set(t, kind.draw(r), drawValue(r))
					h.delete(t, kind.draw(r))
				}
				h.agree(t)
			}
		}
	}
}

func TestBuilderRefusesOtherOrders(t *testing.T) {
	for _, keys := range [][3]string{
		{"b", "a", "c"},
		{"b", "b", "c"},
		{"", "", "c"},
		{"ab", "a", "b"},
		{"a\xff", "a\x00", "b"},
	} {
		b := NewBuilder()
		if err := b.Add([]byte(keys[0]), 1); err != nil {
			t.Fatal(err)
		}
		if err := b.Add([]byte(keys[1]), 2); !errors.Is(err, ErrOutOfOrder) {
			t.Errorf("%q after %q gives %v", keys[1], keys[0], err)
		}
		if err := b.Add([]byte(keys[2]), 3); err != nil {
			t.Errorf("%q after a refusal: %v", keys[2], err)
		}
		agree(t, b.Finish().View(), model{keys[0]: 1, keys[2]: 3})
	}
}

// TestBuilderMakesFewBranches puts as many leaves under a branch as it may have.
func TestBuilderMakesFewBranches(t *testing.T) {
	for leaves, want := range map[int]int{2: 1, 31: 1, 32: 1, 33: 2, 64: 2, 65: 3} {
		nodes, separators := make([]*node, leaves), make([][]byte, leaves-1)
		for i := range separators {
			separators[i] = []byte{byte(i)}
		}
		level, between := branches(nodes, separators, 32)
		if len(level) != want || len(between) != want-1 {
			t.Errorf("%d leaves: %d branches, want %d", leaves, len(level), want)
		}
	}
}

// TestBuilderBeginsAgain uses a builder twice.
func TestBuilderBeginsAgain(t *testing.T) {
	b := NewBuilder()
	for _, key := range []string{"z", "a"} {
		if err := b.Add([]byte(key), 1); err != nil {
			t.Fatal(err)
		}
		tree := b.Finish()
		verify(t, tree)
		agree(t, tree.View(), model{key: 1})
	}
}

// TestBuilderTakesLeaves rebuilds trees from their leaves, all or some of them,
// the entries of the others one by one, and then edits what came out. The bytes
// of a leaf are someone else's and stay as they were.
func TestBuilderTakesLeaves(t *testing.T) {
	r := random(t)
	for _, kind := range kinds {
		for _, chance := range []int{1, 2, 4} { // one leaf of so many is taken whole
			h := newHistory(small)
			for range 200 {
				h.set(t, kind.draw(r), drawValue(r))
			}
			b := &Builder{limits: small}
			var taken, copies [][]byte
			for leaf := range h.tree.View().Leaves() {
				if r.IntN(chance) > 0 {
					addEntries(t, b, leaf)
					continue
				}
				taken, copies = append(taken, leaf), append(copies, bytes.Clone(leaf))
				if err := b.AddLeaf(leaf); err != nil {
					t.Fatal(err)
				}
			}
			h.tree = b.Finish()
			if r.IntN(2) == 0 { // else a view protects the leaves, too
				h.freeze()
				h.agree(t)
			}
			for range 200 {
				h.delete(t, kind.draw(r))
				h.set(t, kind.draw(r), drawValue(r))
			}
			h.agree(t)
			for i := range taken {
				if !bytes.Equal(taken[i], copies[i]) {
					t.Fatalf("%s: leaf %d was changed", kind.name, i)
				}
			}
		}
	}
}

func addEntries(t *testing.T, b *Builder, leaf []byte) {
	t.Helper()
	pairs, err := decode(leaf)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		if err := b.Add([]byte(p.key), p.value); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBuilderRefusesLeaves offers leaves that are broken or do not follow, and
// expects the builder to go on as if they had not come.
func TestBuilderRefusesLeaves(t *testing.T) {
	leaf := func(keys ...string) []byte {
		m := model{}
		for _, key := range keys {
			m[key] = 1
		}
		return blockOf(m, 1)
	}
	for name, begin := range map[string]func(b *Builder) error{
		"after a key":  func(b *Builder) error { return b.Add([]byte("m"), 1) },
		"after a leaf": func(b *Builder) error { return b.AddLeaf(leaf("m")) },
	} {
		b := NewBuilder()
		if err := begin(b); err != nil {
			t.Fatal(err)
		}
		for _, bad := range [][]byte{leaf("a"), leaf("m"), leaf("a", "z"), leaf("", "x")} {
			if err := b.AddLeaf(bad); !errors.Is(err, ErrOutOfOrder) {
				t.Errorf("%s: leaf %x gives %v", name, bad, err)
			}
		}
		if err := b.AddLeaf(leaf("x", "z")[:8]); !errors.Is(err, ErrInvalidLeaf) {
			t.Errorf("%s: a broken leaf gives %v", name, err)
		}
		if err := b.AddLeaf(leaf("n", "o")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := b.Add([]byte("o"), 1); !errors.Is(err, ErrOutOfOrder) {
			t.Errorf("%s: the leaf's last key again gives %v", name, err)
		}
		if err := b.Add([]byte("p"), 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		agree(t, b.Finish().View(), model{"m": 1, "n": 1, "o": 1, "p": 1})
	}
}

// TestBuilderTakesLargeLeaves takes a leaf far larger than any that a tree
// makes: it can be read as it is, and an edit splits it.
func TestBuilderTakesLargeLeaves(t *testing.T) {
	m := model{}
	for i := range 2000 {
		m[fmt.Sprintf("%06d", i)] = uint64(i)
	}
	b := NewBuilder()
	if err := b.AddLeaf(blockOf(m, 2)); err != nil {
		t.Fatal(err)
	}
	h := &history{tree: b.Finish(), model: m}
	agree(t, h.tree.View(), m)
	h.freeze()
	h.set(t, "000500x", 1)
	h.agree(t)
	if got := slices.Collect(h.tree.View().Leaves()); len(got[0]) > leafBytes {
		t.Errorf("the first leaf still has %d bytes", len(got[0]))
	}
}
