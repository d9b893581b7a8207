package pebblekv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/crabstore/crabstore/kv"
)

// TestB08_IteratorsAreNotTheCallers keeps what a scan and a Get handed out beyond the
// iterator, the writes that use its buffers again, and the store.
func TestB08_IteratorsAreNotTheCallers(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{tune: small})
	all := fill(t, s, 0, 100)
	kept := map[string]kv.Entry{}
	for e, err := range s.Scan(ctx, kv.Memory, nil) {
		if err != nil {
			t.Fatal(err)
		}
		kept[string(e.Key)] = e
	}
	got, err := s.Get(ctx, kv.Memory, []byte("key/000050"))
	if err != nil {
		t.Fatal(err)
	}
	for key := range all {
		put(t, s, key, "other")
	}
	fill(t, s, 100, 1100)
	shut(t, s)
	for key, e := range kept {
		if string(e.Key) != key || string(e.Value) != all[key] {
			t.Fatalf("%q became %.40q, %.40q", key, e.Key, e.Value)
		}
	}
	if string(got) != all["key/000050"] {
		t.Fatal("what Get returned has changed")
	}
}

// TestB08_EarlyExitsLeakNothing leaves scans, views and scans of views in the middle: pebble
// would tell of what is still open when the store is closed.
func TestB08_EarlyExitsLeakNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{})
	fill(t, s, 0, 100)
	leave := func(s kv.KVStorage) {
		for range s.Scan(ctx, kv.Memory, nil) {
			break
		}
		for range s.ScanKeys(ctx, kv.Memory, []byte("key/00009")) {
			break
		}
		for range kv.ScanRange(ctx, s, kv.Memory, kv.Range{Reverse: true}) {
			break
		}
	}
	leave(s)
	never := errors.New("never")
	for _, run := range []func(context.Context, func(kv.KVStorage) error) error{s.View, s.Update} {
		wantError(t, run(ctx, func(tx kv.KVStorage) error { leave(tx); return never }), never)
		func() {
			defer func() { _ = recover() }()
			_ = run(ctx, func(tx kv.KVStorage) error {
				for range tx.Scan(ctx, kv.Memory, nil) {
					panic("in the middle")
				}
				return nil
			})
		}()
	}
	shut(t, s)
	shut(t, s)
}

// TestB08_ClosedInTheMiddle closes a store within a scan, and within a scan of a view that
// outlives the view. What they hold open is let go of at their end.
func TestB08_ClosedInTheMiddle(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	fill(t, s, 0, 100)
	entered, left, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	err := s.View(ctx, func(tx kv.KVStorage) error {
		go func() {
			defer close(ended)
			first := true
			for range tx.Scan(ctx, kv.Memory, nil) {
				if first {
					close(entered)
					<-left
				}
				first = false
			}
		}()
		<-entered
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range s.Scan(ctx, kv.Memory, nil) {
		shut(t, s)
		if _, err := Open(dir, Options{}); !errors.Is(err, kv.ErrBusy) {
			t.Fatalf("opened again under a scan: %v", err)
		}
	}
	close(left)
	<-ended
	put(t, open(t, dir, Options{}), "k", "v")
}

// TestWritingBesideTheTransactionWaitsForItself is what the package comment says.
func TestWritingBesideTheTransactionWaitsForItself(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{})
	err := s.Update(ctx, func(kv.KVStorage) error {
		ended, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
		defer cancel()
		return s.Put(ended, kv.Memory, []byte("k"), nil)
	})
	wantError(t, err, context.DeadlineExceeded)
	err = s.Update(ctx, func(tx kv.KVStorage) error {
		if err := tx.Put(ctx, kv.Memory, []byte("k"), nil); err != nil {
			t.Error(err)
		}
		return s.Close()
	})
	wantError(t, err, kv.ErrClosed)
}

// TestLargestValues writes what goes around pebble's memtables.
func TestLargestValues(t *testing.T) {
	sizes := []int{memTableSize/2 - 100, memTableSize / 2, memTableSize}
	if !testing.Short() {
		sizes = append(sizes, kv.MaxValueSize)
	}
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	block := []byte(noise(1, 1<<16))
	for round := range 2 {
		for _, size := range sizes {
			key := fmt.Append(nil, size)
			value := bytes.Repeat(block, size/len(block)+1)[:size]
			if round == 0 {
				if err := s.Put(ctx, kv.Artifact, key, value); err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.Get(ctx, kv.Artifact, key)
			if err != nil || !bytes.Equal(got, value) {
				t.Fatalf("round %d: %d bytes came back as %d, %v", round, size, len(got), err)
			}
		}
		shut(t, s)
		s = open(t, dir, Options{})
	}
}

// TestTransactionsBeyondTheLimitAreRefused does not write 2 GiB to see it.
func TestTransactionsBeyondTheLimitAreRefused(t *testing.T) {
	value := make([]byte, kv.MaxValueSize) // never touched, so that it takes no memory
	changes := make([]kv.Change, 7)
	for i := range changes {
		changes[i] = kv.Change{Key: []byte("k"), Value: value}
	}
	if size, err := batchSize(changes); err != nil || size < 7*kv.MaxValueSize {
		t.Fatalf("%d bytes, %v", size, err)
	}
	_, err := batchSize(append(changes, changes[0]))
	wantError(t, err, kv.ErrTxTooLarge)
}

// TestCompactGivesSpaceBack deletes nearly all.
func TestCompactGivesSpaceBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{tune: small})
	all := fill(t, s, 0, 2000)
	for key := range all {
		if key != "key/000007" {
			if _, err := s.Delete(ctx, kv.Memory, []byte(key)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, path := range filesOf(t, dir, "") {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > 100<<10 {
		t.Fatalf("a store of a kilobyte takes %d bytes", size)
	}
	want(t, s, "key/000007", all["key/000007"])
}

// TestCheckpointOfNothingDoesNothing looks at the files.
func TestCheckpointOfNothingDoesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	unchanged(t, dir, func() {
		if err := s.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
	})
	put(t, s, "k", "v")
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	filesOf(t, dir, ".sst")
	s.db.TestOnlyWaitForCleaning()
	unchanged(t, dir, func() {
		if err := s.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

// TestWhatPebbleWouldEndTheProcessForPoisons calls the logger as pebble does.
func TestWhatPebbleWouldEndTheProcessForPoisons(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{})
	put(t, s, "k", "v")
	var logger pebble.Logger = &s.news
	logger.Infof("nothing")
	logger.Errorf("nothing")
	logger.Fatalf("on %s", "purpose")
	wantError(t, s.Put(ctx, kv.Memory, []byte("k"), nil), ErrPoisoned)
	want(t, s, "k", "v")
	wantError(t, s.Close(), ErrPoisoned)
}

func TestRealm(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	if s.Realm() != kv.DefaultRealm {
		t.Errorf("the realm of a store without one is %q", s.Realm())
	}
	shut(t, s)
	if s = open(t, dir, Options{Realm: "acme"}); string(kv.Key(s, "memory", "x")) != "acme/memory/x" {
		t.Errorf("a key in the realm acme is %q", kv.Key(s, "memory", "x"))
	}
}
