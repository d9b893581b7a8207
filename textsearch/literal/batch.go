package literal

import (
	"context"
	"sync"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// Batch indexes and drops many texts of one index within one transaction. It makes
// one segment of many texts. It is not safe for concurrent use, and lives no longer
// than its transaction.
//
// What it holds back is written by Flush: until then a search in the same
// transaction does not see it, and a transaction whose batch was not flushed must
// not commit.
type Batch struct{ writers inverted.Writers }

// NewBatch begins a batch on an index. tx is the transaction of a kv.Update.
func NewBatch(ctx context.Context, tx kv.KVStorage, ix string) (*Batch, error) {
	writers, err := at(tx, ix).NewWriters(ctx, tx, "")
	if err != nil {
		return nil, err
	}
	return &Batch{writers}, nil
}

// Put indexes text under key, in place of what was there, as the function Put does.
func (b *Batch) Put(ctx context.Context, key, text string) error {
	if err := b.writers.CheckKey(key); err != nil {
		return err
	}
	a := analyzers.Get().(*analyzer)
	defer analyzers.Put(a)
	d := a.document(key, text)
	for _, w := range b.writers {
		if err := w.Put(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// Drop removes the text under key and tells whether there was one.
func (b *Batch) Drop(ctx context.Context, key string) (existed bool, err error) {
	return b.writers.Drop(ctx, key)
}

// DropPrefix removes the texts whose keys begin with keyPrefix and returns how many
// there were.
func (b *Batch) DropPrefix(ctx context.Context, keyPrefix string) (n int, err error) {
	return b.writers.DropPrefix(ctx, keyPrefix)
}

// Flush writes what the batch holds back. It can go on being used.
func (b *Batch) Flush(ctx context.Context) error { return b.writers.Flush(ctx) }

// analyzer makes documents of texts: of one text all distinct trigrams, each once.
type analyzer struct {
	trigrammer Trigrammer
	trigrams   []Trigram
	encoded    []byte
	doc        inverted.Document
}

// analyzers are kept, since each takes a quarter of a MiB.
var analyzers = sync.Pool{New: func() any { return new(analyzer) }}

// document returns what is indexed of a text. It is good until the next one.
func (a *analyzer) document(key, text string) *inverted.Document {
	a.trigrams = a.trigrammer.Append(a.trigrams[:0], text)
	a.encoded = a.encoded[:0]
	for _, t := range a.trigrams {
		a.encoded = t.append(a.encoded)
	}
	terms := string(a.encoded)
	a.doc.Key, a.doc.Weight, a.doc.Terms = key, 1, a.doc.Terms[:0]
	for _, t := range a.trigrams {
		n := t.size()
		a.doc.Terms = append(a.doc.Terms, inverted.Term{Text: terms[:n], Frequency: 1})
		terms = terms[n:]
	}
	return &a.doc
}

// Rebuild is the making anew of an index beside the one that serves. Begin it, put
// all texts with batches of it, and Finish it. Meanwhile the index is searched as it
// was, and whatever changes it by other batches changes both. It may be given up at
// any time; another BeginRebuild begins afresh, and whoever goes on with the one
// before is told so by a kv.ErrConflict.
type Rebuild struct{ rebuild *inverted.Rebuild }

// BeginRebuild begins a rebuild. The index that serves may be damaged, of an older
// version, or none.
func BeginRebuild(ctx context.Context, s kv.KVStorage, ix string) (*Rebuild, error) {
	r, err := at(s, ix).BeginRebuild(ctx, s, "")
	if err != nil {
		return nil, err
	}
	return &Rebuild{r}, nil
}

// Batch begins a batch that puts texts into the index that is being built alone. They
// are read in its transaction, so that no newer one is overwritten.
func (r *Rebuild) Batch(ctx context.Context, tx kv.KVStorage) (*Batch, error) {
	writers, err := r.rebuild.Writers(ctx, tx)
	if err != nil {
		return nil, err
	}
	return &Batch{writers}, nil
}

// Finish puts the index that was built in place of the old one, and deletes that.
func (r *Rebuild) Finish(ctx context.Context, s kv.KVStorage) error {
	return r.rebuild.Finish(ctx, s)
}
