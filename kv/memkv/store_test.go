package memkv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest"
	"github.com/crabstore/crabstore/kv/memkv"
)

func TestConformance(t *testing.T) {
	kvtest.Run(t, kvtest.Config{
		Open: func(testing.TB) kv.KVStorage { return memkv.New() },
	})
}

func TestRealm(t *testing.T) {
	if got := memkv.New().Realm(); got != kv.DefaultRealm {
		t.Errorf("the realm of a store without one is %q", got)
	}
	s := memkv.Open(memkv.Options{Realm: "acme"})
	if got := string(kv.Key(s, "memory", "x")); got != "acme/memory/x" {
		t.Errorf("a key in the realm acme is %q", got)
	}
}

// TestWritingBesideTheTransactionWaitsForItself is what the package comment says
// of a function that writes to the store instead of to its transaction.
func TestWritingBesideTheTransactionWaitsForItself(t *testing.T) {
	s := memkv.New()
	err := s.Update(context.Background(), func(kv.KVStorage) error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		return s.Put(ctx, kv.Memory, []byte("k"), nil)
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the error of the context", err)
	}
	if err := s.Put(context.Background(), kv.Memory, []byte("k"), nil); err != nil {
		t.Fatalf("afterwards: %v", err)
	}
}

// TestUpdateThatCannotCommitWritesNothing ends the context, or the store, under an
// update whose function succeeds.
func TestUpdateThatCannotCommitWritesNothing(t *testing.T) {
	background := context.Background()
	cancelled, cancel := context.WithCancel(background)
	s, closed := memkv.New(), memkv.New()
	for _, c := range []struct {
		ctx   context.Context
		store *memkv.Store
		end   func()
		want  error
	}{
		{cancelled, s, cancel, context.Canceled},
		{background, closed, func() { closed.Close() }, kv.ErrClosed},
	} {
		err := c.store.Update(c.ctx, func(tx kv.KVStorage) error {
			err := tx.Put(c.ctx, kv.Memory, []byte("k"), nil)
			c.end()
			return err
		})
		if !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
	if ok, err := kv.Has(background, s, kv.Memory, []byte("k")); ok || err != nil {
		t.Errorf("the update that failed wrote its key: %v, %v", ok, err)
	}
}

const many = 100_000

func filled(b *testing.B) *memkv.Store {
	b.Helper()
	s := memkv.New()
	for i := range many {
		if err := s.Put(context.Background(), kv.Memory, key(i), make([]byte, 100)); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func key(i int) []byte { return fmt.Appendf(nil, "local/memory/%08d", i*7919%many) }

func BenchmarkPut(b *testing.B) {
	ctx, s, value := context.Background(), filled(b), make([]byte, 100)
	i := 0
	for b.Loop() {
		if err := s.Put(ctx, kv.Memory, key(i), value); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkGet(b *testing.B) {
	ctx, s := context.Background(), filled(b)
	i := 0
	for b.Loop() {
		if _, err := s.Get(ctx, kv.Memory, key(i)); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkScan100(b *testing.B) {
	ctx, s := context.Background(), filled(b)
	for b.Loop() {
		n := 0
		for _, err := range s.Scan(ctx, kv.Memory, nil) {
			if n++; err != nil || n == 100 {
				break
			}
		}
	}
}

func BenchmarkUpdateOf100(b *testing.B) {
	ctx, s, value := context.Background(), filled(b), make([]byte, 100)
	i := 0
	for b.Loop() {
		err := s.Update(ctx, func(tx kv.KVStorage) error {
			for range 100 {
				if err := tx.Put(ctx, kv.Memory, key(i), value); err != nil {
					return err
				}
				i++
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
