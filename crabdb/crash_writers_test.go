package crabdb

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// counters are writers at the same time, each of which counts up two keys of its own
// in transactions. acked is what each was told to be written.
type counters struct {
	acked [4]atomic.Uint64
	left  []counted // under mu
	mu    sync.Mutex
	rng   *rand.Rand // under mu
}

// counted is what a crash left, and up to where each writer had been told.
type counted struct {
	left  *memfs.FS
	acked [4]uint64
	what  string
}

func (c *counters) hook(m *memfs.FS) func(faultfs.Call) error {
	return func(call faultfs.Call) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !call.Op.Changes() || c.rng.IntN(40) > 0 {
			return nil
		}
		x := counted{what: call.String()}
		for i := range c.acked {
			x.acked[i] = c.acked[i].Load()
		}
		x.left = m.Crash(func() memfs.Fate { return memfs.Fate(c.rng.IntN(5)) },
			func() memfs.Change { return memfs.Change(c.rng.IntN(3)) })
		c.left = append(c.left, x)
		return nil
	}
}

func (c *counters) count(db *DB, i int, n uint64) error {
	value := binary.BigEndian.AppendUint64(nil, n)
	err := db.Update(ctx, func(tx *Tx) error {
		if err := tx.Put(1, []byte{byte(i)}, value); err != nil {
			return err
		}
		return tx.Put(2, []byte{byte(i)}, value)
	})
	if err == nil {
		c.acked[i].Store(n)
	}
	return err
}

// wantCounted wants every writer to be where it was told, or further, and its two
// keys to be equal.
func (x counted) wantCounted(t tester) {
	db, err := Open(memPath, quiet().On(x.left))
	must(t, err)
	defer db.Close()
	for i, acked := range x.acked {
		var found [2]uint64
		for k := range found {
			value, err := db.Get(ctx, byte(k+1), []byte{byte(i)})
			if err == nil {
				found[k] = binary.BigEndian.Uint64(value)
			} else if acked > 0 {
				t.Fatalf("writer %d was told %d: %v", i, acked, err)
			}
		}
		if found[0] != found[1] || found[0] < acked {
			t.Fatalf("writer %d was told %d, and its keys hold %v", i, acked, found)
		}
	}
	wantSoundIndex(t, db)
}

// TestCrashWriters crashes while writers share the syncs of SyncWrite and compactions
// and checkpoints run beside them: whatever a writer was told is there.
func TestCrashWriters(t *testing.T) {
	seed := newSeed(t)
	atLeast(t, count(t, "CRABDB_CRASHES", 1000, 100_000), "crashes", func(run uint64) (int, error) {
		m := memfs.New()
		c := &counters{rng: rand.New(rand.NewPCG(seed, run))}
		opts := Options{Sync: SyncWrite, CompactMin: int64(c.rng.IntN(4000)), CheckpointEvery: 500 + c.rng.Int64N(4000), leastSpace: 1 + c.rng.Int64N(1000)}
		db, err := Open(memPath, opts.On(faultfs.FS{FS: m, Hook: c.hook(m)}))
		if err != nil {
			return 0, err
		}
		var writers sync.WaitGroup
		var failure atomic.Pointer[error]
		for i := range c.acked {
			writers.Go(func() {
				for n := range uint64(60) {
					if err := c.count(db, i, n+1); err != nil {
						failure.Store(&err)
					}
				}
			})
		}
		writers.Wait()
		if err := db.Close(); err != nil {
			return 0, err
		}
		if err := failure.Load(); err != nil {
			return 0, *err
		}
		for _, x := range c.left {
			if err := try(x.wantCounted); err != nil {
				return len(c.left), fmt.Errorf("before %s: %w", x.what, err)
			}
		}
		return len(c.left), nil
	})
}
