package packtree

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// frozen is a view and what it has to hold for good.
type frozen struct {
	view View
	want model
}

// history is a tree beside its model, with views of both from various times.
type history struct {
	tree  *Tree
	model model
	views []frozen
}

func newHistory(l limits) *history { return &history{tree: newTree(l), model: model{}} }

func (h *history) set(t rapid.TB, key string, value uint64) {
	t.Helper()
	was, had := h.model[key]
	if old, existed := h.tree.Set([]byte(key), value); existed != had || old != was {
		t.Fatalf("Set(%q) = %d, %v, want %d, %v", key, old, existed, was, had)
	}
	h.model[key] = value
}

func (h *history) delete(t rapid.TB, key string) {
	t.Helper()
	was, had := h.model[key]
	if old, existed := h.tree.Delete([]byte(key)); existed != had || old != was {
		t.Fatalf("Delete(%q) = %d, %v, want %d, %v", key, old, existed, was, had)
	}
	delete(h.model, key)
}

func (h *history) freeze() {
	h.views = append(h.views, frozen{h.tree.View(), maps.Clone(h.model)})
}

func (h *history) agree(t rapid.TB) {
	t.Helper()
	verify(t, h.tree)
	agree(t, h.tree.View(), h.model)
	for _, f := range h.views {
		agree(t, f.view, f.want)
	}
}

func TestRandomHistories(t *testing.T) {
	for _, l := range []struct {
		name string
		limits
	}{{"small nodes", small}, {"default nodes", defaultLimits}} {
		for _, kind := range kinds {
			t.Run(l.name+"/"+kind.name, func(t *testing.T) {
				randomHistory(t, random(t), l.limits, kind.draw)
			})
		}
	}
}

// randomHistory sets more than it deletes, then deletes more than it sets.
func randomHistory(t *testing.T, r *rand.Rand, l limits, draw func(*rand.Rand) string) {
	h := newHistory(l)
	for phase := range 4 {
		for range 1000 {
			key := draw(r)
			if r.IntN(10) < 2+6*(phase%2) {
				h.delete(t, key)
			} else {
				h.set(t, key, drawValue(r))
			}
			if len(h.views) < 8 && r.IntN(200) == 0 {
				h.freeze()
			}
			if r.IntN(3) == 0 {
				h.tree.View()
			}
		}
		h.agree(t)
		want := h.model.sorted()
		for range 200 {
			seeks(t, h.tree.View(), want, []byte(draw(r)))
		}
	}
}

// TestRapidHistories draws histories that rapid shrinks to the shortest that
// fails. Keys come from few bytes, so that they meet.
func TestRapidHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 'b', 0xff}), 0, 6)
		repeats := rapid.SampledFrom([]int{1, 1, 1, 40})
		draw := func(rt *rapid.T) string {
			return strings.Repeat(string(keys.Draw(rt, "key")), repeats.Draw(rt, "repeats"))
		}
		h := newHistory(small)
		rt.Repeat(map[string]func(*rapid.T){
			"set":    func(rt *rapid.T) { h.set(rt, draw(rt), rapid.Uint64().Draw(rt, "value")) },
			"delete": func(rt *rapid.T) { h.delete(rt, draw(rt)) },
			"view":   func(*rapid.T) { h.freeze() },
			"seek": func(rt *rapid.T) {
				seeks(rt, h.tree.View(), h.model.sorted(), []byte(draw(rt)))
			},
			"": func(rt *rapid.T) { verify(rt, h.tree) },
		})
		h.agree(rt)
	})
}

// TestDeleteInEveryOrder takes apart a tree of seven leaves in each order.
func TestDeleteInEveryOrder(t *testing.T) {
	keys := make([]string, 7)
	for i := range keys {
		keys[i] = strings.Repeat(string(rune('a'+i)), 50) // one to a leaf
	}
	permutations(keys, func(order []string) {
		h := newHistory(small)
		for i, key := range keys {
			h.set(t, key, uint64(i))
		}
		for _, key := range order {
			h.delete(t, key)
			verify(t, h.tree)
			if got := forwards(h.tree.View()); !slices.Equal(got, h.model.sorted()) {
				t.Fatalf("deleting in order %q: after %q: %v", order, key, got)
			}
		}
		if h.tree.root != nil || h.tree.Bytes() != 0 {
			t.Fatalf("deleting in order %q leaves %d bytes", order, h.tree.Bytes())
		}
	})
}

// permutations calls f with every order of items, which it changes.
func permutations(items []string, f func([]string)) {
	items = slices.Clone(items)
	var permute func(n int)
	permute = func(n int) {
		if n == len(items) {
			f(items)
		}
		for i := n; i < len(items); i++ {
			items[n], items[i] = items[i], items[n]
			permute(n + 1)
			items[n], items[i] = items[i], items[n]
		}
	}
	permute(0)
}

// TestDeleteAll fills and empties trees of several levels in the orders that
// work on the edges, the middle and everywhere.
func TestDeleteAll(t *testing.T) {
	r := random(t)
	const n = 3000
	mixed := r.Perm(n)
	orders := map[string]func(i int) int{
		"ascending":   func(i int) int { return i },
		"descending":  func(i int) int { return n - 1 - i },
		"outside in":  func(i int) int { return i/2*(1-i%2) + (n-1-i/2)*(i%2) },
		"every tenth": func(i int) int { return i%(n/10)*10 + i/(n/10) },
		"random":      func(i int) int { return mixed[i] },
	}
	orders["inside out"] = func(i int) int { return orders["outside in"](n - 1 - i) }
	for _, l := range []limits{small, defaultLimits} {
		for name, order := range orders {
			h := newHistory(l)
			for i := range n {
				h.set(t, fmt.Sprintf("%012d", i), uint64(i))
			}
			for i := range n {
				h.delete(t, fmt.Sprintf("%012d", order(i)))
				if i%100 == 0 {
					verify(t, h.tree)
				}
			}
			if h.tree.root != nil || h.tree.Len() != 0 {
				t.Fatalf("%s: %d keys are left", name, h.tree.Len())
			}
		}
	}
}

// TestHeavyDeletesStayCompact deletes nine keys of ten, at random. What is left
// may take twice the bytes a key that a built tree takes, and no more height.
func TestHeavyDeletesStayCompact(t *testing.T) {
	r := random(t)
	tree, b := New(), NewBuilder()
	var keys [][]byte
	for i := range 50_000 {
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
	for i := range 200_000 {
		tree.Set(fmt.Appendf(nil, "%012d", i), 1<<20)
	}
	for _, branch := range tree.root.children[:len(tree.root.children)-1] {
		if n := len(branch.children); n < maxChildren*3/4 {
			t.Fatalf("a branch has %d children", n)
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

// TestInsertsSeldomAllocate counts what inserts in random order allocate: one
// in four may.
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
	if limit := float64(half / 2 / 4); allocations > limit {
		t.Errorf("%d inserts allocate %v times, want %v at most", half/2, allocations, limit)
	}
}

func TestValuesOfEveryWidth(t *testing.T) {
	h := newHistory(small)
	for bit := range 64 {
		for i, v := range []uint64{1 << bit, 1<<bit - 1, 1<<bit | 1} {
			h.set(t, fmt.Sprintf("%d/%d", bit, i), v)
			h.set(t, "again", v)
			h.agree(t)
		}
	}
	h.set(t, "again", 0)
	h.agree(t)
}

func TestEmptyKey(t *testing.T) {
	h := newHistory(small)
	h.delete(t, "")
	h.set(t, "", 7)
	h.agree(t)
	for i := range 100 {
		h.set(t, strings.Repeat("\x00", i), uint64(i))
	}
	h.agree(t)
	h.delete(t, "")
	h.agree(t)
	h.set(t, "", 8)
	h.agree(t)
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
		for h := tree.height(); 1<<(h-1) > leaves; {
			t.Fatalf("%s: height %d for %d leaves", name, h, leaves)
		}
	}
}

// TestKeysAreCopied changes the caller's key after each call.
func TestKeysAreCopied(t *testing.T) {
	const n = 5000
	tree, b := New(), NewBuilder()
	var key [4]byte
	for i := range uint32(n) {
		binary.BigEndian.PutUint32(key[:], i)
		tree.Set(key[:], uint64(i))
		if err := b.Add(key[:], uint64(i)); err != nil {
			t.Fatal(err)
		}
		binary.BigEndian.PutUint32(key[:], 1<<31)
	}
	for _, tree := range []*Tree{tree, b.Finish()} {
		for i := range uint32(n) {
			if value, ok := tree.Get(binary.BigEndian.AppendUint32(nil, i)); !ok || value != uint64(i) {
				t.Fatalf("%d = %d, %v", i, value, ok)
			}
		}
	}
}

func TestNodeBytes(t *testing.T) {
	if size := unsafe.Sizeof(node{}); size != nodeBytes {
		t.Errorf("a node takes %d bytes, nodeBytes says %d", size, nodeBytes)
	}
}
