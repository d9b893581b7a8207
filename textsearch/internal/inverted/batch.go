package inverted

import (
	"context"
	"errors"
	"fmt"

	"github.com/crabstore/crabstore/kv"
)

// ErrKey is returned for a document key that is empty, or too long for a key of the
// store with the name of its index. Nothing was written.
var ErrKey = errors.New("index: bad document key")

// Writers write one index in one transaction: the generation that serves, and one
// that is being built, if one is. What they hold back is written by Flush.
type Writers []*Writer

// NewWriters returns the writers of the index. tx is the transaction of a kv.Update.
// config is the client's, of an index that has none yet.
func (x *Index) NewWriters(ctx context.Context, tx kv.KVStorage, config string) (Writers, error) {
	serving, err := x.NewWriter(ctx, tx, config)
	if err != nil {
		return nil, err
	}
	building, err := x.Builder(ctx, tx)
	if err != nil {
		return nil, err
	}
	if building == nil {
		return Writers{serving}, nil
	}
	return Writers{serving, building}, nil
}

// CheckKey returns ErrKey unless a document can be called key.
func (x *Index) CheckKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: it is empty", ErrKey)
	}
	if n := len(kv.AppendPart(nil, key)); n > x.MaxKey() {
		return fmt.Errorf("%w: %d bytes escaped, this index has room for %d: %.40q…", ErrKey, n, x.MaxKey(), key)
	}
	return nil
}

// CheckKey returns ErrKey unless a document can be called key.
func (all Writers) CheckKey(key string) error { return all[0].ix.CheckKey(key) }

// Drop removes the document of a key and tells whether there was one.
func (all Writers) Drop(ctx context.Context, key string) (existed bool, err error) {
	if all.CheckKey(key) != nil {
		return false, nil // no document can be called that
	}
	for _, w := range all {
		was, err := w.Drop(ctx, key)
		if err != nil {
			return false, err
		}
		existed = existed || was
	}
	return existed, nil
}

// DropPrefix removes the documents whose keys begin with a prefix and returns how
// many there were.
func (all Writers) DropPrefix(ctx context.Context, prefix string) (n int, err error) {
	for _, w := range all {
		was, err := w.DropPrefix(ctx, prefix)
		if err != nil {
			return 0, err
		}
		n = max(n, was)
	}
	return n, nil
}

// Flush writes what the writers hold back. They can go on being used.
func (all Writers) Flush(ctx context.Context) error {
	for _, w := range all {
		if err := w.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Rebuild is the making anew of an index beside the one that serves.
type Rebuild struct {
	ix         *Index
	generation uint64
}

// BeginRebuild begins a generation, as Begin does, in a transaction of its own.
func (x *Index) BeginRebuild(ctx context.Context, s kv.KVStorage, config string) (*Rebuild, error) {
	r := &Rebuild{ix: x}
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		if err := x.Begin(ctx, tx, config); err != nil {
			return err
		}
		st, _, err := x.load(ctx, tx, "building")
		r.generation = st.Generation
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Writers returns the writer of what is being built alone.
func (r *Rebuild) Writers(ctx context.Context, tx kv.KVStorage) (Writers, error) {
	w, err := r.ix.Builder(ctx, tx)
	if err != nil {
		return nil, err
	}
	if w == nil || w.stats.Generation != r.generation {
		return nil, r.ended()
	}
	return Writers{w}, nil
}

func (r *Rebuild) ended() error {
	return fmt.Errorf("%w: another rebuild of %q has ended this one", kv.ErrConflict, r.ix.root)
}

// Finish puts what was built in place of what served, and deletes that.
func (r *Rebuild) Finish(ctx context.Context, s kv.KVStorage) error {
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		if _, err := r.Writers(ctx, tx); err != nil {
			return err
		}
		return r.ix.Finish(ctx, tx)
	})
	if err != nil {
		return err
	}
	return r.ix.SweepAll(ctx, s)
}

// cleared is how many keys are deleted in one transaction.
const cleared = 10_000

// ClearAll deletes all that the index has, in steps.
func (x *Index) ClearAll(ctx context.Context, s kv.KVStorage) error { return inSteps(ctx, s, x.Clear) }

// SweepAll deletes the values that nothing leads to, in steps.
func (x *Index) SweepAll(ctx context.Context, s kv.KVStorage) error { return inSteps(ctx, s, x.Sweep) }

// inSteps runs step in transactions of their own until it did less than it may.
func inSteps(ctx context.Context, s kv.KVStorage, step func(ctx context.Context, tx kv.KVStorage, limit int) (int, error)) error {
	for {
		n := 0
		err := kv.Update(ctx, s, func(tx kv.KVStorage) (err error) {
			n, err = step(ctx, tx, cleared)
			return err
		})
		if err != nil || n < cleared {
			return err
		}
	}
}
