package textsearch

import (
	"context"

	"github.com/crabstore/crabstore/kv"
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
		n = 0
		prefix := b.layout.appendDoc(nil, keyPrefix)
		for storeKey, err := range b.tx.ScanKeys(ctx, kv.Text, prefix) {
			if err != nil {
				return err
			}
			key, err := part(storeKey, b.layout.doc)
			if err != nil {
				return err
			}
			if _, err := b.Drop(ctx, key); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// update runs fn with a batch in one transaction.
func update(ctx context.Context, s kv.KVStorage, ix string, fn func(*Batch) error) error {
	set, err := SettingsOf(s)
	if err != nil {
		return err
	}
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		b, err := newBatch(ctx, tx, ix, set)
		if err != nil {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
		return b.Flush(ctx)
	})
}
