package packtree

import (
	"errors"
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
