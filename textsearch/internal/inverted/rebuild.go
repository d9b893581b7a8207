package inverted

import (
	"context"
	"fmt"

	"github.com/crabstore/crabstore/kv"
)

// Builder returns a writer of the generation that is being built, nil when none is.
func (x *Index) Builder(ctx context.Context, tx kv.KVStorage) (*Writer, error) {
	st, ok, err := x.load(ctx, tx, "building")
	if !ok || err != nil {
		return nil, err
	}
	return x.writer(tx, "building", st)
}

// Rebuild is the making anew of an index beside the one that serves, as its next
// generation. Meanwhile whatever changes the index has to change both, as Writers do.
type Rebuild struct {
	ix         *Index
	generation uint64
}

// BeginRebuild begins a generation, in a transaction of its own, and gives up one that
// was begun before. It does not look at the index that serves, which may be damaged or
// of another version.
func (x *Index) BeginRebuild(ctx context.Context, s kv.KVStorage, config string) (*Rebuild, error) {
	// No generation before had that number, whatever is left of it.
	st := Stats{Version: Version, Generation: newID(), Config: config}
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error { return kv.Store(ctx, tx, x.col, x.key("building"), &st) })
	if err != nil {
		return nil, err
	}
	return &Rebuild{x, st.Generation}, nil
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
		all, err := r.Writers(ctx, tx)
		if err != nil {
			return err
		}
		return r.ix.serve(ctx, tx, &all[0].stats)
	})
	if err != nil {
		return err
	}
	return r.ix.SweepAll(ctx, s)
}

// serve puts the generation that was built in place of the one that serves. What that
// leaves behind Sweep deletes.
func (x *Index) serve(ctx context.Context, tx kv.KVStorage, built *Stats) (err error) {
	if built.Documents > 0 {
		err = kv.Store(ctx, tx, x.col, x.key("stats"), built)
	} else {
		_, err = tx.Delete(ctx, x.col, x.key("stats"))
	}
	if err == nil {
		_, err = tx.Delete(ctx, x.col, x.key("building"))
	}
	return err
}
