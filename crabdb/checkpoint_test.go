package crabdb

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
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
	_, _, covers, err := db.decodeSnapshot(value[recordFrame:], db.log.end.Load())
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

// A snapshot that is taken while the length of a replaced record, too long for the
// index to have it, is being read counts that record as dead.
func TestSnapshotWhileALongRecordIsReplaced(t *testing.T) {
	for name, replace := range map[string]func(db *DB) error{
		"put":    func(db *DB) error { return db.Put(ctx, 1, []byte("k"), []byte("short")) },
		"delete": func(db *DB) error { _, err := db.Delete(ctx, 1, []byte("k")); return err },
	} {
		t.Run(name, func(t *testing.T) {
			m := memfs.New()
			p := pause(func(c faultfs.Call) bool { return c.Op == faultfs.Read })
			db := mustOpen(t, memPath, quiet().On(faultfs.FS{FS: m, Hook: p.hook}))
			put(t, db, "k", strings.Repeat("v", unknownSize))
			stats(t, db) // a version to take, so that nobody waits for the next
			p.armed.Store(true)
			done := make(chan error, 1)
			go func() { done <- replace(db) }()
			<-p.came
			value, err := db.encodeSnapshot() // what a checkpoint beside it does
			must(t, err)
			close(p.resume)
			must(t, <-done)
			_, live, covers, err := db.layout.decodeSnapshot(value[recordFrame:], db.end())
			must(t, err)
			if want := stats(t, db); covers == want.File && live != want.Live {
				t.Fatalf("a snapshot of the whole log counts %d bytes as live; they are %d", live, want.Live)
			}
		})
	}
}
