package importer

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// dying is a store of five methods, so that a transaction is its single writes,
// which can do so many writes and then none.
type dying struct {
	kv.KVStorage
	mu   sync.Mutex
	left int
}

var errDead = errors.New("no more writes")

func (d *dying) write() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left--; d.left < 0 {
		return errDead
	}
	return nil
}

func (d *dying) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	if err := d.write(); err != nil {
		return err
	}
	return d.KVStorage.Put(ctx, col, key, value)
}

func (d *dying) Delete(ctx context.Context, col kv.Column, key []byte) (bool, error) {
	if err := d.write(); err != nil {
		return false, err
	}
	return d.KVStorage.Delete(ctx, col, key)
}

// C22: on a store without transactions an import can be cut short between any two
// writes. The next one comes to the same end, and a third finds nothing to do.
func TestC22_CutShortWithoutTransactions(t *testing.T) {
	dir := t.TempDir()
	newCorpus(9).write(t, dir, 40, 5)
	whole := &fixture{t, dir, memkv.New()}
	whole.run(Options{})
	found := walk(t, dir)
	step := 41
	if testing.Short() {
		step = 211
	}
	for n, cut := 0, true; cut; n += step {
		f := &fixture{t, dir, memkv.New()}
		_, err := Run(context.Background(), &dying{KVStorage: f.store, left: n}, found, Options{chunk: 6})
		if cut = err != nil; cut && !errors.Is(err, errDead) {
			t.Fatalf("cut short after %d writes: %v", n, err)
		}
		f.store = &dying{KVStorage: f.store, left: 1 << 30}
		f.run(Options{chunk: 6})
		wantSame(t, f.store, whole.store)
		f.wantSound()
		again := f.run(Options{})
		if again.Formats[0].Sources.Read > 0 || again.Changed() {
			t.Errorf("after %d writes: a third run did %+v", n, again.Formats)
		}
		if t.Failed() {
			t.Fatalf("cut short after %d writes", n)
		}
	}
}
