package memkv

import (
	"bytes"
	"context"
	"iter"
	"strings"

	"github.com/crabstore/crabstore/kv"
)

// snapshot is the store as it was at one moment. It is a kv.KVStorage, and a
// kv.Ranger, so that a transaction can lie above it; its writes are refused.
type snapshot struct {
	store   *Store
	entries tree // by place; no value is ever changed
}

// place is where a key lies in the tree: behind the byte of its column.
func place(col kv.Column, key []byte) string {
	b := make([]byte, 0, 64) // short keys need one allocation, that of the string
	return string(append(append(b, byte(col)), key...))
}

func (v *snapshot) Cache() *kv.Cache { return &v.store.cache }

func (v *snapshot) Realm() string { return v.store.realm }

func (v *snapshot) Get(ctx context.Context, col kv.Column, key []byte) ([]byte, error) {
	if err := kv.CheckKey(key); err != nil {
		return nil, err
	}
	if err := v.store.ready(ctx); err != nil {
		return nil, err
	}
	value, ok := v.entries.get(place(col, key))
	if !ok {
		return nil, kv.ErrNotFound
	}
	return append([]byte{}, value...), nil
}

func (v *snapshot) Put(context.Context, kv.Column, []byte, []byte) error { return kv.ErrReadOnly }

func (v *snapshot) Delete(context.Context, kv.Column, []byte) (bool, error) {
	return false, kv.ErrReadOnly
}

func (v *snapshot) ScanKeys(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[[]byte, error] {
	return kv.KeysOf(v.ScanRange(ctx, col, kv.Range{Prefix: prefix, KeysOnly: true}))
}

func (v *snapshot) Scan(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return v.ScanRange(ctx, col, kv.Range{Prefix: prefix})
}

func (v *snapshot) ScanRange(ctx context.Context, col kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		prefix := place(col, r.Prefix)
		if err := v.store.ready(ctx); err != nil {
			yield(kv.Entry{}, err)
			return
		}
		for at, value := range v.from(col, r) {
			if !strings.HasPrefix(at, prefix) {
				return
			}
			if err := v.store.ready(ctx); err != nil {
				yield(kv.Entry{}, err)
				return
			}
			e := kv.Entry{Key: []byte(at[1:])}
			if !r.KeysOnly {
				e.Value = append([]byte{}, value...)
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// from yields the tree from the first entry of a range on, in its direction, and
// on behind its last.
func (v *snapshot) from(col kv.Column, r kv.Range) iter.Seq2[string, []byte] {
	if r.Reverse {
		before := string(kv.PrefixEnd([]byte(place(col, r.Prefix)))) // empty: from the end of the tree
		if after := place(col, r.After); r.After != nil && (before == "" || after < before) {
			before = after
		}
		return v.entries.descend(before)
	}
	first := r.Prefix
	if r.After != nil && bytes.Compare(r.After, r.Prefix) >= 0 {
		first = append(bytes.Clone(r.After), 0) // the least key that is greater
	}
	return v.entries.ascend(place(col, first))
}
