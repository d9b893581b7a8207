package etcdkv

import (
	"context"
	"iter"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crabstore/crabstore/kv"
)

// moment is the store at a revision: a kv.Snapshot. Where a commit was pending then,
// its records lie over what is in place.
type moment struct {
	store  *Store
	rev    int64
	staged []record
}

// now returns the store as it is, and what else is asked of etcd at that revision.
func (s *Store) now(ctx context.Context, ops ...clientv3.Op) (*moment, *answer, error) {
	a, g, err := s.read(ctx, ops...)
	if err != nil {
		return nil, nil, err
	}
	m := &moment{store: s, rev: a.Header.Revision}
	if g.state == pending {
		m.staged, err = s.staged(ctx, g, m.rev)
	}
	return m, a, err
}

// Get returns the value of a key.
func (m *moment) Get(ctx context.Context, col kv.Column, key []byte) ([]byte, error) {
	r, err := m.store.at(ctx, m.rev, m.store.dataKey(columnKey(col, key)))
	if err != nil {
		return nil, err
	}
	return m.value(ctx, columnKey(col, key), r)
}

// value returns the value of a key of which r is what lies in place.
func (m *moment) value(ctx context.Context, key string, r *clientv3.GetResponse) ([]byte, error) {
	var stored []byte
	there := len(r.Kvs) > 0
	if there {
		stored = r.Kvs[0].Value
	}
	if i, found := slices.BinarySearchFunc(m.staged, key, func(r record, key string) int { return strings.Compare(r.key, key) }); found {
		stored = slices.Clone(m.staged[i].stored)
		there = stored != nil
	}
	if !there {
		return nil, kv.ErrNotFound
	}
	return m.store.load(ctx, m.rev, key, stored)
}

// ScanRange yields the entries of a range.
func (m *moment) ScanRange(ctx context.Context, col kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	return m.entries(ctx, m.store.spanOf(col, r), nil)
}

// entries yields a span, of which the first page may have been read before.
func (m *moment) entries(ctx context.Context, sp span, first *clientv3.GetResponse) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		all := m.store.records(ctx, m.rev, sp, first)
		if held := m.store.stagedIn(m.staged, sp); len(held) > 0 {
			all = over(held, all, sp.reverse)
		}
		for r, err := range all {
			var e kv.Entry
			if err == nil {
				e, err = m.entry(ctx, r, sp.keysOnly)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (m *moment) entry(ctx context.Context, r record, keysOnly bool) (kv.Entry, error) {
	e := kv.Entry{Key: []byte(r.key[1:])}
	if keysOnly {
		return e, nil
	}
	value, err := m.store.load(ctx, m.rev, r.key, r.stored)
	if err != nil {
		return kv.Entry{}, err
	}
	e.Value = value
	return e, nil
}
