package kv

import (
	"bytes"
	"context"
	"fmt"
	"iter"
)

// InRealm returns a view of s in which a key outside the realm cannot be
// expressed: a call that names one returns ErrOutsideRealm, and a scan of any
// prefix yields the realm's keys alone. Keys are whole, with the realm, on both
// sides of the view, and Key, Prefix and every package of functions build them
// there as anywhere. Transactions on the view are confined too.
func InRealm(s KVStorage, realm string) KVStorage {
	return &realmView{s, realm, append(AppendPart(nil, realm), '/')}
}

type realmView struct {
	store  KVStorage
	realm  string
	prefix []byte
}

func (v *realmView) Unwrap() KVStorage { return v.store }
func (v *realmView) Realm() string     { return v.realm }

func (v *realmView) check(key []byte) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if !bytes.HasPrefix(key, v.prefix) {
		return fmt.Errorf("%w %q: %.80q", ErrOutsideRealm, v.realm, key)
	}
	return nil
}

func (v *realmView) Get(ctx context.Context, col Column, key []byte) ([]byte, error) {
	if err := v.check(key); err != nil {
		return nil, err
	}
	return v.store.Get(ctx, col, key)
}

func (v *realmView) Put(ctx context.Context, col Column, key, value []byte) error {
	if err := v.check(key); err != nil {
		return err
	}
	return v.store.Put(ctx, col, key, value)
}

func (v *realmView) Delete(ctx context.Context, col Column, key []byte) (bool, error) {
	if err := v.check(key); err != nil {
		return false, err
	}
	return v.store.Delete(ctx, col, key)
}

func (v *realmView) ScanKeys(ctx context.Context, col Column, prefix []byte) iter.Seq2[[]byte, error] {
	return KeysOf(v.ScanRange(ctx, col, Range{Prefix: prefix, KeysOnly: true}))
}

func (v *realmView) Scan(ctx context.Context, col Column, prefix []byte) iter.Seq2[Entry, error] {
	return v.ScanRange(ctx, col, Range{Prefix: prefix})
}

func (v *realmView) ScanRange(ctx context.Context, col Column, r Range) iter.Seq2[Entry, error] {
	switch {
	case bytes.HasPrefix(r.Prefix, v.prefix):
	case bytes.HasPrefix(v.prefix, r.Prefix):
		r.Prefix = v.prefix
	default:
		return Fail(fmt.Errorf("%w %q: prefix %.80q", ErrOutsideRealm, v.realm, r.Prefix))
	}
	return ScanRange(ctx, v.store, col, r)
}

func (v *realmView) Update(ctx context.Context, fn func(tx KVStorage) error) error {
	return Update(ctx, v.store, func(tx KVStorage) error { return fn(InRealm(tx, v.realm)) })
}

func (v *realmView) View(ctx context.Context, fn func(tx KVStorage) error) error {
	return View(ctx, v.store, func(tx KVStorage) error { return fn(InRealm(tx, v.realm)) })
}
