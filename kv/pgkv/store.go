package pgkv

import (
	"context"
	"iter"

	"github.com/crabstore/crabstore/kv"
)

// DefaultTable is the name of the table of a store that does not say otherwise.
const DefaultTable = "crabstore"

// Options say how a store is opened. The zero value is right for most.
type Options struct {
	// Realm confines the store to the keys of a realm, as kv.InRealm does: many stores
	// share a table and none sees another. Empty means the whole table, in
	// kv.DefaultRealm.
	Realm string

	// Table is the name of the table, without a schema, which is the first in the
	// search_path. Empty means DefaultTable.
	Table string

	// ReadOnly makes every write kv.ErrReadOnly, and Open of a missing table an error
	// that wraps fs.ErrNotExist, and creates nothing.
	ReadOnly bool
}

// storage is what a store is, without the name in it being anybody else's to set.
type storage = kv.KVStorage

// Store is a store in one table of a database. It is a kv.Transactor, kv.Ranger,
// kv.Realmed, kv.Cacher, kv.Statser and io.Closer as well.
type Store struct {
	storage // the table, or a view of it that a realm confines or that cannot write
	table   *table
	within  []byte // what all keys begin with
}

// Open opens the store at url, as in postgres://user:password@host:5432/database, with
// the parameters of pgx and of libpq, and creates its table when it is missing. It does
// not wait for a server that is not there.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	if o.Table == "" {
		o.Table = DefaultTable
	}
	t, err := newTable(ctx, url, o)
	if err != nil {
		return nil, err
	}
	if err := t.prepare(ctx, o.ReadOnly); err != nil {
		t.pool.Close()
		return nil, err
	}
	s := &Store{storage: t, table: t}
	if o.Realm != "" {
		s.storage = kv.InRealm(t, o.Realm)
		s.within = append(kv.AppendPart(nil, o.Realm), '/')
	}
	if o.ReadOnly {
		s.storage = kv.ReadOnly(s.storage)
	}
	return s, nil
}

// ScanRange yields the entries of a range.
func (s *Store) ScanRange(ctx context.Context, col kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	return kv.ScanRange(ctx, s.storage, col, r)
}

// Update runs fn as one serializable transaction, again when others are in the way.
func (s *Store) Update(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	return kv.Update(ctx, s.storage, fn)
}

// View runs fn on the store as it is at one moment.
func (s *Store) View(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	return kv.View(ctx, s.storage, fn)
}

// Realm returns the realm of the keys.
func (s *Store) Realm() string { return s.table.realm }

// Cache returns what packages keep of the store in memory.
func (s *Store) Cache() *kv.Cache { return &s.table.cache }

// Stats counts the entries, of the realm where there is one, which takes a look at each of
// them. Bytes are those of keys and values.
func (s *Store) Stats(ctx context.Context) (kv.Stats, error) {
	return s.table.stats(ctx, s.within)
}

// Close makes every later call return kv.ErrClosed, waits for the calls that are under
// way, and disconnects when the last transaction and scan has ended.
func (s *Store) Close() error {
	return s.table.gate.Close(func() error {
		s.table.pool.Close()
		return nil
	})
}
