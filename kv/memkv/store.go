// Package memkv is a store in memory, for tests and for what is thrown away. It
// keeps every promise of kv that needs no disk, and it is the plainest way to
// keep them, so it is also the model against which other stores are read.
//
// All keys of all columns lie in one immutable ordered tree, by column byte and
// key. A reader takes the tree that is current when it begins and needs nothing
// more: whatever is written later makes another tree. A writer waits for its turn,
// which one writer has at a time, makes the next tree and puts it in place of the
// current one. Reads never wait.
//
// An Update has the turn from before its function begins until it is committed,
// and a plain Put or Delete takes the turn as well. So everything that is written
// is serializable, and a function given to Update that writes to the store itself
// instead of to its transaction waits for itself, until its context ends.
package memkv

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/frozen"
	"github.com/crabstore/crabstore/kv/internal/gate"
)

// Options say how a store is opened. The zero value is right for most.
type Options struct {
	Realm string // the realm of the store's keys; empty means kv.DefaultRealm
}

// Store is a kv.KVStorage in memory. It is a kv.Transactor, kv.Ranger,
// kv.Realmed, kv.Statser and io.Closer as well.
type Store struct {
	realm   string
	gate    gate.Gate
	turn    gate.Turn                       // of the writer
	current atomic.Pointer[frozen.Snapshot] // replaced by the writer that has the turn
	cache   kv.Cache
}

// New returns an empty store in the default realm.
func New() *Store { return Open(Options{}) }

// Open returns an empty store.
func Open(o Options) *Store {
	if o.Realm == "" {
		o.Realm = kv.DefaultRealm
	}
	s := &Store{realm: o.Realm, turn: gate.NewTurn()}
	s.current.Store(&frozen.Snapshot{Ready: s.gate.Check})
	return s
}

// Close makes every later call return kv.ErrClosed. Readers and writers that are
// on their way finish or get it too. Closing again does nothing.
func (s *Store) Close() error {
	return s.gate.Close(func() error { return nil })
}

// Realm returns the realm that the store was opened with.
func (s *Store) Realm() string { return s.realm }

// Cache returns what packages keep of the store.
func (s *Store) Cache() *kv.Cache { return &s.cache }

// Stats tells how many keys there are.
func (s *Store) Stats(ctx context.Context) (kv.Stats, error) {
	if err := s.gate.Check(ctx); err != nil {
		return kv.Stats{}, err
	}
	return kv.Stats{Engine: "memkv", Location: "memory", Keys: int64(s.current.Load().Entries.Len())}, nil
}

// Get returns a copy of the value of a key.
func (s *Store) Get(ctx context.Context, col kv.Column, key []byte) ([]byte, error) {
	return s.current.Load().Get(ctx, col, key)
}

// Put waits for the turn and sets the value of a key.
func (s *Store) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	if err := kv.CheckKey(key); err != nil {
		return err
	}
	if err := kv.CheckValue(value, kv.MaxValueSize); err != nil {
		return err
	}
	if err := s.turn.Take(ctx, &s.gate); err != nil {
		return err
	}
	defer s.turn.Pass()
	s.commit([]kv.Change{{Column: col, Key: key, Value: append([]byte{}, value...)}})
	return nil
}

// Delete waits for the turn and removes a key.
func (s *Store) Delete(ctx context.Context, col kv.Column, key []byte) (existed bool, err error) {
	if err := kv.CheckKey(key); err != nil {
		return false, err
	}
	if err := s.turn.Take(ctx, &s.gate); err != nil {
		return false, err
	}
	defer s.turn.Pass()
	_, existed = s.current.Load().Entries.Get(frozen.Place(col, key))
	if existed {
		s.commit([]kv.Change{{Column: col, Key: key, Delete: true}})
	}
	return existed, nil
}

// ScanKeys scans the keys of the tree that is current when the iteration begins.
func (s *Store) ScanKeys(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[[]byte, error] {
	return kv.KeysOf(s.ScanRange(ctx, col, kv.Range{Prefix: prefix, KeysOnly: true}))
}

// Scan scans the tree that is current when the iteration begins.
func (s *Store) Scan(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return s.ScanRange(ctx, col, kv.Range{Prefix: prefix})
}

// ScanRange scans a range of the tree that is current when the iteration begins.
func (s *Store) ScanRange(ctx context.Context, col kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		s.current.Load().ScanRange(ctx, col, r)(yield)
	}
}
