package crabdb

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// A snapshot that is taken between the append of a record and its entry into the
// index must not claim to cover that record.
func TestSnapshotCoversOnlyWhatIsIndexed(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "s")
	db := mustOpen(t, path, Options{CheckpointEvery: -1})
	if err := db.Put(ctx, 0, []byte("a"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	// What a Put does, cut between its two steps.
	if err := db.append(db.encode(opPut, 0, []byte("b"), []byte("2"))); err != nil {
		t.Fatal(err)
	}
	value, err := db.encodeSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	_, _, covers, err := db.decodeSnapshot(value, db.log.end.Load())
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(headerSize + db.size(1, 1)); covers != want {
		t.Fatalf("the snapshot covers %d bytes, want %d", covers, want)
	}
	mustClose(t, db)
}

// Checkpoints and compactions beside writers lose nothing that was acknowledged.
func TestCheckpointsBesideWriters(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "s")
	db := mustOpen(t, path, Options{CompactMin: 1 << 12, CheckpointEvery: 1 << 12})
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 2000 {
				if err := db.Put(ctx, byte(w), fmt.Appendf(nil, "k%d", i%500), fmt.Append(nil, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	var checkpoints sync.WaitGroup
	checkpoints.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := db.Checkpoint(ctx); err != nil {
					t.Error(err)
				}
			}
		}
	})
	writers.Wait()
	close(stop)
	checkpoints.Wait()
	want := dump(t, db)
	if err := db.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	for range 2 {
		db = mustOpen(t, path, Options{})
		if got := dump(t, db); got != want {
			t.Fatalf("%d bytes of dump after a reopen, want %d", len(got), len(want))
		}
		mustClose(t, db)
	}
}
