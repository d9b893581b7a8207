package etcdkv

import (
	"errors"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
)

func guardOf(t testing.TB, s *Store) guard {
	t.Helper()
	_, g, err := s.look(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A transaction that has claimed the guard lets go of it however it ends.
func TestClaimsAreReleased(t *testing.T) {
	s := openWith(t, place(t), nil)
	for name, fn := range map[string]func(tx kv.KVStorage) error{
		"writes":          func(tx kv.KVStorage) error { return tx.Put(ctx, col, []byte("k"), nil) },
		"writes nothing":  func(kv.KVStorage) error { return nil },
		"fails":           func(kv.KVStorage) error { return errors.New("its own") },
		"panics":          func(kv.KVStorage) error { panic("its own") },
		"writes too much": func(tx kv.KVStorage) error { return tx.Put(ctx, col, []byte("k"), make([]byte, MaxValue+1)) },
	} {
		func() {
			defer func() { _ = recover() }()
			_, _ = s.try(ctx, func(tx kv.KVStorage) error {
				if g := guardOf(t, s); g.state != claimed {
					t.Errorf("a transaction alone finds the guard %s", g)
				}
				return fn(tx)
			}, true)
		}()
		if g := guardOf(t, s); g.state != clean {
			t.Errorf("a transaction that %s leaves the guard %s", name, g)
		}
	}
}

// While one process has claimed the guard those of others wait, single writes too.
func TestOthersWaitForAClaim(t *testing.T) {
	at := place(t)
	s, other := openWith(t, at, nil), openWith(t, at, nil)
	other.patience = time.Minute
	waiting := make(chan error, 2)
	done, err := s.try(ctx, func(tx kv.KVStorage) error {
		go func() { waiting <- other.Put(ctx, col, []byte("put"), nil) }()
		go func() {
			waiting <- other.Update(ctx, func(tx kv.KVStorage) error { return increment(ctx, tx, "n") })
		}()
		return increment(ctx, tx, "n")
	}, true)
	if err != nil || !done {
		t.Errorf("the one with the claim: %v, %v", done, err)
	}
	for range cap(waiting) {
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	}
	if got := content(t, s); len(got) != 2 || got["n"] != "2" {
		t.Errorf("there is %v; want put, and a 2", got)
	}
}

// A process that has claimed the guard and makes nothing of it is not waited for for
// ever. When it comes after all it has to begin anew.
func TestAbandonedClaims(t *testing.T) {
	at := place(t)
	s, other := openWith(t, at, nil), openWith(t, at, nil)
	other.patience = 0
	done, err := s.try(ctx, func(tx kv.KVStorage) error {
		put(t, other, "n", "7")
		return increment(ctx, tx, "n")
	}, true)
	if err != nil || done {
		t.Errorf("the one that was given up: %v, %v; want a conflict", done, err)
	}
	if err := s.Update(ctx, func(tx kv.KVStorage) error { return increment(ctx, tx, "n") }); err != nil {
		t.Error(err)
	}
	if got := content(t, s)["n"]; got != "8" {
		t.Errorf("there is %s, want 8", got)
	}
}
