package pebblekv

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/crabstore/crabstore/kv"
)

// TestPowerLoss takes the power from a store that is written, at random moments, with a
// random part of what was not synced there afterwards: what is left is a prefix of the
// history that goes at least as far as the last checkpoint or, where writes sync, the
// last write.
func TestPowerLoss(t *testing.T) {
	losses, seed := 25, uint64(time.Now().UnixNano())
	if testing.Short() {
		losses = 10
	}
	t.Logf("seed %d", seed)
	for _, syncWrites := range []bool{false, true} {
		t.Run(fmt.Sprintf("sync=%v", syncWrites), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			fsys := vfs.NewCrashableMem()
			for generation, begun := 0, 0; generation < losses; generation++ {
				begun, fsys = writeUntilPowerLoss(t, fsys, syncWrites, begun, random)
			}
		})
	}
}

// writeUntilPowerLoss writes on from n writes, and returns how many there are of them, and
// the file system, after the loss.
func writeUntilPowerLoss(t *testing.T, fsys *vfs.MemFS, syncWrites bool, n int, random *rand.Rand) (int, *vfs.MemFS) {
	s, err := openOn(fsys, "/store", Options{SyncWrites: syncWrites, tune: small})
	if err != nil {
		t.Fatalf("after %d writes: %v", n, err)
	}
	defer s.Close()
	var begun, safe atomic.Int64
	begun.Store(int64(n))
	safe.Store(int64(n)) // opening flushes what it replays
	ready, stop := make(chan struct{}), make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		until, checkpoints := n+1+random.IntN(300), 20+random.IntN(100)
		for i := n; ; i++ {
			if i == until {
				close(ready)
			}
			select {
			case <-stop:
				return
			default:
			}
			begun.Store(int64(i + 1))
			if err := powerWrite(s, i); err != nil {
				t.Error(err)
				return
			}
			if syncWrites {
				safe.Store(int64(i + 1))
			} else if i%checkpoints == 0 {
				if err := s.Checkpoint(ctx); err != nil {
					t.Error(err)
					return
				}
				safe.Store(int64(i + 1))
			}
		}
	})
	<-ready
	least := safe.Load()
	after := fsys.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})
	most := begun.Load()
	close(stop)
	writer.Wait()
	return checkPowerLoss(t, after, int(least), int(most)), after
}

func powerWrite(s *Store, i int) error {
	return s.Update(ctx, func(tx kv.KVStorage) error {
		for _, col := range []kv.Column{kv.Session, kv.Text} {
			if err := tx.Put(ctx, col, fmt.Appendf(nil, "%08d", i), []byte(noise(i, 30+i%700))); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkPowerLoss(t *testing.T, fsys vfs.FS, least, most int) int {
	t.Helper()
	s, err := openOn(fsys, "/store", Options{ReadOnly: true})
	if err != nil {
		t.Fatalf("after the loss: %v", err)
	}
	defer s.Close()
	left, right := content(t, s, kv.Session), content(t, s, kv.Text)
	if len(left) < least || len(left) > most || len(left) != len(right) {
		t.Fatalf("%d and %d writes are there, want %d to %d", len(left), len(right), least, most)
	}
	for i := range len(left) {
		key := fmt.Sprintf("%08d", i)
		if want := noise(i, 30+i%700); left[key] != want || right[key] != want {
			t.Fatalf("write %d of %d is not what it was", i, len(left))
		}
	}
	return len(left)
}
