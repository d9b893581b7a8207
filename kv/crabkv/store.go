// Package crabkv makes a crabdb file a kv.KVStorage. A file in the sealed format
// is atomic; one in the plain format, which has no transactions, is not, and
// kv.Atomic says so.
package crabkv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
)

// Store is a store in one crabdb file.
type Store struct {
	reader
	db    *crabdb.DB
	realm string
	cache *kv.Cache
}

// Open opens the file at path, and creates it where the options do not forbid it.
// Its keys are in kv.DefaultRealm.
func Open(path string, opts crabdb.Options) (*Store, error) {
	return OpenRealm(path, kv.DefaultRealm, opts)
}

// OpenRealm is Open for keys in a realm.
func OpenRealm(path, realm string, opts crabdb.Options) (*Store, error) {
	db, err := crabdb.Open(path, opts)
	if err != nil {
		return nil, translate(err)
	}
	return New(db, realm), nil
}

// New returns the store that an open file is, with keys in a realm. Closing the store
// closes the file.
func New(db *crabdb.DB, realm string) *Store {
	return &Store{reader{source: dbSource{db}}, db, realm, new(kv.Cache)}
}

// Whole returns the store as the engine has it: with the empty key, which a file of
// another implementation may hold, in scans, and taken by Put. It is for who copies a
// store. Closing either closes both.
func (s *Store) Whole() *Store {
	whole := *s
	whole.emptyKeys = true
	return &whole
}

// DB returns the engine, for what it alone can do: Check, Refresh and the like.
func (s *Store) DB() *crabdb.DB { return s.db }

// Realm returns the realm of the keys.
func (s *Store) Realm() string { return s.realm }

// Cache returns what packages keep of the store in memory.
func (s *Store) Cache() *kv.Cache { return s.cache }

// Atomic tells whether a transaction is all or nothing over a crash.
func (s *Store) Atomic() bool { return s.db.Sealed() }

// Put sets the value of a key.
func (s *Store) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	if err := s.checkPut(key, value); err != nil {
		return err
	}
	return translate(s.db.Put(ctx, byte(col), key, value))
}

// Delete removes a key.
func (s *Store) Delete(ctx context.Context, col kv.Column, key []byte) (bool, error) {
	if err := kv.CheckKey(key); err != nil {
		return false, err
	}
	existed, err := s.db.Delete(ctx, byte(col), key)
	return existed, translate(err)
}

// Update runs fn as one transaction.
func (s *Store) Update(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	return outcome(func(keep func(error) error) error {
		return s.db.Update(ctx, func(t *crabdb.Tx) error { return keep(fn(newTx(t, s))) })
	})
}

// View runs fn on the store as it is at one moment.
func (s *Store) View(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	return outcome(func(keep func(error) error) error {
		return s.db.View(ctx, func(t *crabdb.Tx) error { return keep(fn(newTx(t, s))) })
	})
}

// outcome runs a transaction and returns the error of its function as it is, and
// one of the engine translated.
func outcome(run func(keep func(error) error) error) error {
	var own error
	err := run(func(err error) error {
		own = err
		return err
	})
	if own != nil && err == own {
		return own
	}
	return translate(err)
}

// Checkpoint makes the store safe from a power loss and quick to open.
func (s *Store) Checkpoint(ctx context.Context) error { return translate(s.db.Checkpoint(ctx)) }

// Compact gives back the space of what was overwritten and deleted.
func (s *Store) Compact(ctx context.Context) error { return translate(s.db.Compact(ctx)) }

// CompactIfDue compacts when so much is dead that it is time.
func (s *Store) CompactIfDue(ctx context.Context) error { return translate(s.db.CompactIfDue(ctx)) }

// Backup writes a store file that holds what the store holds now.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	return translate(s.db.Backup(ctx, w))
}

// Stats tells how the store is.
func (s *Store) Stats(ctx context.Context) (kv.Stats, error) {
	st, err := s.db.Stats(ctx)
	if err != nil {
		return kv.Stats{}, translate(err)
	}
	return kv.Stats{
		Engine: "crabdb", Location: st.Path,
		Keys: st.Keys, Bytes: st.File, DeadBytes: st.Dead, Memory: st.Index,
		Detail: detail(st),
	}, nil
}

func detail(st crabdb.Stats) map[string]any {
	d := map[string]any{
		"sealed":           st.Sealed,
		"live_bytes":       st.Live,
		"checkpoint":       st.Checkpoint,
		"snapshot_used":    st.Recovery.Snapshot,
		"records_replayed": st.Recovery.Replayed,
	}
	if st.Recovery.Distrust != "" {
		d["snapshot_refused"] = st.Recovery.Distrust
	}
	if st.Recovery.Torn > 0 {
		d["torn_bytes_cut"], d["torn_reason"] = st.Recovery.Torn, st.Recovery.Reason
	}
	if st.Recovery.KeptAs != "" {
		d["torn_bytes_kept_as"] = st.Recovery.KeptAs
	}
	if n := len(st.Recovery.Lost); n > 0 {
		d["spans_lost"] = n
	}
	if st.Poisoned != nil {
		d["poisoned"] = st.Poisoned.Error()
	}
	if st.Background != nil {
		d["background_failure"] = st.Background.Error()
	}
	return d
}

// Close closes the store.
func (s *Store) Close() error { return translate(s.db.Close()) }

func (r reader) checkPut(key, value []byte) error {
	if err := kv.CheckKey(key); err != nil && !(r.emptyKeys && len(key) == 0) {
		return err
	}
	return kv.CheckValue(value, kv.MaxValueSize)
}

// sentinels pairs the engine's errors with those of kv.
var sentinels = []struct{ engine, kv error }{
	{crabdb.ErrNotFound, kv.ErrNotFound},
	{crabdb.ErrClosed, kv.ErrClosed},
	{crabdb.ErrReadOnly, kv.ErrReadOnly},
	{crabdb.ErrLocked, kv.ErrBusy},
	{crabdb.ErrCorrupt, kv.ErrCorrupt},
	{crabdb.ErrKeyTooLarge, kv.ErrKeyTooLarge},
	{crabdb.ErrValueTooLarge, kv.ErrValueTooLarge},
	{crabdb.ErrEndMark, kv.ErrKeyEmpty},
	{crabdb.ErrBatchTooLarge, kv.ErrTxTooLarge},
}

// translate makes an error of the engine one of kv too.
func translate(err error) error {
	if err == nil || err == kv.ErrNotFound {
		return err
	}
	if err == crabdb.ErrNotFound {
		return kv.ErrNotFound
	}
	for _, s := range sentinels {
		if errors.Is(err, s.engine) {
			return fmt.Errorf("%w: %w", s.kv, err)
		}
	}
	return err
}

// source is what a store and a transaction of the engine read alike.
type source interface {
	get(ctx context.Context, col byte, key []byte) ([]byte, error)
	scan(ctx context.Context, col byte, r crabdb.Range) iter.Seq2[crabdb.Entry, error]
}

type dbSource struct{ db *crabdb.DB }

func (s dbSource) get(ctx context.Context, col byte, key []byte) ([]byte, error) {
	return s.db.Get(ctx, col, key)
}

func (s dbSource) scan(ctx context.Context, col byte, r crabdb.Range) iter.Seq2[crabdb.Entry, error] {
	return s.db.Scan(ctx, col, r)
}

// reader is the reading half of a KVStorage.
type reader struct {
	source
	emptyKeys bool // they are shown, and may be put
}

// Get returns the value of a key.
func (r reader) Get(ctx context.Context, col kv.Column, key []byte) ([]byte, error) {
	if err := kv.CheckKey(key); err != nil {
		return nil, err
	}
	value, err := r.get(ctx, byte(col), key)
	return value, translate(err)
}

// ScanKeys yields the keys that begin with prefix.
func (r reader) ScanKeys(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[[]byte, error] {
	return kv.KeysOf(r.ScanRange(ctx, col, kv.Range{Prefix: prefix, KeysOnly: true}))
}

// Scan yields the entries whose keys begin with prefix.
func (r reader) Scan(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return r.ScanRange(ctx, col, kv.Range{Prefix: prefix})
}

// ScanRange yields the entries of a range. An empty key, which a plain file of
// another implementation may hold and kv cannot express, is passed over, but of Whole.
func (r reader) ScanRange(ctx context.Context, col kv.Column, rng kv.Range) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		in := crabdb.Range{Prefix: rng.Prefix, After: rng.After, Reverse: rng.Reverse, KeysOnly: rng.KeysOnly}
		for e, err := range r.scan(ctx, byte(col), in) {
			if err == nil && len(e.Key) == 0 && !r.emptyKeys {
				continue
			}
			if !yield(kv.Entry(e), translate(err)) {
				return
			}
		}
	}
}
