package pebblekv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/crabstore/crabstore/kv"
)

// TestA05_DiskFullAtAnyChange makes a disk full behind any of the changes that a history
// makes of it, for ever and for one change: nothing that was acknowledged is
// lost, what is there is a prefix of the history, no process ends and nothing waits.
func TestA05_DiskFullAtAnyChange(t *testing.T) {
	step := 7 // from a random change on
	if testing.Short() {
		step = 23
	}
	for _, o := range []Options{{tune: small}, {tune: small, SyncWrites: true}} {
		for _, hits := range []int64{0, 1} {
			t.Run(fmt.Sprintf("sync=%v,hits=%d", o.SyncWrites, hits), func(t *testing.T) {
				n := rand.IntN(step)
				t.Logf("every %d from %d on", step, n)
				for ; ; n += step {
					fsys := newFaulty(n)
					fsys.hits = hits
					if testFullDisk(t, fsys, o); !fsys.fell() {
						break
					}
				}
				t.Logf("%d changes", n)
			})
		}
	}
}

const history = 120 // puts of a kilobyte: two flushes

func testFullDisk(t *testing.T, fsys *faulty, o Options) {
	at := fsys.left.Load()
	acknowledged := 0
	if s, err := openOn(fsys, "/store", o); err == nil {
		acknowledged = writeUntilFull(t, s)
		for i := range acknowledged {
			want(t, s, fmt.Sprintf("key/%06d", i), noise(i, 1<<10))
		}
		poisoned := s.disk.failed() != nil
		if err := s.Close(); (err != nil) != (poisoned || s.disk.failed() != nil) {
			t.Fatalf("full at %d: Close: %v; poisoned: %v", at, err, s.disk.failed())
		}
	} else if !fsys.fell() {
		t.Fatalf("full at %d: %v", at, err)
	}
	fsys.heal()
	s, err := openOn(fsys, "/store", o)
	if err != nil {
		t.Fatalf("full at %d: opening again: %v", at, err)
	}
	all := content(t, s, kv.Memory)
	if len(all) < acknowledged || len(all) > acknowledged+1 {
		t.Fatalf("full at %d: %d writes were acknowledged, %d are there", at, acknowledged, len(all))
	}
	for i := range len(all) {
		want(t, s, fmt.Sprintf("key/%06d", i), noise(i, 1<<10))
	}
	fill(t, s, len(all), len(all)+1)
	shut(t, s)
}

// writeUntilFull writes a history, or as much of it as can be written.
func writeUntilFull(t *testing.T, s *Store) (acknowledged int) {
	for i := range history {
		err := s.Put(ctx, kv.Memory, fmt.Appendf(nil, "key/%06d", i), []byte(noise(i, 1<<10)))
		if err == nil && i == history/2 {
			err = s.Checkpoint(ctx)
			if err == nil {
				acknowledged++
				continue
			}
			acknowledged++ // the put was
		}
		if err != nil {
			wantError(t, err, ErrPoisoned, syscall.ENOSPC)
			wantPoisoned(t, s)
			return acknowledged
		}
		acknowledged++
	}
	return acknowledged
}

func wantPoisoned(t *testing.T, s *Store) {
	t.Helper()
	for name, err := range map[string]error{
		"Put":        s.Put(ctx, kv.Memory, []byte("more"), nil),
		"Update":     s.Update(ctx, func(kv.KVStorage) error { t.Error("called"); return nil }),
		"Checkpoint": s.Checkpoint(ctx),
		"Compact":    s.Compact(ctx),
		"Backup":     s.Backup(ctx, new(strings.Builder)),
	} {
		if !errors.Is(err, ErrPoisoned) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s of a poisoned store: %v", name, err)
		}
	}
	st, err := s.Stats(ctx)
	if text, _ := st.Detail["poisoned"].(string); err != nil || !strings.Contains(text, "no space") {
		t.Errorf("Stats of a poisoned store: %v, %v", st.Detail, err)
	}
}

// TestPoisonedInTheMiddle fails one file of each kind while much is written, so that
// flushes and compactions are at work.
func TestPoisonedInTheMiddle(t *testing.T) {
	for _, kind := range []string{"log", "sst", "MANIFEST", "marker"} {
		t.Run(kind, func(t *testing.T) {
			fsys := newFaulty(1 << 30)
			fsys.spared = func(name string, c vfs.DiskWriteCategory) bool {
				return !strings.Contains(filepath.Base(name), kind) || c == "pebble-compaction"
			}
			s, err := openOn(fsys, "/store", Options{tune: small})
			if err != nil {
				t.Fatal(err)
			}
			fill(t, s, 0, 1000)
			fsys.left.Store(0)
			acknowledged := 1000
			for err == nil && acknowledged < 10_000 {
				if err = s.Put(ctx, kv.Memory, fmt.Appendf(nil, "key/%06d", acknowledged), []byte(noise(acknowledged, 1<<10))); err == nil {
					acknowledged++
				}
			}
			wantError(t, err, ErrPoisoned)
			wantPoisoned(t, s)
			if len(content(t, s, kv.Memory)) < acknowledged {
				t.Fatal("a write that was acknowledged is not to be read")
			}
			wantError(t, s.Close(), ErrPoisoned)
			fsys.heal()
			if s, err = openOn(fsys, "/store", Options{tune: small}); err != nil {
				t.Fatal(err)
			}
			if n := len(content(t, s, kv.Memory)); n < acknowledged || n > acknowledged+1 {
				t.Fatalf("%d entries, %d were acknowledged", n, acknowledged)
			}
			shut(t, s)
		})
	}
}

// TestFailedCompactionsPoisonNothing fills the disk for compactions alone.
func TestFailedCompactionsPoisonNothing(t *testing.T) {
	fsys := newFaulty(1 << 30)
	fsys.spared = func(_ string, c vfs.DiskWriteCategory) bool { return c != "pebble-compaction" }
	s, err := openOn(fsys, "/store", Options{tune: small})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	fsys.left.Store(0)
	all := fill(t, s, 0, 1000)
	if err := s.Compact(ctx); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrPoisoned) {
		t.Fatalf("Compact: %v", err)
	}
	st, err := s.Stats(ctx)
	if text, _ := st.Detail["background_failure"].(string); err != nil || !strings.Contains(text, "no space") {
		t.Fatalf("Stats: %v, %v", st, err)
	}
	put(t, s, "key/000001", "again")
	all["key/000001"] = "again"
	if failures := fsys.hit.Load(); failures > 100 {
		t.Errorf("compactions failed %d times: they do not rest", failures)
	}
	fsys.heal()
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	wantContent(t, s, all)
	shut(t, s)
}
