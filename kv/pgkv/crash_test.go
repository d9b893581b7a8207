package pgkv_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/pgkv"
	"github.com/crabstore/crabstore/kv/pgkv/pgtest"
)

// pairWriter writes pairs of keys in two columns and counts them in a third place, all
// in one Update each, and remembers what it was told.
type pairWriter struct {
	name           string
	acked, unknown []int
}

func (w *pairWriter) key(n int) []byte { return fmt.Appendf(nil, "%s/%06d", w.name, n) }

func (w *pairWriter) counter() []byte { return []byte("counter/" + w.name) }

// pair is one Update.
func (w *pairWriter) pair(ctx context.Context, s kv.KVStorage, n int) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		count, err := number(ctx, tx, w.counter())
		if err != nil {
			return err
		}
		return errors.Join(
			tx.Put(ctx, kv.Memory, w.key(n), []byte("left")),
			tx.Put(ctx, kv.Text, w.key(n), []byte("right")),
			tx.Put(ctx, kv.Memory, w.counter(), strconv.AppendInt(nil, int64(count+1), 10)))
	})
}

// number returns what a counter is at, 0 when it is absent.
func number(ctx context.Context, s kv.KVStorage, key []byte) (int, error) {
	value, err := s.Get(ctx, kv.Memory, key)
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(value))
}

// write writes pairs until it is told to stop.
func (w *pairWriter) write(s kv.KVStorage, stop <-chan struct{}, acked func()) error {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return nil
		default:
		}
		switch err := w.pair(ctx, s, n); {
		case err == nil:
			w.acked = append(w.acked, n)
			acked()
		case errors.Is(err, kv.ErrOutcomeUnknown):
			w.unknown = append(w.unknown, n)
		default:
			return fmt.Errorf("%s: pair %d: %w", w.name, n, err)
		}
	}
}

// there returns whether both of a pair are there, and an error when one is.
func (w *pairWriter) there(s kv.KVStorage, n int) (bool, error) {
	left, err := kv.Has(ctx, s, kv.Memory, w.key(n))
	if err != nil {
		return false, err
	}
	right, err := kv.Has(ctx, s, kv.Text, w.key(n))
	if err == nil && left != right {
		err = fmt.Errorf("%s: half of pair %d is there", w.name, n)
	}
	return left, err
}

// check compares the store with what the writer was told.
func (w *pairWriter) check(t *testing.T, s kv.KVStorage) {
	t.Helper()
	present := 0
	for _, n := range w.acked {
		if ok, err := w.there(s, n); !ok || err != nil {
			t.Errorf("%s: pair %d was acknowledged, and there: %v, %v", w.name, n, ok, err)
		}
		present++
	}
	for _, n := range w.unknown {
		ok, err := w.there(s, n)
		if err != nil {
			t.Error(err)
		}
		if ok {
			present++
		}
	}
	if count, err := number(ctx, s, w.counter()); err != nil || count != present {
		t.Errorf("%s counts %d pairs, %v; %d are there", w.name, count, err, present)
	}
}

// Eight write while the server crashes and is restarted. What was acknowledged is there, of
// what is in doubt all or nothing, those who read notice nothing, and the same
// store goes on.
func TestServerRestartsUnderLoad(t *testing.T) {
	server := pgtest.Own(t)
	s := open(t, server.URL(t), pgkv.Options{})
	if err := s.Put(ctx, kv.Config, []byte("constant"), []byte("value")); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var total atomic.Int64
	progress := make(chan struct{}, 1)
	acked := func() {
		total.Add(1)
		select {
		case progress <- struct{}{}:
		default:
		}
	}
	var work sync.WaitGroup
	writers := make([]pairWriter, 8)
	for i := range writers {
		w := &writers[i]
		w.name = fmt.Sprint("w", i)
		work.Go(func() {
			if err := w.write(s, stop, acked); err != nil {
				t.Error(err)
			}
		})
	}
	for range 2 {
		work.Go(func() { readUntil(t, s, stop) })
	}
	waitFor := func(n int64) {
		for total.Load() < n && !t.Failed() {
			<-progress
		}
	}
	crashes := []bool{true, false, true, true}
	if testing.Short() {
		crashes = crashes[:2]
	}
	for _, crash := range crashes {
		waitFor(total.Load() + 200)
		server.Restart(t, crash)
	}
	waitFor(total.Load() + 200)
	close(stop)
	work.Wait()
	unknown := 0
	for i := range writers {
		unknown += len(writers[i].unknown)
		writers[i].check(t, s)
	}
	t.Logf("%d acknowledged, %d in doubt", total.Load(), unknown)
}

// readUntil reads what never changes.
func readUntil(t *testing.T, s kv.KVStorage, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		if v, err := s.Get(ctx, kv.Config, []byte("constant")); err != nil || string(v) != "value" {
			t.Errorf("Get while the server restarts: %q, %v", v, err)
			return
		}
		n := 0
		for _, err := range s.Scan(ctx, kv.Config, nil) {
			if err != nil {
				t.Errorf("a scan while the server restarts: %v", err)
				return
			}
			n++
		}
		if n != 1 {
			t.Errorf("a scan while the server restarts yields %d entries", n)
			return
		}
	}
}
