package textsearch

import (
	"context"
	"fmt"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch/internal/analysis"
	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// Put indexes text under key in the index ix, in place of what was there. The
// key is any string of bytes; keys made by kv.Join let DropPrefix and
// Query.KeyPrefix take all of one owner. weight multiplies the document's scores.
// An index needs no creation.
func Put(ctx context.Context, s kv.KVStorage, ix, key, text string, weight float64) error {
	return update(ctx, s, ix, func(b *Batch) error { return b.Put(ctx, key, text, weight) })
}

// Drop removes the document under key from the index and tells whether there was
// one.
func Drop(ctx context.Context, s kv.KVStorage, ix, key string) (existed bool, err error) {
	err = update(ctx, s, ix, func(b *Batch) error {
		existed, err = b.Drop(ctx, key)
		return err
	})
	return existed, err
}

// DropPrefix removes all documents whose keys begin with keyPrefix and returns how
// many there were. The empty prefix is the whole index.
func DropPrefix(ctx context.Context, s kv.KVStorage, ix, keyPrefix string) (n int, err error) {
	err = update(ctx, s, ix, func(b *Batch) error {
		n, err = b.DropPrefix(ctx, keyPrefix)
		return err
	})
	return n, err
}

// update runs fn with a batch in one transaction.
func update(ctx context.Context, s kv.KVStorage, ix string, fn func(*Batch) error) error {
	set, err := SettingsOf(s)
	if err != nil {
		return err
	}
	return at(s, ix).Update(ctx, s, set.Language, func(w inverted.Writers) error { return fn(&Batch{w}) })
}

// Optimize makes an index as small and as fast as it can be: one segment, without
// anything of documents that were dropped, which until then is in the store. It
// takes many transactions, between which others go on.
func Optimize(ctx context.Context, s kv.KVStorage, ix string) error {
	return at(s, ix).Optimize(ctx, s)
}

// Clear deletes all that an index has, whatever state it is in.
func Clear(ctx context.Context, s kv.KVStorage, ix string) error { return at(s, ix).ClearAll(ctx, s) }

// at is where the index lies. Its groups are the words of one stem.
func at(s kv.KVStorage, ix string) *inverted.Index {
	x := inverted.At(s, kv.Text, "text", ix)
	x.Groups = func(language string) (inverted.Group, error) {
		a, err := analyzerOf(language)
		if err != nil {
			return nil, err
		}
		return a.Stem, nil
	}
	return x
}

// analyzerOf returns the analyzer of the language that an index says it is in.
func analyzerOf(language string) (*analysis.Analyzer, error) {
	a, err := analysis.New(language)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return a, nil
}
