package kvtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crabstore/crabstore/kv"
)

func closePromises() []promise {
	return []promise{
		{name: "ClosedStoreRefusesEveryCall", test: closedStoreRefusesEveryCall},
		{name: "A28_CloseInTheMiddle", test: closeInTheMiddle},
		{name: "CloseInAScan", test: closeInAScan},
		{name: "NothingIsLeftBehind", test: nothingIsLeftBehind},
	}
}

// close closes the store, or skips the test when it cannot be closed.
func (f *fixture) close() {
	f.Helper()
	c, ok := kv.As[io.Closer](f.store)
	if !ok {
		f.Skip("the store cannot be closed")
	}
	f.within("Close", func() { f.must(c.Close(), "Close") })
}

func closedStoreRefusesEveryCall(f *fixture) {
	f.put("k", "v")
	early := f.store.Scan(f.ctx, col, nil)
	f.close()
	f.wantClosed()
	for _, err := range early {
		f.wantError(err, kv.ErrClosed, "scan made before Close and begun after it")
	}
	if s, ok := kv.As[kv.Statser](f.store); ok {
		_, err := s.Stats(f.ctx)
		f.wantError(err, kv.ErrClosed, "Stats")
	}
	if s, ok := kv.As[kv.Checkpointer](f.store); ok {
		f.wantError(s.Checkpoint(f.ctx), kv.ErrClosed, "Checkpoint")
	}
	if s, ok := kv.As[kv.Compactor](f.store); ok {
		f.wantError(s.Compact(f.ctx), kv.ErrClosed, "Compact")
	}
	if s, ok := kv.As[kv.Backuper](f.store); ok {
		f.wantError(s.Backup(f.ctx, io.Discard), kv.ErrClosed, "Backup")
	}
	f.close() // again, harmless
	f.wantClosed()
}

// wantClosed wants ErrClosed of every call. The writes of a View may be refused
// for what they are.
func (f *fixture) wantClosed() {
	f.Helper()
	_, err := f.store.Get(f.ctx, col, []byte("k"))
	f.wantError(err, kv.ErrClosed, "Get of a closed store")
	f.wantWritesFail(f.ctx, kv.ErrClosed, kv.ErrReadOnly)
	f.wantScansFail(f.ctx, kv.ErrClosed)
	for name, run := range transactionsOf(f.store) {
		err := run(f.ctx, func(tx kv.KVStorage) error {
			_, err := tx.Get(f.ctx, col, []byte("k"))
			return err
		})
		f.wantError(err, kv.ErrClosed, "%s of a closed store", name)
	}
}

// closeInTheMiddle closes a store while readers, writers and what compacts are at
// work. Each goes on until it is told that the store is closed.
func closeInTheMiddle(f *fixture) {
	for range max(2, pick(10)) {
		s := f.on(f.open())
		s.fill(100, numbered)
		var calls atomic.Int64
		reached, enough := make(chan struct{}), rand.Int64N(500)
		var workers sync.WaitGroup
		for i, work := range slicesOfWork(s) {
			workers.Go(func() {
				for {
					err := work()
					if errors.Is(err, kv.ErrClosed) {
						return
					}
					if err != nil {
						s.Errorf("worker %d: %v; want success or ErrClosed", i, err)
						return
					}
					if calls.Add(1) == enough+1 {
						close(reached)
					}
				}
			})
		}
		s.wait(reached, "readers and writers")
		s.close()
		s.within("readers and writers of a closed store", workers.Wait)
		s.close()
		s.wantClosed()
	}
}

// slicesOfWork returns what 8 readers, 3 writers and one that compacts do over
// and over.
func slicesOfWork(f *fixture) []func() error {
	some := func() []byte { return []byte(numbered(rand.IntN(100))) }
	read := func(s kv.KVStorage) error {
		if _, err := s.Get(f.ctx, col, some()); err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		for _, err := range s.Scan(f.ctx, col, nil) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	write := func(s kv.KVStorage) error {
		if _, err := s.Delete(f.ctx, col, some()); err != nil {
			return err
		}
		return s.Put(f.ctx, col, some(), []byte("new"))
	}
	work := []func() error{
		func() error { return write(f.store) },
		func() error { return kv.Update(f.ctx, f.store, write) },
		func() error { return kv.Update(f.ctx, f.store, write) },
		func() error { return maintain(f.ctx, f.store) },
	}
	for range 4 {
		work = append(work,
			func() error { return read(f.store) },
			func() error { return kv.View(f.ctx, f.store, read) })
	}
	return work
}

func maintain(ctx context.Context, s kv.KVStorage) error {
	if c, ok := kv.As[kv.Checkpointer](s); ok {
		if err := c.Checkpoint(ctx); err != nil {
			return err
		}
	}
	if c, ok := kv.As[kv.Compactor](s); ok {
		return c.Compact(ctx)
	}
	_, err := kv.Has(ctx, s, col, []byte("k"))
	return err
}

// closeInAScan closes the store in the body of a scan, which finishes or ends
// with ErrClosed.
func closeInAScan(f *fixture) {
	const n = 300
	f.fill(n, numbered)
	seen, ended := 0, false
	for e, err := range f.store.Scan(f.ctx, col, nil) {
		switch {
		case ended:
			f.Fatalf("a scan goes on behind its error")
		case err != nil:
			f.wantError(err, kv.ErrClosed, "scan of a store that was closed under it")
			ended = true
		case string(e.Key) != numbered(seen):
			f.Fatalf("got %q, want %q", e.Key, numbered(seen))
		default:
			if seen++; seen == n/2 {
				f.close()
			}
		}
	}
	if !ended && seen != n {
		f.Fatalf("the scan ended after %d of %d entries without an error", seen, n)
	}
}

// nothingIsLeftBehind counts goroutines and, where the system tells of them, open
// files. The first store pays for what a driver starts once.
func nothingIsLeftBehind(f *fixture) {
	const stores = 4
	useAndClose(f)
	before, files := runtime.NumGoroutine(), openFiles()
	for range stores {
		useAndClose(f.on(f.open()))
	}
	limit := time.Now().Add(f.patience)
	for runtime.NumGoroutine() > before || openFiles() > files {
		if time.Now().After(limit) {
			f.Fatalf("%d stores left %d goroutines and %d open files behind",
				stores, runtime.NumGoroutine()-before, openFiles()-files)
		}
		runtime.GC()
	}
}

func useAndClose(f *fixture) {
	f.Helper()
	f.fill(100, numbered)
	for range f.store.Scan(f.ctx, col, nil) {
		break
	}
	_ = kv.Update(f.ctx, f.store, func(kv.KVStorage) error { return errRollBack })
	f.together(4, func(i int) error {
		for _, err := range f.store.ScanKeys(f.ctx, col, nil) {
			if err != nil {
				return err
			}
		}
		return f.store.Put(f.ctx, col, fmt.Append(nil, i), nil)
	})
	f.close()
}

// openFiles returns how many descriptors the process has, or 0.
func openFiles() int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(files)
}
