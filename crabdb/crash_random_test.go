package crabdb

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// crashOptions are those that a random history may have.
func crashOptions(rng *rand.Rand) Options {
	opts := quiet()
	opts.Sync = SyncMode(rng.IntN(3))
	opts.SyncEvery = time.Duration(1 + rng.IntN(1000))
	opts.Plain = rng.IntN(4) == 0
	if rng.IntN(2) == 0 {
		opts.CompactRatio, opts.CompactMin = 0.5, int64(rng.IntN(8000))
		opts.CompactInline = rng.IntN(2) == 0
	}
	if rng.IntN(2) == 0 {
		opts.leastSpace = 1 + rng.Int64N(4000)
	}
	if rng.IntN(2) == 0 {
		opts.CheckpointEvery = 500 + rng.Int64N(8000)
	}
	return opts
}

// TestCrashRandom crashes random histories under random options before random calls:
// as many crashes as CRABDB_CRASHES says.
func TestCrashRandom(t *testing.T) {
	seed := newSeed(t)
	atLeast(t, count(t, "CRABDB_CRASHES", 30_000, 1_000_000), "crashes", func(run uint64) (int, error) {
		rng := rand.New(rand.NewPCG(seed, run))
		opts := crashOptions(rng)
		c := newCrasher(opts, seed, run)
		c.keys, c.alike = 4+rng.IntN(30), rng.IntN(2) == 0
		c.pick = func() bool { return c.rng.IntN(100) == 0 }
		steps := append(script(rng), script(rng)...)
		for range rng.IntN(6) { // often one soon after another
			for at := rng.IntN(len(steps)); at < len(steps); at += 2 + rng.IntN(5) {
				steps = slices.Insert(steps, at, []string{"kill", "crash"}[rng.IntN(2)])
				if rng.IntN(2) == 0 {
					break
				}
			}
		}
		if err := c.run(rng, steps); err != nil {
			return c.checked, fmt.Errorf("%+v: %w", opts, err)
		}
		return c.checked, nil
	})
}
