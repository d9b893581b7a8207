package packtree

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

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
			if len(h.views) < 4 && r.IntN(500) == 0 {
				h.freeze()
			}
			if r.IntN(3) == 0 {
				h.tree.View()
			}
		}
		verify(t, h.tree)
		want := h.model.sorted()
		for range 200 {
			seeks(t, h.tree.View(), want, []byte(draw(r)))
		}
	}
	h.agree(t)
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
