package textsearch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/textsearch"
)

// skewed returns a word: of some verb in some form, the first verbs by far the most
// common, or one of many rare ones.
func skewed(rng *rand.Rand) string {
	if rng.IntN(8) == 0 {
		return fmt.Sprintf("rare%c%c", 'a'+rng.IntN(26), 'a'+rng.IntN(26))
	}
	at := min(rng.IntN(len(verbs)), rng.IntN(len(verbs)), rng.IntN(len(verbs)))
	return verbs[at] + endings[min(rng.IntN(len(endings)), rng.IntN(len(endings)))]
}

// fillSkewed puts documents in batches of any size.
func fillSkewed(t *testing.T, s kv.KVStorage, rng *rand.Rand, n int) {
	t.Helper()
	for n > 0 {
		size := min(n, []int{3, 300, 5000}[rng.IntN(3)])
		n -= size
		err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
			b, err := textsearch.NewBatch(ctx, tx, ix)
			if err != nil {
				return err
			}
			for range size {
				var text strings.Builder
				for range 1 + rng.IntN(60) {
					text.WriteString(skewed(rng) + " ")
				}
				key := fmt.Sprintf("h%03d/%05d", rng.IntN(100), rng.IntN(1000))
				if err := b.Put(ctx, key, text.String(), []float64{1, 1, 1, 1.5, 2}[rng.IntN(5)]); err != nil {
					return err
				}
			}
			return b.Flush(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What a search leaves out because it cannot be among the best is not among them: a
// search with a limit finds the first hits of one that looks at everything, with the
// same scores and words, whatever the segments are.
func TestC16_LimitIsThePrefixOfAll(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rounds, size := 3, 25_000
	if testing.Short() {
		rounds, size = 1, 12_000
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		s := memkv.New()
		fillSkewed(t, s, rng, size)
		if rng.IntN(2) == 0 {
			if err := textsearch.Optimize(ctx, s, ix); err != nil {
				t.Fatal(err)
			}
			fillSkewed(t, s, rng, 700)
		}
		for range 150 {
			var words []string
			for range 1 + rng.IntN(4) {
				w := skewed(rng)
				switch rng.IntN(8) {
				case 0:
					w = w[:2+rng.IntN(len(w)-2)] + "*"
				case 1:
					w = `"` + w + `"`
				}
				words = append(words, w)
			}
			q := textsearch.Query{Text: strings.Join(words, " "), Limit: -1}
			if rng.IntN(4) == 0 {
				q.KeyPrefix = fmt.Sprintf("h%02d", rng.IntN(10))
			}
			comparePages(t, s, q, rng)
		}
		if t.Failed() {
			t.Fatalf("in round %d of seed %d", round, seed)
		}
	}
}

func comparePages(t *testing.T, s kv.KVStorage, q textsearch.Query, rng *rand.Rand) {
	t.Helper()
	all := search(t, s, q)
	for _, limit := range []int{1, 10, 100} {
		q.Limit = limit
		got := search(t, s, q)
		want := all.Hits[:min(limit, len(all.Hits))]
		if !slices.EqualFunc(got.Hits, want, sameHit) {
			t.Errorf("%q below %q: limit %d finds\n%v, want\n%v", q.Text, q.KeyPrefix, limit, got.Hits, want)
		}
	}
	if len(all.Hits) == 0 {
		return
	}
	from := rng.IntN(len(all.Hits))
	q.After, q.Limit = all.Hits[from].Cursor(), 10
	got, want := search(t, s, q), all.Hits[from+1:min(from+11, len(all.Hits))]
	if !slices.EqualFunc(got.Hits, want, sameHit) {
		t.Errorf("%q after %d finds\n%v, want\n%v", q.Text, from, got.Hits, want)
	}
}

func sameHit(a, b textsearch.Hit) bool {
	return a.Key == b.Key && a.Score == b.Score && a.Rank == b.Rank && slices.Equal(a.Words, b.Words)
}

// ending is a context that ends when it was asked for its error so often.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// A search that is cancelled, wherever it is, leaves nothing to the next one.
func TestCancelledSearches(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	s := memkv.New()
	fillSkewed(t, s, rng, 25_000)
	if err := textsearch.Optimize(ctx, s, ix); err != nil { // so that lists have several values
		t.Fatal(err)
	}
	q := textsearch.Query{Text: "deploy crash jump fixed limp", Limit: 20}
	want := search(t, s, q)
	cancelled := 0
	for n := 0; ; n++ {
		// What is in no cache is read, and that can be cancelled in the middle of a window.
		_, err := textsearch.Search(&ending{ctx, n}, copyOf(t, s), ix, q)
		if got := search(t, s, q); !slices.EqualFunc(got.Hits, want.Hits, sameHit) {
			t.Fatalf("after a search cancelled at call %d: %v, want %v", n, got.Hits, want.Hits)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled at call %d: %v", n, err)
		}
		cancelled++
	}
	if cancelled < 10 {
		t.Errorf("cancelled in %d places only", cancelled)
	}
}
