package literal

import (
	"context"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv/crashtest"
)

// Whatever change of an index a crash interrupts, afterwards the index is that of the
// texts that are there.
func TestC22_CrashBeforeEachCall(t *testing.T) {
	crashtest.EachCall(t, crashtest.Documents(crashing),
		"put", "bulk", "drop", "checkpoint", "put", "bulk", "begin a rebuild", "put", "drop many", "rebuild",
		"compact", "optimize", "kill", "drop", "lose power", "put", "sync", "put again", "sweep", "drop many", "reopen", "put")
}

func TestC22_CrashRandom(t *testing.T) {
	crashtest.Random(t, 80, crashtest.Documents(crashing))
}

var crashing = crashtest.Index{
	Batch: func(ctx context.Context, tx kv.KVStorage) (crashtest.Batch, error) { return NewBatch(ctx, tx, ix) },
	BeginRebuild: func(ctx context.Context, s kv.KVStorage) (crashtest.Rebuild, error) {
		r, err := BeginRebuild(ctx, s, ix)
		return crashtest.Rebuild{
			Batch:  func(ctx context.Context, tx kv.KVStorage) (crashtest.Batch, error) { return r.Batch(ctx, tx) },
			Finish: func(ctx context.Context, s kv.KVStorage) error { return r.Finish(ctx, s) },
		}, err
	},
	Optimize: func(ctx context.Context, s kv.KVStorage) error { return Optimize(ctx, s, ix) },
	Sweep:    func(ctx context.Context, s kv.KVStorage) error { return Sweep(ctx, s, ix) },
	Check: func(ctx context.Context, s kv.KVStorage, texts iter.Seq2[string, string]) (any, []string, int, error) {
		var documents iter.Seq2[Document, error]
		if texts != nil {
			documents = func(yield func(Document, error) bool) {
				for key, text := range texts {
					if !yield(Document{key, text}, nil) {
						return
					}
				}
			}
		}
		r, err := Check(ctx, s, ix, "", documents)
		if err != nil {
			return nil, nil, 0, err
		}
		return r.Documents, r.Faults, r.Stray, nil
	},
	Ask: func(ctx context.Context, s kv.KVStorage, query string) (crashtest.Answer, error) {
		source := func(ctx context.Context, tx kv.KVStorage, key string) (string, error) {
			text, err := tx.Get(ctx, kv.Memory, crashtest.ContentKey(tx, key))
			return string(text), err
		}
		var answers []Result
		for _, q := range []Query{{Limit: -1, Matches: -1}, {Limit: 3}, {Limit: 3, KeyPrefix: "h1/"}, {Limit: 3, After: "h2/00"}} {
			q.Text = query
			r, err := Search(ctx, s, ix, q, source)
			if err != nil {
				return crashtest.Answer{}, err
			}
			answers = append(answers, r)
		}
		var keys []string
		for _, h := range answers[0].Hits {
			keys = append(keys, h.Key)
		}
		return crashtest.Answer{Keys: keys, All: answers}, nil
	},
	Text:  func(rng *rand.Rand) string { return randomText(rng, rng.IntN(12)) },
	Query: func(rng *rand.Rand) string { return randomNeedle(rng, randomText(rng, 3)) },
}
