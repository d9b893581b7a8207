package kv

import (
	"context"
	"iter"
)

// Snapshot reads a store as it is at one moment. Adapters whose engine has no
// transactions of the kind that Transactor promises make theirs of one: what fn
// writes is held in memory above it, in an Overlay, and committed when fn returns.
// A key that it is given has been checked.
type Snapshot interface {
	Get(ctx context.Context, col Column, key []byte) ([]byte, error)
	Ranger
}

// Collect calls fn with a transaction of store above a snapshot of it and returns
// what fn wrote, which is what is to be committed, in the order in which the keys
// were first touched. The transaction is dead afterwards.
func Collect(ctx context.Context, store KVStorage, snap Snapshot, fn func(tx KVStorage) error) ([]Change, error) {
	o := NewOverlay(&moment{snap, store})
	defer o.Close()
	if err := o.Update(ctx, fn); err != nil {
		return nil, err
	}
	return o.Changes(), nil
}

// ViewAt calls fn with a snapshot of store as the transaction of a View. It is dead
// afterwards.
func ViewAt(ctx context.Context, store KVStorage, snap Snapshot, fn func(tx KVStorage) error) error {
	o := NewOverlay(&moment{snap, store})
	defer o.Close()
	return o.View(ctx, fn)
}

// moment is a snapshot as the store of which it is one.
type moment struct {
	Snapshot
	store KVStorage
}

func (m *moment) Realm() string { return RealmOf(m.store) }
func (m *moment) Cache() *Cache { return CacheOf(m.store) }

func (m *moment) ScanKeys(ctx context.Context, col Column, prefix []byte) iter.Seq2[[]byte, error] {
	return KeysOf(m.ScanRange(ctx, col, Range{Prefix: prefix, KeysOnly: true}))
}

func (m *moment) Scan(ctx context.Context, col Column, prefix []byte) iter.Seq2[Entry, error] {
	return m.ScanRange(ctx, col, Range{Prefix: prefix})
}

func (m *moment) Put(context.Context, Column, []byte, []byte) error { return ErrReadOnly }

func (m *moment) Delete(context.Context, Column, []byte) (bool, error) { return false, ErrReadOnly }
