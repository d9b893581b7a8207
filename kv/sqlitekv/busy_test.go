package sqlitekv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// Two stores on one file stand for two processes: a store queues its own writers.
func twoStores(t *testing.T) (mine, others *Store) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	var stores [2]*Store
	for i := range stores {
		s, err := Open(ctx, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		stores[i] = s
	}
	return stores[0], stores[1]
}

// hold has a store hold the lock for writing until it is released.
func hold(s *Store) (release func()) {
	end, ended := make(chan struct{}), make(chan error)
	go func() {
		ended <- s.Update(ctx, func(kv.KVStorage) error {
			<-end
			return nil
		})
	}()
	synctest.Wait()
	return func() {
		close(end)
		<-ended
	}
}

func writes(s *Store) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"Put": func(ctx context.Context) error { return s.Put(ctx, kv.Memory, []byte("k"), nil) },
		"Delete": func(ctx context.Context) error {
			_, err := s.Delete(ctx, kv.Memory, []byte("k"))
			return err
		},
		"Update": func(ctx context.Context) error {
			return s.Update(ctx, func(tx kv.KVStorage) error { return tx.Put(ctx, kv.Memory, []byte("k"), nil) })
		},
		"Compact": s.Compact,
	}
}

func TestBusyAfterFiveSecondsAndFourTries(t *testing.T) {
	for name := range writes(nil) {
		synctest.Test(t, func(t *testing.T) {
			mine, others := twoStores(t)
			release := hold(others)
			before := time.Now()
			err := writes(mine)[name](ctx)
			if !errors.Is(err, kv.ErrBusy) || !strings.Contains(err.Error(), mine.file.path) {
				t.Errorf("%s: %v; want kv.ErrBusy with the path", name, err)
			}
			if waited, want := time.Since(before), 5*time.Second+375*time.Millisecond; waited != want {
				t.Errorf("%s: waited for %v; want %v", name, waited, want)
			}
			release()
			if err := writes(mine)[name](ctx); err != nil {
				t.Errorf("%s when the lock is free: %v", name, err)
			}
		})
	}
}

func TestTheLockIsTakenWhenItIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, others := twoStores(t)
		release := hold(others)
		done := make(chan error, 1)
		before := time.Now()
		go func() { done <- mine.Put(ctx, kv.Memory, []byte("k"), nil) }()
		time.Sleep(3 * time.Second)
		release()
		if err := <-done; err != nil || time.Since(before) > 3*time.Second+50*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(before))
		}
	})
}

func TestWaitingForALockEnds(t *testing.T) {
	for name := range writes(nil) {
		synctest.Test(t, func(t *testing.T) {
			mine, others := twoStores(t)
			release := hold(others)
			defer release()
			limited, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			before := time.Now()
			if err := writes(mine)[name](limited); !errors.Is(err, context.DeadlineExceeded) || time.Since(before) != time.Second {
				t.Errorf("%s with a context: %v after %v", name, err, time.Since(before))
			}
			done := make(chan error, 1)
			go func() { done <- writes(mine)[name](ctx) }()
			synctest.Wait()
			before = time.Now()
			if err := mine.Close(); err != nil {
				t.Error(err)
			}
			if err := <-done; !errors.Is(err, kv.ErrClosed) || time.Since(before) != 0 {
				t.Errorf("%s of a store that is closed: %v after %v", name, err, time.Since(before))
			}
		})
	}
}

// A Put that waits for its turn does not keep Close, called by who has the turn, from
// returning.
func TestCloseInAnUpdateForWhichOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := twoStores(t)
		waiting := make(chan error, 1)
		err := s.Update(ctx, func(tx kv.KVStorage) error {
			go func() { waiting <- s.Put(ctx, kv.Memory, []byte("k"), nil) }()
			synctest.Wait()
			if err := tx.Put(ctx, kv.Memory, []byte("k"), nil); err != nil {
				t.Error(err)
			}
			return s.Close()
		})
		if !errors.Is(err, kv.ErrClosed) {
			t.Errorf("Update: %v", err)
		}
		if err := <-waiting; !errors.Is(err, kv.ErrClosed) {
			t.Errorf("Put: %v", err)
		}
	})
}

// Readers see the store as it was while another process writes and while this one
// does, as many at a time as there are.
func TestReadersDoNotWaitForWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, others := twoStores(t)
		if err := mine.Put(ctx, kv.Memory, []byte("k"), []byte("v")); err != nil {
			t.Fatal(err)
		}
		release := hold(others)
		defer release()
		defer hold(mine)()
		before := time.Now()
		var nested func(depth int)
		nested = func(depth int) {
			for e, err := range mine.Scan(ctx, kv.Memory, nil) {
				if err != nil || string(e.Value) != "v" {
					t.Fatalf("%q, %v", e.Value, err)
				}
				if depth > 0 {
					nested(depth - 1)
				}
			}
		}
		nested(3 * maxIdle)
		if value, err := mine.Get(ctx, kv.Memory, []byte("k")); err != nil || string(value) != "v" {
			t.Errorf("Get: %q, %v", value, err)
		}
		if err := mine.View(ctx, func(tx kv.KVStorage) error {
			_, err := tx.Get(ctx, kv.Memory, []byte("k"))
			return err
		}); err != nil {
			t.Error(err)
		}
		if time.Since(before) != 0 {
			t.Errorf("they waited for %v", time.Since(before))
		}
		if n := len(mine.readers.idle); n > maxIdle {
			t.Errorf("%d connections are kept", n)
		}
	})
}

// between is a context that does something whenever it is asked whether it has ended.
type between struct {
	context.Context
	do func() error
}

func (b between) Err() error { return b.do() }

// A backup is of the moment at which it began, though another process writes between
// any two of its steps: it does not begin anew with each, which would never end.
func TestBackupIsOfOneMoment(t *testing.T) {
	mine, others := twoStores(t)
	value := make([]byte, 3*backupPages*4096)
	if err := mine.Put(ctx, kv.Memory, []byte("k"), value); err != nil {
		t.Fatal(err)
	}
	n := 0
	hooked := between{ctx, func() error {
		if n++; n > 100 {
			return context.DeadlineExceeded
		}
		if n == 1 {
			return nil // it has not begun
		}
		return others.Put(ctx, kv.Memory, []byte("n"), fmt.Append(nil, n))
	}}
	path := filepath.Join(t.TempDir(), "copy.db")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(mine.Backup(hooked, f), f.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := s.Get(ctx, kv.Memory, []byte("k")); err != nil || len(got) != len(value) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := s.Get(ctx, kv.Memory, []byte("n")); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("write number %s, made after the backup began, is in it: %v", got, err)
	}
	if n < 4 {
		t.Errorf("only %d steps", n)
	}
}
