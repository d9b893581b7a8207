package packtree

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// TestHeavyDeletesStayCompact deletes nine keys of ten, at random. What is left
// may take twice the bytes a key that a built tree takes, and no more height.
func TestHeavyDeletesStayCompact(t *testing.T) {
	r := random(t)
	tree, b := New(), NewBuilder()
	var keys [][]byte
	for i := range 20_000 {
		keys = append(keys, fmt.Appendf(nil, "local/session/%03d/msg/%012d", i/100, i%100))
	}
	for _, key := range keys {
		tree.Set(key, 1<<20)
	}
	for i, at := range r.Perm(len(keys)) {
		if i < len(keys)*9/10 {
			tree.Delete(keys[at])
		}
	}
	for _, key := range keys {
		if value, ok := tree.Get(key); ok {
			if err := b.Add(key, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	verify(t, tree)
	built := b.Finish()
	if got, limit := tree.Bytes(), 2*built.Bytes(); got > limit {
		t.Errorf("%d bytes for %d keys, twice what a built tree takes is %d", got, tree.Len(), limit)
	}
	if got, least := tree.height(), built.height(); got > least+1 {
		t.Errorf("height %d, a built tree has %d", got, least)
	}
}

// TestSequentialFillIsDense holds inserts in order, and inserts in order
// between others, to nine tenths of the density of a built tree.
func TestSequentialFillIsDense(t *testing.T) {
	tree, b := New(), NewBuilder()
	runs := []int{3, 1, 4, 0, 2} // one session is written after the other
	key := func(run, i int) []byte { return fmt.Appendf(nil, "local/session/%d/msg/%012d", run, i) }
	for _, run := range runs {
		for i := range 5000 {
			tree.Set(key(run, i), 1<<20)
		}
	}
	for run := range runs {
		for i := range 5000 {
			if err := b.Add(key(run, i), 1<<20); err != nil {
				t.Fatal(err)
			}
		}
	}
	verify(t, tree)
	if got, limit := tree.Bytes(), b.Finish().Bytes()*10/9; got > limit {
		t.Errorf("%d bytes, ten ninths of what a built tree takes is %d", got, limit)
	}
}

// TestShortRunsDoNotMakeSmallLeaves inserts two neighbours before each key,
// from the last key down: a run of two must not split a leaf where it ends.
func TestShortRunsDoNotMakeSmallLeaves(t *testing.T) {
	const n = 10_000
	tree := New()
	set := func(i int) { tree.Set(fmt.Appendf(nil, "%012d", i), 1<<20) }
	for i := range n {
		set(10 * i)
	}
	for i := n - 1; i > 0; i-- {
		set(10*i - 2)
		set(10*i - 1)
	}
	verify(t, tree)
	bytes, leaves := 0, 0
	for leaf := range tree.View().Leaves() {
		bytes += len(leaf)
		leaves++
	}
	if bytes/leaves < leafBytes*4/10 {
		t.Errorf("%d bytes in %d leaves", bytes, leaves)
	}
}

// TestWhereRunsSplit fills a leaf to the last entry that fits and inserts one
// more. Entries take 6 bytes: two lengths, three bytes of value, a byte of key.
func TestWhereRunsSplit(t *testing.T) {
	const fits = (leafBytes - headerSize) / 6
	cases := map[string]struct {
		before, run, behind int // how many keys are there, follow on each other, are there
		right               int // how many the right leaf has
	}{
		"in order":               {0, fits, 0, 1},
		"in order behind others": {fits / 2, fits / 2, 0, 1},
		"between others":         {fits / 3, fits / 3, fits / 3, fits / 3},
		"before one":             {0, fits - 1, 1, 2},
		"too short a run":        {fits - fits/5, fits / 5, 0, fits / 2},
	}
	for name, c := range cases {
		tree := New()
		at := func(group byte, i int) []byte { return []byte{group, byte(i)} }
		for i := c.before - 1; i >= 0; i-- { // backwards, lest it be a run
			tree.Set(at('a', i), 1<<20)
		}
		for i := c.behind - 1; i >= 0; i-- {
			tree.Set(at('z', i), 1<<20)
		}
		i := 0
		for ; tree.height() <= 1; i++ {
			tree.Set(at('m', i), 1<<20)
		}
		if want := c.run; i < want-3 || i > want+3 {
			t.Fatalf("%s: the leaf split at %d, want about %d", name, i, want)
		}
		right := tree.root.children[1].block.count()
		if right < c.right-3 || right > c.right+3 {
			t.Errorf("%s: the right leaf has %d entries, want about %d", name, right, c.right)
		}
	}
}

// TestSequentialFillHasFullBranches holds branches that were filled in order to
// three quarters of the most children.
func TestSequentialFillHasFullBranches(t *testing.T) {
	tree := New()
	for i := range 50_000 {
		tree.Set(fmt.Appendf(nil, "%012d", i), 1<<20)
	}
	for _, branch := range tree.root.children[:len(tree.root.children)-1] {
		if n := len(branch.children); n < maxChildren*3/4 {
			t.Fatalf("a branch has %d children", n)
		}
	}
}

// TestRunBeforeASmallTail has a run of 28-byte entries overrun its leaf by more
// than the one entry behind it takes: the last of the run goes to the right too.
func TestRunBeforeASmallTail(t *testing.T) {
	tree := New()
	tree.Set([]byte("z"), 1<<20)
	n := 0
	for ; tree.height() <= 1; n++ {
		tree.Set(append([]byte{'m', byte(n)}, "a tail of 22 bytes ..."...), 1<<20)
	}
	if len(tree.root.children) != 2 {
		t.Fatalf("%d leaves", len(tree.root.children))
	}
	if left := tree.root.children[0].block.count(); left != n-1 {
		t.Errorf("the left leaf has %d entries of a run of %d", left, n)
	}
}

// TestSeparatorsAreShort fills a tree with long keys that differ early, for
// which few bytes part two leaves.
func TestSeparatorsAreShort(t *testing.T) {
	r := random(t)
	tree := New()
	for range 2000 {
		key := binary.BigEndian.AppendUint64(nil, r.Uint64())
		tree.Set(append(key, make([]byte, 500)...), 1<<20)
	}
	for _, branch := range tree.root.children {
		if limit := 10 * branch.block.count(); branch.isLeaf() || len(branch.block) > limit {
			t.Errorf("%d separators take %d bytes", branch.block.count(), len(branch.block))
		}
	}
}

// TestJoinsWithTheSmallerNeighbour makes the middle one of three leaves small.
// It has to go into a small one beside it, and full ones are left alone.
func TestJoinsWithTheSmallerNeighbour(t *testing.T) {
	for _, sizes := range [][3]int{{150, 100, 50}, {50, 100, 150}, {150, 100, 150}} {
		tree := treeOfThreeLeaves(sizes)
		before := slices.Clone(tree.root.children)
		for j := 30; j < sizes[1]; j++ { // 30 entries are less than a quarter of a leaf
			tree.Delete([]byte{'b', byte(j)})
		}
		verify(t, tree)
		after := tree.root.children
		if sizes[0] == 150 && after[0] != before[0] || sizes[2] == 150 && after[len(after)-1] != before[2] {
			t.Errorf("%v: a full leaf was made anew", sizes)
		}
		if full := sizes[0] == sizes[2]; full != (len(after) == 3) {
			t.Errorf("%v: %d leaves", sizes, len(after))
		}
	}
}

// treeOfThreeLeaves returns a tree whose leaves have so many entries of 6 bytes.
func treeOfThreeLeaves(sizes [3]int) *Tree {
	tree := New()
	tree.root = &node{version: firstVersion, block: emptyBlock(0)}
	for i, size := range sizes {
		leaf := &node{version: firstVersion, block: emptyBlock(3)}
		for j := range size {
			key := []byte{byte('a' + i), byte(j)}
			leaf.insert(leaf.block.search(key), key, 1<<20)
		}
		if tree.root.children = append(tree.root.children, leaf); i > 0 {
			tree.root.block = tree.root.block.add(0, []byte{byte('a' + i)}, 0)
		}
		tree.count += size
	}
	return tree
}

// TestLeafSizes fills trees with keys of one length in random order, and holds
// the leaves to the sizes that their constants promise.
func TestLeafSizes(t *testing.T) {
	r := random(t)
	for _, length := range []int{8, 100, 300, 1024, 3000, 10_000} {
		tree := New()
		for range 2000 {
			key := binary.BigEndian.AppendUint64(nil, r.Uint64())
			tree.Set(append(key, make([]byte, length-8)...), 1<<20)
		}
		bytes, leaves := 0, 0
		for leaf := range tree.View().Leaves() {
			count := block(leaf).count()
			if len(leaf) > 4096 && count > 1 || len(leaf) > 1024 && count > 8 {
				t.Fatalf("a leaf has %d bytes and %d keys of %d bytes", len(leaf), count, length)
			}
			bytes += len(leaf)
			leaves++
		}
		// Splits in the middle leave leaves two thirds full, to a key or so.
		if least := 1024*6/10 - length; bytes/leaves < least {
			t.Errorf("keys of %d bytes: %d bytes in %d leaves", length, bytes, leaves)
		}
		if length == 1024 && 2000/leaves < 2 {
			t.Errorf("keys of %d bytes: %d leaves", length, leaves)
		}
	}
}

// TestInsertsSeldomAllocate counts what inserts in random order allocate:
// one in eight may make its block anew.
func TestInsertsSeldomAllocate(t *testing.T) {
	tree := New()
	var keys [][]byte
	for _, i := range random(t).Perm(20_000) {
		keys = append(keys, fmt.Appendf(nil, "%012d", i))
	}
	const half = 10_000
	for _, key := range keys[:half] {
		tree.Set(key, 1<<20)
	}
	next := half
	allocations := testing.AllocsPerRun(1, func() { // which calls it twice
		for range half / 2 {
			tree.Set(keys[next], 1<<20)
			next++
		}
	})
	if limit := float64(half/2/8) * blockAllocations(); allocations > limit {
		t.Errorf("%d inserts allocate %v times, want %v at most", half/2, allocations, limit)
	}
}

// TestHeightIsBounded grows trees in the orders that split branches at their
// ends, and counts levels: no branch but the root has less than two children.
func TestHeightIsBounded(t *testing.T) {
	orders := map[string]func(i uint32) uint32{
		"ascending":  func(i uint32) uint32 { return i },
		"descending": func(i uint32) uint32 { return ^i },
		"inward":     func(i uint32) uint32 { return i ^ -(i & 1) },
		"scattered":  func(i uint32) uint32 { return i * 0x9e3779b1 },
	}
	for name, order := range orders {
		tree := newTree(small)
		for i := range uint32(5000) {
			tree.Set(binary.BigEndian.AppendUint32(nil, order(i)), uint64(i))
		}
		verify(t, tree)
		leaves := 0
		for range tree.View().Leaves() {
			leaves++
		}
		if h := tree.height(); 1<<(h-1) > leaves {
			t.Errorf("%s: height %d for %d leaves", name, h, leaves)
		}
	}
}
