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

// Update runs fn with the writers of the index in one transaction, and writes what
// they then hold back.
func (x *Index) Update(ctx context.Context, s kv.KVStorage, config string, fn func(Writers) error) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		all, err := x.NewWriters(ctx, tx, config)
		if err != nil {
			return err
		}
		if err := fn(all); err != nil {
			return err
		}
		return all.Flush(ctx)
	})
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
