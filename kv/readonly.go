package kv

import (
	"context"
	"iter"
)

// readOnly is a store that refuses writes: the transaction of a View.
type readOnly struct{ store KVStorage }

func (r *readOnly) Unwrap() KVStorage { return r.store }

func (r *readOnly) Get(ctx context.Context, col Column, key []byte) ([]byte, error) {
	return r.store.Get(ctx, col, key)
}

func (r *readOnly) Put(context.Context, Column, []byte, []byte) error { return ErrReadOnly }

func (r *readOnly) Delete(context.Context, Column, []byte) (bool, error) { return false, ErrReadOnly }

func (r *readOnly) ScanKeys(ctx context.Context, col Column, prefix []byte) iter.Seq2[[]byte, error] {
	return r.store.ScanKeys(ctx, col, prefix)
}

func (r *readOnly) Scan(ctx context.Context, col Column, prefix []byte) iter.Seq2[Entry, error] {
	return r.store.Scan(ctx, col, prefix)
}

// Update is a View: what fn writes is refused.
func (r *readOnly) Update(ctx context.Context, fn func(tx KVStorage) error) error {
	return r.View(ctx, fn)
}

func (r *readOnly) View(ctx context.Context, fn func(tx KVStorage) error) error {
	return View(ctx, r.store, fn)
}

// ReadOnly returns a view of s that refuses writes with ErrReadOnly.
func ReadOnly(s KVStorage) KVStorage { return &readOnly{s} }
