package textsearch_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv/crashtest"
	"github.com/crabstore/crabstore/textsearch"
)

// The steps of TestC22_CrashBeforeEachCall.
var crashSteps = []string{
	"put", "bulk", "drop", "checkpoint", "put", "bulk", "begin a rebuild", "put", "drop many", "rebuild",
	"compact", "optimize", "kill", "drop", "lose power", "put", "sync", "put again", "sweep", "drop many", "reopen", "put",
}

// Whatever change of an index a crash interrupts, afterwards the index is that of the
// documents that are there: the same answers, scores and statistics as of a fresh one.
func TestC22_CrashBeforeEachCall(t *testing.T) {
	crashtest.EachCall(t, crashtest.Documents(crashing), crashSteps...)
}

func TestC22_CrashRandom(t *testing.T) {
	crashtest.Random(t, 120, crashtest.Documents(crashing))
}

// weighing is a batch of documents whose weights their keys say.
type weighing struct{ *textsearch.Batch }

func (b weighing) Put(ctx context.Context, key, text string) error {
	return b.Batch.Put(ctx, key, text, weightOf(key))
}

func weightOf(key string) float64 { return []float64{1, 1.3, 1.5, 3}[key[len(key)-1]%4] }

var crashing = crashtest.Index{
	Batch: func(ctx context.Context, tx kv.KVStorage) (crashtest.Batch, error) {
		b, err := textsearch.NewBatch(ctx, tx, ix)
		return weighing{b}, err
	},
	BeginRebuild: func(ctx context.Context, s kv.KVStorage) (crashtest.Rebuild, error) {
		r, err := textsearch.BeginRebuild(ctx, s, ix)
		return crashtest.Rebuild{
			Batch: func(ctx context.Context, tx kv.KVStorage) (crashtest.Batch, error) {
				b, err := r.Batch(ctx, tx)
				return weighing{b}, err
			},
			Finish: func(ctx context.Context, s kv.KVStorage) error { return r.Finish(ctx, s) },
		}, err
	},
	Optimize: func(ctx context.Context, s kv.KVStorage) error { return textsearch.Optimize(ctx, s, ix) },
	Sweep:    func(ctx context.Context, s kv.KVStorage) error { return textsearch.Sweep(ctx, s, ix) },
	Check: func(ctx context.Context, s kv.KVStorage, texts iter.Seq2[string, string]) (any, []string, int, error) {
		var documents iter.Seq2[textsearch.Document, error]
		if texts != nil {
			documents = func(yield func(textsearch.Document, error) bool) {
				for key, text := range texts {
					if !yield(textsearch.Document{Key: key, Text: text, Weight: weightOf(key)}, nil) {
						return
					}
				}
			}
		}
		r, err := textsearch.Check(ctx, s, ix, "", documents)
		if err != nil {
			return nil, nil, 0, err
		}
		return [2]uint64{r.Documents, r.Length}, r.Faults, r.Stray, nil
	},
	Ask: func(ctx context.Context, s kv.KVStorage, query string) (crashtest.Answer, error) {
		var answers []textsearch.Result
		for _, q := range []textsearch.Query{{Limit: -1}, {Limit: 3}, {Limit: 3, KeyPrefix: "h1/"}, {Limit: -1, KeyPrefix: "h2/0"}} {
			q.Text = query
			r, err := textsearch.Search(ctx, s, ix, q)
			if err != nil {
				return crashtest.Answer{}, err
			}
			if q.Limit > 0 {
				r.Total = 0 // how many there are besides is known or not
			}
			answers = append(answers, r)
		}
		all := keys(answers[0].Hits)
		if few := keys(answers[1].Hits); !slices.Equal(few, all[:min(3, len(all))]) {
			return crashtest.Answer{}, fmt.Errorf("%s: limit 3 finds %q of %q", query, few, all)
		}
		return crashtest.Answer{Keys: all, All: answers}, nil
	},
	Text: func(rng *rand.Rand) string { // short, since a segment takes hundreds
		words := make([]string, rng.IntN(7))
		for i := range words {
			words[i] = randomWord(rng)
		}
		return strings.Join(words, " ")
	},
	Query: func(rng *rand.Rand) string { return strings.Join(randomQuery(rng), " ") },
}
