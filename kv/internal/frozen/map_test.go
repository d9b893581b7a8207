package frozen

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMapEqualsAModel writes at random and keeps some of the maps of which others
// were made: each of them stays what it was.
func TestMapEqualsAModel(t *testing.T) {
	type kept struct {
		frozen Map[[]byte]
		model  map[string]string
	}
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 0, 3, -1)
		var now Map[[]byte]
		model := map[string]string{}
		var snapshots []kept
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, v := key.Draw(t, "key"), rapid.StringN(0, 2, -1).Draw(t, "value")
				now = now.Put(k, []byte(v))
				model[k] = v
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "key")
				now = now.Delete(k)
				delete(model, k)
			},
			"keep": func(*rapid.T) { snapshots = append(snapshots, kept{now, maps.Clone(model)}) },
			"scan": func(t *rapid.T) {
				bound := key.Draw(t, "bound")
				want := slices.Sorted(maps.Keys(model))
				compare(t, now.Ascend(bound), slices.DeleteFunc(slices.Clone(want), func(k string) bool { return k < bound }))
				slices.Reverse(want)
				compare(t, now.Descend(bound), slices.DeleteFunc(want, func(k string) bool { return bound != "" && k >= bound }))
			},
		})
		for _, s := range append(snapshots, kept{now, model}) {
			if s.frozen.Len() != len(s.model) {
				t.Fatalf("size %d, want %d", s.frozen.Len(), len(s.model))
			}
			compare(t, s.frozen.Ascend(""), slices.Sorted(maps.Keys(s.model)))
			for k, v := range s.model {
				if got, ok := s.frozen.Get(k); !ok || string(got) != v {
					t.Fatalf("%q holds %q, %v; want %q", k, got, ok, v)
				}
			}
		}
	})
}

func compare(t *rapid.T, got iter.Seq2[string, []byte], want []string) {
	t.Helper()
	var keys []string
	for k := range got {
		keys = append(keys, k)
	}
	if !slices.Equal(keys, want) {
		t.Fatalf("got %q, want %q", keys, want)
	}
}

// TestMapStaysFlat writes keys in the order that makes a list of a plain binary
// tree. A treap of n keys is deeper than 5 log2(n) less than once in 10^6 times.
func TestMapStaysFlat(t *testing.T) {
	const n = 20_000
	var now Map[[]byte]
	for i := range n {
		now = now.Put(fmt.Sprintf("%06d", i), nil)
	}
	if got, limit := depth(now.root), int(5*math.Log2(n)); got > limit {
		t.Fatalf("%d keys are %d deep, want at most %d", n, got, limit)
	}
	for i := range n / 2 {
		now = now.Delete(fmt.Sprintf("%06d", 2*i))
	}
	if got, limit := depth(now.root), int(5*math.Log2(n)); got > limit || now.size != n/2 {
		t.Fatalf("%d keys are %d deep, want at most %d", now.size, got, limit)
	}
}

func depth[V any](n *node[V]) int {
	if n == nil {
		return 0
	}
	return 1 + max(depth(n.left), depth(n.right))
}
