package packtree

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestViewsStayAsTheyWere changes every key after a view, in each way that
// changes a node, and looks at the view again.
func TestViewsStayAsTheyWere(t *testing.T) {
	key := func(i int) string { return fmt.Sprintf("%06d", i) }
	changes := map[string]func(h *history, i int){
		"update":    func(h *history, i int) { h.set(t, key(i), 1) },
		"widen":     func(h *history, i int) { h.set(t, key(i), 1<<40) },
		"delete":    func(h *history, i int) { h.delete(t, key(i)) },
		"insert":    func(h *history, i int) { h.set(t, key(i)+"x", 1) },
		"untouched": func(*history, int) {},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			h := newHistory(small)
			for i := range 500 {
				h.set(t, key(i), 0)
			}
			h.freeze()
			for i := range 500 {
				change(h, i)
				if i%100 == 50 {
					h.freeze()
				}
			}
			h.agree(t)
		})
	}
}

// TestForksGoTheirOwnWay forks trees from views, old and new, of trees and of
// forks, and changes all of them in turn.
func TestForksGoTheirOwnWay(t *testing.T) {
	r := random(t)
	draw := kinds[0].draw
	start := newHistory(small)
	for range 500 {
		start.set(t, draw(r), drawValue(r))
	}
	forks := []*history{start}
	for len(forks) < 12 {
		from := forks[r.IntN(len(forks))]
		from.freeze()
		f := from.views[r.IntN(len(from.views))]
		forks = append(forks, &history{tree: f.view.Tree(), model: maps.Clone(f.want)})
		for range 500 {
			h := forks[r.IntN(len(forks))]
			if r.IntN(3) == 0 {
				h.delete(t, draw(r))
			} else {
				h.set(t, draw(r), drawValue(r))
			}
		}
	}
	for _, h := range forks {
		h.agree(t)
	}
}

func TestForkOfNothing(t *testing.T) {
	for _, v := range []View{{}, New().View()} {
		h := &history{tree: v.Tree(), model: model{}}
		h.set(t, "a", 1)
		h.agree(t)
		agree(t, v, model{})
	}
}

// TestForksAtOnce changes a tree and a fork of it at the same time, which share
// all they did not copy. Run with -race.
func TestForksAtOnce(t *testing.T) {
	key := func(i int) []byte { return fmt.Appendf(nil, "%06d", i) }
	tree := newTree(small)
	for i := range 2000 {
		tree.Set(key(i), 0)
	}
	trees := []*Tree{tree, tree.View().Tree(), tree.View().Tree()}
	var writers sync.WaitGroup
	for n, tree := range trees {
		writers.Go(func() {
			for i := range 2000 {
				if i%3 == n {
					tree.Delete(key(i))
				} else {
					tree.Set(key(i), uint64(n+1))
				}
			}
		})
	}
	writers.Wait()
	for n, tree := range trees {
		want := model{}
		for i := range 2000 {
			if i%3 != n {
				want[string(key(i))] = uint64(n + 1)
			}
		}
		verify(t, tree)
		agree(t, tree.View(), want)
	}
}

// TestA27_DeleteWhileIterating deletes the entry the cursor is at, the one
// after it, and puts one just ahead: a view shows what was there when it was
// taken, once each, and none of that.
func TestA27_DeleteWhileIterating(t *testing.T) {
	const n = 10_000
	key := func(i int) []byte { return fmt.Appendf(nil, "%06d", i) }
	cases := map[string]struct {
		change func(tree *Tree, i int)
		left   int
	}{
		"delete this":    {func(tree *Tree, i int) { tree.Delete(key(i)) }, 0},
		"delete next":    {func(tree *Tree, i int) { tree.Delete(key(i + 1)) }, 1},
		"put just ahead": {func(tree *Tree, i int) { tree.Set(append(key(i), 0), 1) }, 2 * n},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tree := New()
			for i := range n {
				tree.Set(key(i), uint64(i))
			}
			seen := 0
			cursor := tree.View().Cursor()
			for ok := cursor.Seek(nil); ok; ok = cursor.Next() {
				if string(cursor.Key()) != string(key(seen)) || cursor.Value() != uint64(seen) {
					t.Fatalf("entry %d is %q = %d", seen, cursor.Key(), cursor.Value())
				}
				c.change(tree, seen)
				seen++
			}
			if seen != n || tree.Len() != c.left {
				t.Errorf("%d entries seen, %d keys left; want %d and %d", seen, tree.Len(), n, c.left)
			}
			verify(t, tree)
		})
	}
}

// TestWritesBetweenViewsCopyOnce asks that the second write to a leaf after a
// view, and any to a tree without one, copy nothing.
func TestWritesBetweenViewsCopyOnce(t *testing.T) {
	tree := New()
	key := func(i int) []byte { return fmt.Appendf(nil, "%06d", i) }
	for i := range 10_000 {
		tree.Set(key(i), 1)
	}
	middle := key(5000)
	update := func() { tree.Set(middle, 2) }
	if n := testing.AllocsPerRun(10, update); n != 0 {
		t.Errorf("an update without a view allocates %v times", n)
	}
	tree.View()
	update()
	if n := testing.AllocsPerRun(10, update); n != 0 {
		t.Errorf("a second update after a view allocates %v times", n)
	}
	// Each of the nodes on the way: itself, and its entries or its children.
	most := float64(2*tree.height()-1) + blockAllocations()
	if n := testing.AllocsPerRun(10, func() { tree.View(); update() }); n > most {
		t.Errorf("an update after a view allocates %v times, want %v at most", n, most)
	}
	long := strings.Repeat("x", 100)
	added := [][]byte{[]byte("005000a" + long), []byte("005000b" + long)}
	insert := func() { tree.View(); tree.Set(added[0], 1); added = added[1:] }
	if n := testing.AllocsPerRun(1, insert); n > most {
		t.Errorf("an insert after a view allocates %v times, want %v at most", n, most)
	}
	// The root has been copied when a key elsewhere is set.
	other := [][]byte{key(9000), key(1000), key(3000), key(7000)}
	tree.View()
	update()
	elsewhere := func() { tree.Set(other[0], 2); other = other[1:] }
	if n := testing.AllocsPerRun(1, elsewhere); n > most-2 {
		t.Errorf("an update elsewhere allocates %v times, want %v at most", n, most-2)
	}
}

// blockAllocations returns how often making a block allocates: once, but twice
// under the race detector.
func blockAllocations() float64 {
	var b block
	return testing.AllocsPerRun(1, func() { b = append(emptyWithRoom(100), b[:0]...) })
}

// TestReadersBesideWriter has goroutines read the views that a writer
// publishes, each of which holds a stretch of numbers. Run with -race.
func TestReadersBesideWriter(t *testing.T) {
	const first, last, window = 0, 3000, 200
	var published atomic.Pointer[View]
	publish := func(tree *Tree) {
		v := tree.View()
		published.Store(&v)
	}
	tree := newTree(small)
	publish(tree)
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !done.Load() {
				if err := readStretch(*published.Load()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := first; i < last; i++ {
		tree.Set(fmt.Appendf(nil, "%06d", i), uint64(i))
		tree.Delete(fmt.Appendf(nil, "%06d", i-window))
		publish(tree)
	}
	done.Store(true)
	readers.Wait()
	verify(t, tree)
}

// readStretch reads a view by every means and expects numbers in a row.
func readStretch(v View) error {
	pairs := forwards(v)
	back := backwards(v)
	slices.Reverse(back)
	if len(pairs) != v.Len() || !slices.Equal(pairs, back) {
		return fmt.Errorf("%d entries forwards, %d backwards, Len is %d", len(pairs), len(back), v.Len())
	}
	for i, p := range pairs {
		if p.value != pairs[0].value+uint64(i) || p.key != fmt.Sprintf("%06d", p.value) {
			return fmt.Errorf("entry %d is %v in a stretch from %v", i, p, pairs[0])
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	p := pairs[rand.IntN(len(pairs))]
	if value, ok := v.Get([]byte(p.key)); !ok || value != p.value {
		return fmt.Errorf("Get(%q) = %d, %v", p.key, value, ok)
	}
	return nil
}

// TestLeavesStopEarly leaves the loop over the leaves at each of them.
func TestLeavesStopEarly(t *testing.T) {
	tree := newTree(small)
	for i := range 300 {
		tree.Set(fmt.Appendf(nil, "%06d", i), 0)
	}
	all := 0
	for range tree.View().Leaves() {
		all++
	}
	for stop := range all {
		seen := 0
		for range tree.View().Leaves() {
			if seen++; seen > stop {
				break
			}
		}
		if seen != stop+1 {
			t.Errorf("%d leaves seen, want %d", seen, stop+1)
		}
	}
}
