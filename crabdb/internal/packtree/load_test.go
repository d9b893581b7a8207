package packtree

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// TestLoadTakesLeaves makes trees of the leaves of others, of every size from none
// up, and then edits what came out. The bytes of a leaf are someone else's and stay
// as they were.
func TestLoadTakesLeaves(t *testing.T) {
	r := random(t)
	for _, kind := range kinds {
		for size := 0; size < 2000; size = size*3 + 1 {
			h := newHistory(small)
			for range size {
				h.set(t, kind.draw(r), drawValue(r))
			}
			leaves := slices.Collect(h.tree.View().Leaves())
			var copies [][]byte
			for _, leaf := range leaves {
				copies = append(copies, bytes.Clone(leaf))
			}
			tree, err := loadLeaves(small, leaves, anyValue)
			if err != nil {
				t.Fatal(err)
			}
			h.tree = tree
			if r.IntN(2) == 0 { // else no view protects the leaves
				h.freeze()
				h.agree(t)
			}
			for range 200 {
				h.delete(t, kind.draw(r))
				h.set(t, kind.draw(r), drawValue(r))
			}
			h.agree(t)
			for i := range leaves {
				if !bytes.Equal(leaves[i], copies[i]) {
					t.Fatalf("%s: leaf %d was changed", kind.name, i)
				}
			}
		}
	}
}

// TestLoadAsksAboutAllEntries loads more leaves than one goroutine takes at a time.
func TestLoadAsksAboutAllEntries(t *testing.T) {
	leaves, m := manyLeaves(3*stretchLeaves + 1)
	asked := make(chan Entry, 2*len(m))
	tree, err := Load(leaves, func(entries []Entry) error {
		for _, e := range entries {
			asked <- e
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	verify(t, tree)
	agree(t, tree.View(), m)
	close(asked)
	left := map[Entry]int{}
	for key, value := range m {
		left[Entry{len(key), value}]++
	}
	for e := range asked {
		left[e]--
	}
	for e, n := range left {
		if n != 0 {
			t.Errorf("%v: %d times too seldom", e, n)
		}
	}
}

// manyLeaves returns so many leaves of two entries, and the entries.
func manyLeaves(n int) (leaves [][]byte, all model) {
	all = model{}
	for i := range n {
		m := model{fmt.Sprintf("%06d", i): uint64(i), fmt.Sprintf("%06dx", i): uint64(i) << 8}
		leaves = append(leaves, blockOf(m, 4))
		for key, value := range m {
			all[key] = value
		}
	}
	return leaves, all
}

// TestLoadSaysWhatIsWrongFirst spoils two of many leaves, in each way, at and around
// the borders of what one goroutine takes at a time; the first of the two is told,
// whoever comes to it, and however many there are.
func TestLoadSaysWhatIsWrongFirst(t *testing.T) {
	leaves, _ := manyLeaves(3 * stretchLeaves)
	refused := errors.New("refused")
	last := len(leaves) - 1
	spoil := map[string]struct {
		leaf func(i int) []byte
		want error
	}{
		"broken":    {func(i int) []byte { return leaves[i][:len(leaves[i])-1] }, ErrInvalidLeaf},
		"repeated":  {func(i int) []byte { return leaves[i-1] }, ErrOutOfOrder},
		"displaced": {func(i int) []byte { return blockOf(model{fmt.Sprintf("%06d", i-1): 1}, 4) }, ErrOutOfOrder},
		"refused":   {func(i int) []byte { return blockOf(model{fmt.Sprintf("%06d", i): 1<<32 - 1}, 4) }, refused},
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 4} {
		runtime.GOMAXPROCS(procs)
		for name, s := range spoil {
			for _, at := range []int{1, stretchLeaves - 1, stretchLeaves, stretchLeaves + 1, 2 * stretchLeaves} {
				for other, o := range spoil {
					bad := slices.Clone(leaves)
					bad[last] = o.leaf(last)
					bad[at] = s.leaf(at)
					_, err := Load(bad, func(entries []Entry) error {
						if entries[0].Value == 1<<32-1 {
							return refused
						}
						return nil
					})
					if !errors.Is(err, s.want) {
						t.Errorf("leaf %d is %s, and the last %s: %v", at, name, other, err)
					}
				}
			}
		}
	}
}

// TestLoadRefusesOtherOrders offers two leaves of which the second does not follow.
func TestLoadRefusesOtherOrders(t *testing.T) {
	leaf := func(keys ...string) []byte {
		m := model{}
		for _, key := range keys {
			m[key] = 1
		}
		return blockOf(m, 1)
	}
	for _, second := range [][]byte{leaf("a"), leaf("m"), leaf("b", "z"), leaf("a", "z"), leaf("", "x"), leaf("l\xff")} {
		if _, err := Load([][]byte{leaf("b", "m"), second}, anyValue); !errors.Is(err, ErrOutOfOrder) {
			t.Errorf("leaf %x gives %v", second, err)
		}
	}
	tree, err := Load([][]byte{leaf("b", "m"), leaf("m\x00", "o")}, anyValue)
	if err != nil {
		t.Fatal(err)
	}
	verify(t, tree)
	agree(t, tree.View(), model{"b": 1, "m": 1, "m\x00": 1, "o": 1})
}

// TestLoadTakesLargeLeaves takes a leaf far larger than any that a tree makes: it
// can be read as it is, and an edit splits it.
func TestLoadTakesLargeLeaves(t *testing.T) {
	m := model{}
	for i := range 2000 {
		m[fmt.Sprintf("%06d", i)] = uint64(i)
	}
	tree, err := Load([][]byte{blockOf(m, 2)}, anyValue)
	if err != nil {
		t.Fatal(err)
	}
	h := &history{tree: tree, model: m}
	agree(t, h.tree.View(), m)
	h.freeze()
	h.set(t, "000500x", 1)
	h.agree(t)
	if got := slices.Collect(h.tree.View().Leaves()); len(got[0]) > leafBytes {
		t.Errorf("the first leaf still has %d bytes", len(got[0]))
	}
}

// TestLoadedMemoryIsLetGo rewrites the leaves of a loaded tree one after the other:
// what they were slices of is there until the last, and then goes.
func TestLoadedMemoryIsLetGo(t *testing.T) {
	tree, keys, gone := loadOnce(t)
	for _, p := range keys[2:] { // a leaf has two
		tree.Set([]byte(p.key), p.value+1)
	}
	runtime.GC()
	if value, ok := tree.Get([]byte(keys[0].key)); !ok || value != keys[0].value {
		t.Fatalf("%d, %v", value, ok)
	}
	select {
	case <-gone:
		t.Fatal("it has gone before the last leaf was rewritten")
	default:
	}
	tree.Set([]byte(keys[0].key), 1)
	for range 100 { // a collection ends before its cleanups have run
		runtime.GC()
		select {
		case <-gone:
			return
		default:
			runtime.Gosched()
		}
	}
	t.Fatalf("it is still there, and none of %d leaves is in it", len(keys)/2)
}

// loadOnce returns a tree whose leaves are slices of one piece of memory, its
// entries, and a channel that is closed when the memory has gone.
func loadOnce(t *testing.T) (*Tree, []pair, <-chan struct{}) {
	t.Helper()
	leaves, m := manyLeaves(2*stretchLeaves + 1)
	memory, at := slices.Concat(leaves...), 0
	for i, leaf := range leaves {
		leaves[i] = memory[at : at+len(leaf)]
		at += len(leaf)
	}
	gone := make(chan struct{})
	runtime.AddCleanup(&memory[0], func(done chan struct{}) { close(done) }, gone)
	tree, err := Load(leaves, anyValue)
	if err != nil {
		t.Fatal(err)
	}
	return tree, m.sorted(), gone
}

// TestLoadEqualsBuild loads the leaves of a built tree, and wants its branches.
func TestLoadEqualsBuild(t *testing.T) {
	b := NewBuilder()
	for i := range 50_000 {
		if err := b.Add(fmt.Appendf(nil, "local/session/%03d/msg/%012d", i/100, i%100), uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	built := b.Finish()
	loaded, err := Load(slices.Collect(built.View().Leaves()), anyValue)
	if err != nil {
		t.Fatal(err)
	}
	verify(t, loaded)
	var same func(a, b *node) bool
	same = func(a, b *node) bool {
		return bytes.Equal(a.block, b.block) && slices.EqualFunc(a.children, b.children, same)
	}
	if loaded.height() < 3 || !same(built.root, loaded.root) {
		t.Errorf("trees of height %d and %d", built.height(), loaded.height())
	}
}
