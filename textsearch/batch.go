package textsearch

import (
	"context"
	"fmt"
	"sync"

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
	writers inverted.Writers
}

// analyzed is a document as an index has it, and what makes it.
type analyzed struct {
	config   string
	analyzer *analysis.Analyzer
	doc      inverted.Document
}

// allAnalyzed are kept, since each takes some twenty KiB with its buffers, and most
// transactions have one document.
var allAnalyzed sync.Pool

// takeAnalyzed returns one, to be given back, for an index of a config.
func takeAnalyzed(config string) (*analyzed, error) {
	if b, ok := allAnalyzed.Get().(*analyzed); ok && b.config == config {
		return b, nil
	}
	a, err := analyzerOf(config)
	return &analyzed{config: config, analyzer: a}, err
}

// NewBatch begins a batch on an index. tx is the transaction of a kv.Update.
func NewBatch(ctx context.Context, tx kv.KVStorage, ix string) (*Batch, error) {
	set, err := SettingsOf(tx)
	if err != nil {
		return nil, err
	}
	return batchOf(at(tx, ix).NewWriters(ctx, tx, set.Language))
}

// batchOf returns a batch of writers, unless there is an error.
func batchOf(writers inverted.Writers, err error) (*Batch, error) {
	if err != nil {
		return nil, err
	}
	return &Batch{writers}, nil
}

// Put indexes text under key, in place of what was there, as the function Put
// does.
func (b *Batch) Put(ctx context.Context, key, text string, weight float64) error {
	if err := b.writers.CheckKey(key); err != nil {
		return err
	}
	if !validWeight(weight) {
		return fmt.Errorf("%w: %v of %.40q is not in %v to %v", ErrWeight, weight, key, MinWeight, MaxWeight)
	}
	for _, w := range b.writers {
		if err := put(ctx, w, key, text, weight); err != nil {
			return err
		}
	}
	return nil
}

func put(ctx context.Context, w *inverted.Writer, key, text string, weight float64) error {
	d, err := takeAnalyzed(w.Stats().Config)
	if err != nil {
		return err
	}
	defer allAnalyzed.Put(d)
	d.analyze(key, text, weight)
	return w.Put(ctx, &d.doc)
}

// analyze sets the document.
func (b *analyzed) analyze(key, text string, weight float64) {
	tokens := b.analyzer.Tokens(text)
	d := &b.doc
	d.Key, d.Weight, d.Length, d.Terms = key, weight, uint64(analysis.Length(tokens)), d.Terms[:0]
	for _, t := range tokens {
		d.Terms = append(d.Terms, inverted.Term{Text: t.Term, Frequency: 1})
	}
}

// Drop removes the document under key and tells whether there was one.
func (b *Batch) Drop(ctx context.Context, key string) (existed bool, err error) {
	return b.writers.Drop(ctx, key)
}

// DropPrefix removes the documents whose keys begin with keyPrefix and returns how
// many there were.
func (b *Batch) DropPrefix(ctx context.Context, keyPrefix string) (n int, err error) {
	return b.writers.DropPrefix(ctx, keyPrefix)
}

// Flush writes what the batch holds back. It can go on being used.
func (b *Batch) Flush(ctx context.Context) error { return b.writers.Flush(ctx) }

// Rebuild is the making anew of an index beside the one that serves. Begin it, put
// all documents with batches of it, and Finish it. Meanwhile the index is searched
// as it was, and whatever changes it by other batches changes both. It may be given
// up at any time; another BeginRebuild begins afresh, and whoever goes on with the one
// before is told so by a kv.ErrConflict.
type Rebuild struct{ rebuild *inverted.Rebuild }

// BeginRebuild begins a rebuild, in the language that the store's settings say. The
// index that serves may be damaged, of an older version, or none.
func BeginRebuild(ctx context.Context, s kv.KVStorage, ix string) (*Rebuild, error) {
	set, err := SettingsOf(s)
	if err != nil {
		return nil, err
	}
	r, err := at(s, ix).BeginRebuild(ctx, s, set.Language)
	if err != nil {
		return nil, err
	}
	return &Rebuild{r}, nil
}

// Batch begins a batch that puts documents into the index that is being built alone.
// The texts are read in its transaction, so that no newer one is overwritten.
func (r *Rebuild) Batch(ctx context.Context, tx kv.KVStorage) (*Batch, error) {
	return batchOf(r.rebuild.Writers(ctx, tx))
}

// Finish puts the index that was built in place of the old one, and deletes that.
func (r *Rebuild) Finish(ctx context.Context, s kv.KVStorage) error {
	return r.rebuild.Finish(ctx, s)
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
