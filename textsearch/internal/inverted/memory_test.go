package inverted

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv/memkv"
)

// TestTermsAddUp gives a document the same terms several times.
func TestTermsAddUp(t *testing.T) {
	d := &Document{Key: "k", Length: 5, Weight: 1, Terms: []Term{{"a", 1}, {"b", 2}, {"a", 3}, {"c", math.MaxUint32}, {"c", 1}}}
	if got := fmt.Sprint(d.summed()); got != "[{a 4} {b 2} {c 4294967295}]" {
		t.Error(got)
	}
	s := memkv.New()
	x := index(s)
	for range 2 { // into the log, and into a segment
		update(t, s, x, func(w *Writer) error { return w.Put(ctx, d) })
		st, _, err := x.Load(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		snap := must(x.OpenAt(ctx, s, st))
		for _, source := range snap.Sources {
			l := must(source.Find(ctx, "a"))
			numbers, frequencies, err := l.Read(ctx, 0, new(Buffers))
			if err != nil || len(numbers) != 1 || frequencies[0] != 4 {
				t.Errorf("postings of a: %v, %v, %v", numbers, frequencies, err)
			}
		}
		snap.Close()
		if err := x.Optimize(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVocabulary compares the numbers and the order of texts with those of a map.
func TestVocabulary(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	var v vocabulary
	known := map[string]uint32{}
	for range 5000 {
		text := strings.Repeat("same", rng.IntN(4)) + fmt.Sprint(rng.IntN(2000))
		if rng.IntN(100) == 0 {
			text = "nul\x00"[:rng.IntN(5)]
		}
		want, ok := known[text]
		if !ok {
			want = uint32(len(known))
			known[text] = want
		}
		if got := v.number(text); got != want || string(v.at(got)) != text {
			t.Fatalf("%q is %d (%q), want %d", text, got, v.at(got), want)
		}
	}
	var got []string
	for _, n := range v.sorted() {
		got = append(got, string(v.at(n)))
	}
	if len(got) != len(known) || !slices.IsSorted(got) {
		t.Errorf("%d of %d texts, sorted %t", len(got), len(known), slices.IsSorted(got))
	}
}

// TestGroupMemo asks for groups twice: of terms that fit a place, and that do not.
func TestGroupMemo(t *testing.T) {
	groups := map[string]string{
		"": "empty", "a": "a", "running": "run", "mice": "mouse", "x": "xylophon",
		"x2": "y23456", "antidisestablishmentarianism": "antidisestablish", "gone": "",
		"exactlytwentythreebytes": "exactly", "exactlytwentyfour_bytes_": "exactly",
	}
	asked := 0
	memo := new(groupMemo)
	for range 2 {
		for term, want := range groups {
			got := string(memo.appendGroup([]byte("|"), []byte(term), func(term string) string {
				asked++
				return groups[term]
			}))
			if got != "|"+want {
				t.Errorf("%q is of the group %q, want %q", term, got, "|"+want)
			}
		}
	}
	if asked < len(groups)+4 || asked > len(groups)+6 { // four never fit, and two may share a place
		t.Errorf("asked %d times for %d groups", asked, len(groups))
	}
}
