package textsearch

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch/internal/analysis"
	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// The weights that a document may have.
const (
	MinWeight = 1e-3
	MaxWeight = 1e3
)

func validWeight(w float64) bool { return w >= MinWeight && w <= MaxWeight }

// Batch indexes and drops many documents of one index within one transaction. It
// reads and writes the statistics once, and makes one segment of many documents.
// It is not safe for concurrent use, and lives no longer than its transaction.
//
// What it holds back is written by Flush: until then a search in the same
// transaction does not see it, and a transaction whose batch was not flushed must
// not commit.
type Batch struct {
	targets []target
	maxKey  int
	doc     inverted.Document
	counts  map[string]int // of the document at hand, where a term is in doc.Terms
}

// target is a generation of the index: the one that serves, and another while it is
// rebuilt.
type target struct {
	*inverted.Writer
	analyzer *analysis.Analyzer
}

// NewBatch begins a batch on an index. tx is the transaction of a kv.Update.
func NewBatch(ctx context.Context, tx kv.KVStorage, ix string) (*Batch, error) {
	set, err := SettingsOf(tx)
	if err != nil {
		return nil, err
	}
	return newBatch(ctx, tx, ix, set)
}

func newBatch(ctx context.Context, tx kv.KVStorage, ix string, set Settings) (*Batch, error) {
	w, err := at(tx, ix).NewWriter(ctx, tx, set.Language)
	if err != nil {
		return nil, err
	}
	b := emptyBatch(tx, ix)
	if err := b.write(w); err != nil {
		return nil, err
	}
	return b, b.writeBuilder(ctx, tx, ix)
}

func emptyBatch(tx kv.KVStorage, ix string) *Batch {
	return &Batch{maxKey: at(tx, ix).MaxKey(), counts: make(map[string]int, 64)}
}

// write adds a writer to what the batch writes.
func (b *Batch) write(w *inverted.Writer) error {
	a, err := analyzerOf(w.Stats().Config)
	if err != nil {
		return err
	}
	b.targets = append(b.targets, target{w, a})
	return nil
}

// writeBuilder adds the writer of a generation that is being built, if one is.
func (b *Batch) writeBuilder(ctx context.Context, tx kv.KVStorage, ix string) error {
	w, err := at(tx, ix).Builder(ctx, tx)
	if w == nil || err != nil {
		return err
	}
	return b.write(w)
}

// checkKey returns ErrKey unless a document can be called key.
func (b *Batch) checkKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: it is empty", ErrKey)
	}
	if n := len(kv.AppendPart(nil, key)); n > b.maxKey {
		return fmt.Errorf("%w: %d bytes escaped, this index has room for %d: %.40q…", ErrKey, n, b.maxKey, key)
	}
	return nil
}

// Put indexes text under key, in place of what was there, as the function Put
// does.
func (b *Batch) Put(ctx context.Context, key, text string, weight float64) error {
	if err := b.checkKey(key); err != nil {
		return err
	}
	if !validWeight(weight) {
		return fmt.Errorf("%w: %v of %.40q is not in %v to %v", ErrWeight, weight, key, MinWeight, MaxWeight)
	}
	language := ""
	for _, t := range b.targets {
		if l := t.Stats().Config; l != language {
			language = l
			b.analyze(t.analyzer, text)
			b.doc.Key, b.doc.Weight = key, weight
		}
		if err := t.Put(ctx, &b.doc); err != nil {
			return err
		}
	}
	return nil
}

// analyze sets the terms of the document at hand, and its length.
func (b *Batch) analyze(a *analysis.Analyzer, text string) {
	tokens := a.Tokens(text)
	clear(b.counts)
	b.doc.Terms = b.doc.Terms[:0]
	for _, t := range tokens {
		i, known := b.counts[t.Term]
		if !known {
			b.counts[t.Term] = len(b.doc.Terms)
			b.doc.Terms = append(b.doc.Terms, inverted.Term{Text: t.Term, Frequency: 1})
			continue
		}
		if b.doc.Terms[i].Frequency < math.MaxUint32 {
			b.doc.Terms[i].Frequency++
		}
	}
	b.doc.Length = uint64(analysis.Length(tokens))
}

// Drop removes the document under key and tells whether there was one.
func (b *Batch) Drop(ctx context.Context, key string) (existed bool, err error) {
	if b.checkKey(key) != nil {
		return false, nil // no document can be called that
	}
	for _, t := range b.targets {
		was, err := t.Drop(ctx, key)
		if err != nil {
			return false, err
		}
		existed = existed || was
	}
	return existed, nil
}

// DropPrefix removes the documents whose keys begin with keyPrefix and returns how
// many there were.
func (b *Batch) DropPrefix(ctx context.Context, keyPrefix string) (n int, err error) {
	for _, t := range b.targets {
		was, err := t.DropPrefix(ctx, keyPrefix)
		if err != nil {
			return 0, err
		}
		n = max(n, was)
	}
	return n, nil
}

// Flush writes what the batch holds back. It can go on being used.
func (b *Batch) Flush(ctx context.Context) error {
	for _, t := range b.targets {
		if err := t.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Rebuild is the making anew of an index beside the one that serves. Begin it, put
// all documents with batches of it, and Finish it. Meanwhile the index is searched
// as it was, and whatever changes it by other batches changes both. It may be given
// up at any time; another BeginRebuild begins afresh.
type Rebuild struct{ ix string }

// BeginRebuild begins a rebuild, in the language that the store's settings say. The
// index that serves may be damaged, of an older version, or none.
func BeginRebuild(ctx context.Context, s kv.KVStorage, ix string) (*Rebuild, error) {
	set, err := SettingsOf(s)
	if err != nil {
		return nil, err
	}
	err = kv.Update(ctx, s, func(tx kv.KVStorage) error { return at(tx, ix).Begin(ctx, tx, set.Language) })
	if err != nil {
		return nil, err
	}
	return &Rebuild{ix}, nil
}

// Batch begins a batch that puts documents into the index that is being built alone.
// The texts are read in its transaction, so that no newer one is overwritten.
func (r *Rebuild) Batch(ctx context.Context, tx kv.KVStorage) (*Batch, error) {
	b := emptyBatch(tx, r.ix)
	if err := b.writeBuilder(ctx, tx, r.ix); err != nil {
		return nil, err
	}
	if len(b.targets) == 0 {
		return nil, fmt.Errorf("%w: another rebuild of %q has ended this one", kv.ErrConflict, r.ix)
	}
	return b, nil
}

// Finish puts the index that was built in place of the old one, and deletes that.
func (r *Rebuild) Finish(ctx context.Context, s kv.KVStorage) error {
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error { return at(tx, r.ix).Finish(ctx, tx) })
	if errors.Is(err, kv.ErrConflict) {
		return fmt.Errorf("%w: another rebuild of %q has ended this one", err, r.ix)
	}
	if err != nil {
		return err
	}
	return inSteps(ctx, s, func(tx kv.KVStorage) (int, error) { return at(tx, r.ix).Sweep(ctx, tx, cleared) })
}

// RebuildFrom makes an index anew, beside the one that serves, of what list returns,
// which is called in a transaction. It is for indexes that are small enough for one.
func RebuildFrom(ctx context.Context, s kv.KVStorage, ix string, list func(ctx context.Context, tx kv.KVStorage) ([]Document, error)) error {
	r, err := BeginRebuild(ctx, s, ix)
	if err != nil {
		return err
	}
	err = kv.Update(ctx, s, func(tx kv.KVStorage) error {
		docs, err := list(ctx, tx)
		if err != nil {
			return err
		}
		b, err := r.Batch(ctx, tx)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if err := b.Put(ctx, d.Key, d.Text, d.Weight); err != nil {
				return err
			}
		}
		return b.Flush(ctx)
	})
	if err != nil {
		return err
	}
	return r.Finish(ctx, s)
}
