package literal

import (
	"context"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// Put indexes text under key in the index ix, in place of what was there. The key is
// any string of bytes that is not empty; keys made by kv.Join let DropPrefix and
// Query.KeyPrefix take all of one owner. The text itself is not kept. An index needs
// no creation.
func Put(ctx context.Context, s kv.KVStorage, ix, key, text string) error {
	return withBatch(ctx, s, ix, func(b *Batch) error { return b.Put(ctx, key, text) })
}

// Drop removes the text under key from the index and tells whether there was one.
func Drop(ctx context.Context, s kv.KVStorage, ix, key string) (existed bool, err error) {
	err = withBatch(ctx, s, ix, func(b *Batch) error {
		existed, err = b.Drop(ctx, key)
		return err
	})
	return existed, err
}

// DropPrefix removes all texts whose keys begin with keyPrefix and returns how many
// there were. The empty prefix is the whole index.
func DropPrefix(ctx context.Context, s kv.KVStorage, ix, keyPrefix string) (n int, err error) {
	err = withBatch(ctx, s, ix, func(b *Batch) error {
		n, err = b.DropPrefix(ctx, keyPrefix)
		return err
	})
	return n, err
}

// withBatch runs fn with a batch in one transaction.
func withBatch(ctx context.Context, s kv.KVStorage, ix string, fn func(*Batch) error) error {
	return at(s, ix).Update(ctx, s, "", func(w inverted.Writers) error { return fn(&Batch{w}) })
}

// Optimize makes an index as small and as fast as it can be: one segment, without
// anything of texts that were dropped, which until then is in the store. It takes
// many transactions, between which others go on.
func Optimize(ctx context.Context, s kv.KVStorage, ix string) error {
	return at(s, ix).Optimize(ctx, s)
}

// Clear deletes all that an index has, whatever state it is in.
func Clear(ctx context.Context, s kv.KVStorage, ix string) error { return at(s, ix).ClearAll(ctx, s) }

// Sweep deletes the values of an index that nothing leads to, as a crash leaves them
// on a store whose updates are not atomic.
func Sweep(ctx context.Context, s kv.KVStorage, ix string) error { return at(s, ix).SweepAll(ctx, s) }

// at is where the index lies.
func at(s kv.KVStorage, ix string) *inverted.Index {
	x := inverted.At(s, kv.Archive, "tri", ix)
	x.Unranked = true
	return x
}
