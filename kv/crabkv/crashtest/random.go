package crashtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/crabdb/crashdisk"
)

// Random makes random histories under random options, with crashes before random
// calls, until so many crashes were looked at: usual, or what CRABSTORE_CRASHES says. It
// prints its seed, which CRABSTORE_SEED sets.
func Random(t *testing.T, usual int, subject *Subject) {
	seed, goal := seedOf(t), crashes(t, usual)
	done, run := 0, uint64(0)
	for ; done < goal; run++ {
		n, err := random(subject, seed, run)
		if done += n; err != nil {
			t.Fatalf("run %d: %v", run, err)
		}
	}
	t.Logf("%d crashes in %d histories", done, run)
}

func random(subject *Subject, seed, run uint64) (crashes int, err error) {
	rng := rand.New(rand.NewPCG(seed, run+1<<33))
	opts := randomOptions(rng)
	h, err := newHistory(subject, opts, seed, run)
	if err != nil {
		return 0, err
	}
	h.take = one(h.dice, 1+rng.IntN(20))
	for range 5 + rng.IntN(20) {
		name := engine[rng.IntN(len(engine))]
		if rng.IntN(4) > 0 {
			name = subject.any(rng).Name
		}
		if err := h.run(name); err != nil {
			return h.checked, fmt.Errorf("%+v: %w", opts, err)
		}
	}
	return h.checked, h.close()
}

// one takes one of the crashes, of any kind, at one of so many calls.
func one(dice *rand.Rand, calls int) func([]crashdisk.Loss) []crashdisk.Loss {
	return func(losses []crashdisk.Loss) []crashdisk.Loss {
		if dice.IntN(calls) > 0 {
			return nil
		}
		n := dice.IntN(len(losses))
		return losses[n : n+1]
	}
}

// randomOptions are any, and such that the engine has often something to do.
func randomOptions(rng *rand.Rand) crabdb.Options {
	opts := crabdb.Options{
		Plain:     rng.IntN(4) == 0,
		Sync:      crabdb.SyncMode(rng.IntN(3)),
		SyncEvery: time.Duration(1 + rng.IntN(1000)),
		// By itself nothing happens
		CompactRatio: -1, CheckpointEvery: -1,
	}
	if rng.IntN(2) == 0 { // unless it does
		opts.CompactRatio, opts.CompactMin = 0.3, rng.Int64N(100_000)
		opts.CompactInline = rng.IntN(2) == 0
	}
	if rng.IntN(2) == 0 {
		opts.CheckpointEvery = 1000 + rng.Int64N(100_000)
	}
	return opts
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("CRABSTORE_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("CRABSTORE_SEED=%d", seed)
	return seed
}

// crashes returns how many are wanted.
func crashes(t *testing.T, usual int) int {
	t.Helper()
	s := os.Getenv("CRABSTORE_CRASHES")
	switch {
	case s != "":
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	case testing.Short():
		return usual / 4
	}
	return usual
}
