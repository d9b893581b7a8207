package crabdb

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// A read that is under way in a transaction whose function returns, while the store
// is closed, finishes, and the file is closed behind it.
func TestReadOfAnEndedTransaction(t *testing.T) {
	m := memfs.New()
	paused, resume := make(chan struct{}), make(chan struct{})
	var armed bool
	var closed atomic.Bool
	db := mustOpen(t, memPath, quiet().On(faultfs.FS{FS: m, Hook: func(c faultfs.Call) error {
		if armed && c.Op == faultfs.Read {
			armed = false
			close(paused)
			<-resume
		}
		if c.Op == faultfs.Close {
			closed.Store(true)
		}
		return nil
	}}))
	put(t, db, "k", "v")
	closed.Store(false)
	got := make(chan error, 1)
	must(t, db.View(ctx, func(tx *Tx) error {
		armed = true
		go func() {
			_, err := tx.Get(1, []byte("k"))
			got <- err
		}()
		<-paused
		return nil
	}))
	mustClose(t, db)
	if closed.Load() {
		t.Error("the file was closed under the read")
	}
	close(resume)
	must(t, <-got)
	if !closed.Load() {
		t.Error("the file is still open")
	}
}

// Closing at any moment, while others read, write, scan, compact and check: what they
// do succeeds or says that the store is closed, and nothing of it is left behind.
func TestA28_CloseAtAnyMoment(t *testing.T) {
	for name, opts := range map[string]Options{
		"sealed":      {CompactMin: 8 << 10, CheckpointEvery: 8 << 10},
		"plain":       {Plain: true, CompactMin: 8 << 10},
		"every write": {Sync: SyncWrite, CompactMin: 8 << 10},
		"interval":    {Sync: SyncInterval, SyncEvery: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			seed := newSeed(t)
			rng := rand.New(rand.NewPCG(seed, 0))
			for range times(15, 1000) {
				closeAtAMoment(t, opts, rng.IntN(400))
			}
		})
	}
}

// closeAtAMoment closes a store when so many operations on it have been done.
func closeAtAMoment(t *testing.T, opts Options, moment int) {
	t.Helper()
	goroutines, descriptors := runtime.NumGoroutine(), openFiles(t)
	path := newPath(t)
	db := mustOpen(t, path, opts)
	for i := range 50 {
		put(t, db, fmt.Sprint("k", i), strings.Repeat("v", 100))
	}
	var group sync.WaitGroup
	var done atomic.Int64
	now := make(chan struct{})
	for w := range 11 {
		group.Go(func() {
			for i := 0; ; i++ {
				err := anything(db, w, i)
				if done.Add(1) == int64(moment) {
					close(now)
				}
				if err == nil {
					continue
				}
				if !errors.Is(err, ErrClosed) {
					t.Errorf("worker %d: %v", w, err)
				}
				return
			}
		})
	}
	if moment > 0 {
		<-now
	}
	var closers sync.WaitGroup
	for range 2 {
		closers.Go(func() {
			if err := db.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	closers.Wait()
	group.Wait()
	wantClosed(t, db)
	wantNoneLeft(t, goroutines, descriptors)
	again := mustOpen(t, path, opts)
	wantSound(t, again)
	mustClose(t, again)
}

// anything is what a worker of the given number does.
func anything(db *DB, worker, i int) error {
	key := fmt.Appendf(nil, "k%d", i%50)
	switch worker {
	case 0, 1:
		_, err := db.Get(ctx, 1, key)
		return err
	case 2, 3, 4:
		_, err := readContent(db)
		return err
	case 5:
		return db.View(ctx, func(tx *Tx) error {
			for _, err := range tx.Scan(ctx, 1, Range{}) {
				if err != nil {
					return err
				}
			}
			return nil
		})
	case 6:
		return db.Put(ctx, 1, key, fmt.Append(nil, i))
	case 7:
		return db.Update(ctx, func(tx *Tx) error { return errors.Join(tx.Put(1, key, key), tx.Put(2, key, key)) })
	case 8:
		return db.Compact(ctx)
	case 9:
		return db.Checkpoint(ctx)
	}
	if _, err := db.Check(ctx); err != nil {
		return err
	}
	return db.Backup(ctx, io.Discard)
}

// wantClosed wants every method of a closed store to say so.
func wantClosed(t *testing.T, db *DB) {
	t.Helper()
	_, get := db.Get(ctx, 1, []byte("k1"))
	_, has := db.Has(ctx, 1, []byte("k1"))
	_, del := db.Delete(ctx, 1, []byte("k1"))
	_, stats := db.Stats(ctx)
	_, check := db.Check(ctx)
	var scan error
	for _, err := range db.Scan(ctx, 1, Range{}) {
		scan = err
	}
	fn := func(*Tx) error { t.Error("it ran"); return nil }
	for name, err := range map[string]error{
		"Get": get, "Has": has, "Delete": del, "Stats": stats, "Check": check, "Scan": scan,
		"Put": db.Put(ctx, 1, nil, nil), "Update": db.Update(ctx, fn), "View": db.View(ctx, fn),
		"Checkpoint": db.Checkpoint(ctx), "Compact": db.Compact(ctx), "Sync": db.Sync(),
		"Refresh": db.Refresh(ctx), "Backup": db.Backup(ctx, io.Discard),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// wantNoneLeft wants no more goroutines and descriptors than there were. Goroutines
// that have been told to end need a moment for it.
func wantNoneLeft(t *testing.T, goroutines, descriptors int) {
	t.Helper()
	for i := 0; runtime.NumGoroutine() > goroutines; i++ {
		if i > 1_000_000 {
			t.Fatalf("%d goroutines, there were %d", runtime.NumGoroutine(), goroutines)
		}
		runtime.Gosched()
	}
	if n := openFiles(t); n > descriptors {
		t.Fatalf("%d descriptors are open, there were %d", n, descriptors)
	}
}

// openFiles counts the open descriptors of the process, where it can.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// A scan over whose loop body the store is closed ends with ErrClosed, and gives its
// file back.
func TestA28_CloseWhileScanning(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		goroutines, descriptors := runtime.NumGoroutine(), openFiles(t)
		db := mustOpen(t, newPath(t), opts)
		for i := range 10 {
			put(t, db, fmt.Sprint(i), "v")
		}
		seen := 0
		var end error
		for e, err := range db.Scan(ctx, 1, Range{}) {
			if end = err; err != nil {
				break
			}
			if seen++; seen == 4 {
				mustClose(t, db)
			}
			if string(e.Value) != "v" {
				t.Errorf("%q = %q", e.Key, e.Value)
			}
		}
		wantError(t, end, ErrClosed)
		if seen != 4 {
			t.Errorf("%d entries were seen", seen)
		}
		wantNoneLeft(t, goroutines, descriptors)
	})
}

// Close waits for the transaction at hand, which is committed, and who waits behind
// it is told that the store is closed.
func TestCloseWaitsForTheTransactionAtHand(t *testing.T) {
	m := memfs.New()
	db := mustOpen(t, memPath, quiet().On(m))
	began, closing := make(chan struct{}), make(chan struct{})
	updated, closed, waiting := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() {
		updated <- db.Update(ctx, func(tx *Tx) error {
			close(began)
			<-closing
			return tx.Put(1, []byte("k"), []byte("v"))
		})
	}()
	<-began
	go func() { waiting <- db.Put(ctx, 1, []byte("l"), nil) }()
	go func() { closed <- db.Close() }()
	wantError(t, <-waiting, ErrClosed)
	select {
	case err := <-closed:
		t.Fatalf("Close did not wait: %v", err)
	default:
	}
	close(closing)
	must(t, <-updated)
	must(t, <-closed)
	wantContent(t, mustOpen(t, memPath, quiet().On(m)), keys("k=v"))
}

// An Open that fails leaves nothing open, and no lock.
func TestFailedOpenLeavesNothingOpen(t *testing.T) {
	path := newPath(t)
	data := built(t, quiet(), func(db *DB) { put(t, db, "k", "v"); put(t, db, "l", "v") })
	writeFile(t, path, data[:len(data)-1])
	goroutines, descriptors := runtime.NumGoroutine(), openFiles(t)
	for range 20 {
		for _, opts := range []Options{quiet(), readOnly()} {
			_, err := Open(path, opts)
			wantError(t, err, ErrCorrupt)
		}
	}
	wantNoneLeft(t, goroutines, descriptors)
	writeFile(t, path, data)
	mustClose(t, mustOpen(t, path, quiet()))
}

// A file that the last one has let go of is not to be had again.
func TestReleasedFileIsNotAcquired(t *testing.T) {
	m := inMemory(t, header{}.encode())
	f, err := m.OpenFile(memPath, os.O_RDONLY, 0)
	must(t, err)
	l := newLogFile(memPath, f, false)
	if !l.acquire() {
		t.Fatal("it could not be acquired")
	}
	must(t, l.release())
	must(t, l.release())
	if l.acquire() {
		t.Fatal("it was acquired after its end")
	}
	wantError(t, l.read(make([]byte, 1), 0), fs.ErrClosed)
}
