package kvtest

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// Config says how to open the store under test and what it declares of itself.
type Config struct {
	// Open returns a new empty store. The suite closes it, where it can be closed,
	// at the end of the test; what else there is to clean up goes to t.Cleanup. It
	// is called some hundred times.
	Open func(t testing.TB) kv.KVStorage

	// Reopen closes s, which Open or Reopen returned, and opens again what it
	// persisted. Nil means that the store persists nothing.
	Reopen func(t testing.TB, s kv.KVStorage) kv.KVStorage

	// MaxValue is the size in bytes of the largest value that the store takes.
	// Zero means kv.MaxValueSize.
	MaxValue int

	// NonAtomic declares that kv.Atomic is false: a crash may leave part of an
	// Update.
	NonAtomic bool

	// patience is how long the suite waits for a call before it takes it for
	// stuck. Zero means defaultPatience.
	patience time.Duration
}

// defaultPatience is far above what any call of the suite takes on a busy machine.
const defaultPatience = 3 * time.Minute

// Run tests that the store keeps every promise of kv. The tests run one after the
// other; the one about goroutines counts those of the whole process, so other
// tests should not run at the same time.
func Run(t *testing.T, c Config) { run(t, c, promises()) }

func run(t *testing.T, c Config, all []promise) {
	c = c.withDefaults()
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) { p.check(newFixture(t, c)) })
		if p.everywhere {
			t.Run("InTransaction/"+p.name, func(t *testing.T) { p.checkInTransaction(newFixture(t, c)) })
		}
	}
}

func (c Config) withDefaults() Config {
	if c.MaxValue == 0 {
		c.MaxValue = kv.MaxValueSize
	}
	if c.patience == 0 {
		c.patience = defaultPatience
	}
	return c
}

// newFixture opens a store for one test.
func newFixture(t testing.TB, c Config) *fixture {
	f := &fixture{TB: t, Config: c, tb: t, ctx: context.Background()}
	return f.on(f.open())
}

// open returns a new store that is closed when the test ends.
func (f *fixture) open() kv.KVStorage {
	s := f.Open(f.tb)
	f.tb.Cleanup(func() {
		if c, ok := kv.As[io.Closer](s); ok {
			c.Close()
		}
	})
	return s
}
