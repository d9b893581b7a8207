package crabdb

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// newSeed returns the seed of a random test, which it prints: that of CRABDB_SEED, or
// any.
func newSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("CRABDB_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		must(t, err)
	}
	t.Logf("CRABDB_SEED=%d", seed)
	return seed
}

// count returns how often a test does what it is about: as often as a variable of the
// environment says, or as times does.
func count(t *testing.T, variable string, usual, more int) int {
	t.Helper()
	if s := os.Getenv(variable); s != "" {
		n, err := strconv.Atoi(s)
		must(t, err)
		return n
	}
	return times(usual, more)
}

// atLeast does random runs, as many at once as there are processors, until so much of
// what they return is done, and prints how much that was.
func atLeast(t *testing.T, goal int, of string, one func(run uint64) (int, error)) {
	t.Helper()
	var done atomic.Int64
	var runs atomic.Uint64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for done.Load() < int64(goal) && !t.Failed() {
				run := runs.Add(1) - 1
				n, err := one(run)
				done.Add(int64(n))
				if err != nil {
					t.Errorf("run %d: %v", run, err)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d %s in %d runs", done.Load(), of, runs.Load())
}

// trial is a tester that any goroutine may use: a failure ends the function of try.
type trial struct{}

type failed struct{ error }

func (trial) Helper()                      {}
func (trial) Fatal(args ...any)            { panic(failed{fmt.Errorf("%s", fmt.Sprint(args...))}) }
func (trial) Fatalf(f string, args ...any) { panic(failed{fmt.Errorf(f, args...)}) }

// try runs a function and returns how it failed.
func try(fn func(t tester)) (err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failed:
			err = f.error
		default:
			panic(f)
		}
	}()
	fn(trial{})
	return nil
}
