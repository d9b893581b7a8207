package crabkv

import (
	"context"
	"iter"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
)

// tx is a transaction of the engine as a store.
type tx struct {
	reader
	tx    *crabdb.Tx
	store *Store
}

func newTx(t *crabdb.Tx, s *Store) *tx { return &tx{reader{txSource{t}, s.emptyKeys}, t, s} }

func (t *tx) Realm() string { return t.store.realm }

func (t *tx) Cache() *kv.Cache { return t.store.cache }

func (t *tx) Atomic() bool { return t.store.Atomic() }

func (t *tx) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	if err := t.checkPut(key, value); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return translate(t.tx.Put(byte(col), key, value))
}

func (t *tx) Delete(ctx context.Context, col kv.Column, key []byte) (bool, error) {
	if err := kv.CheckKey(key); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	existed, err := t.tx.Delete(byte(col), key)
	return existed, translate(err)
}

// Update joins the transaction.
func (t *tx) Update(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	if err := t.alive(ctx); err != nil {
		return err
	}
	return fn(t)
}

// View joins the transaction, for reading.
func (t *tx) View(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	if err := t.alive(ctx); err != nil {
		return err
	}
	return fn(kv.ReadOnly(t))
}

func (t *tx) alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return translate(t.tx.Alive())
}

type txSource struct{ tx *crabdb.Tx }

func (s txSource) get(ctx context.Context, col byte, key []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.tx.Get(col, key)
}

func (s txSource) scan(ctx context.Context, col byte, r crabdb.Range) iter.Seq2[crabdb.Entry, error] {
	return s.tx.Scan(ctx, col, r)
}
