package kv

import (
	"context"
	"io"
	"iter"
)

// Transactor is a store whose updates are all or nothing. Use it through Update
// and View.
type Transactor interface {
	// Update calls fn with a store that reads what the transaction wrote and the
	// rest as it was when fn began, and commits what fn wrote when fn returns nil.
	// When fn returns an error nothing is written and Update returns that error.
	//
	// Updates are serializable; all or nothing of one survives a crash. fn may be
	// called again when a store that others share reports a conflict, so it has no
	// side effects but those on tx and on variables that it sets anew. fn writes
	// through tx alone: a store with one writer at a time may wait for itself
	// otherwise. tx is dead when fn has returned (ErrClosed). Update on tx joins
	// it: the inner function's writes are part of the outer transaction, and the
	// outer one still decides.
	Update(ctx context.Context, fn func(tx KVStorage) error) error

	// View calls fn with the store as it is at one moment. Writes through it are
	// refused with ErrReadOnly. It waits for no writer, and no writer for it.
	View(ctx context.Context, fn func(tx KVStorage) error) error
}

// Range says what a ScanRange yields of a column.
type Range struct {
	Prefix   []byte // only keys that begin with this; empty means all
	After    []byte // only keys behind this one in the direction of the scan; nil means from the start
	Reverse  bool   // descending, and After is then an upper bound
	KeysOnly bool   // leave Entry.Value nil
}

// Ranger is a store that can scan from a key on and backwards without walking
// what it skips. Use it through ScanRange and Last. A scan of a range keeps the
// promises of KVStorage.ScanKeys.
type Ranger interface {
	ScanRange(ctx context.Context, col Column, r Range) iter.Seq2[Entry, error]
}

// Realmed is a store that belongs to a realm other than the default one. Use it
// through RealmOf.
type Realmed interface {
	Realm() string
}

// Checkpointer is a store that can be told to make what it acknowledged safe
// from a power loss, and cheap to open.
type Checkpointer interface {
	Checkpoint(ctx context.Context) error
}

// Compactor is a store that can give back the space of what was overwritten and
// deleted.
type Compactor interface {
	Compact(ctx context.Context) error
}

// Backuper is a store that can write a consistent copy of itself, as it is at
// one moment, while reads and writes go on. The form is the engine's own.
type Backuper interface {
	Backup(ctx context.Context, w io.Writer) error
}

// Statser is a store that can tell how it is.
type Statser interface {
	Stats(ctx context.Context) (Stats, error)
}

// Stats is what a store tells of itself. Zero means none or unknown.
type Stats struct {
	Engine    string         // the adapter's name, as in crabdb
	Location  string         // where it lies: a path or an address, without secrets
	Keys      int64          // live keys
	Bytes     int64          // bytes on disk
	DeadBytes int64          // of these, what a compaction would give back
	Memory    int64          // resident bytes of the index
	Detail    map[string]any // more, by the engine's own names; strings, booleans, numbers
}

// Unwrapper is a store around another one.
type Unwrapper interface {
	Unwrap() KVStorage
}

// As returns the first of s, and what it wraps from the outside in, that is a T.
func As[T any](s KVStorage) (T, bool) {
	for s != nil {
		if t, ok := s.(T); ok {
			return t, true
		}
		u, ok := s.(Unwrapper)
		if !ok {
			break
		}
		s = u.Unwrap()
	}
	var none T
	return none, false
}

// Atomic tells whether an Update of s is all or nothing, over a crash too. A
// Transactor is, unless it has a method Atomic and that says no; a wrapper is as
// atomic as what it wraps, and a transaction as its store.
func Atomic(s KVStorage) bool {
	for {
		if a, ok := s.(interface{ Atomic() bool }); ok {
			return a.Atomic()
		}
		u, ok := s.(Unwrapper)
		if !ok {
			_, ok = s.(Transactor)
			return ok
		}
		s = u.Unwrap()
	}
}

// Update runs fn as one transaction on s, as Transactor.Update describes it.
//
// On a store that is no Transactor the writes are collected, so that an error of
// fn writes nothing, and then made one by one in the order in which fn first
// touched their keys. A crash among them leaves the first of them, and another
// writer may come between: Atomic(s) is false. Functions therefore write
// content before the index entries that point at it, and delete it after them.
func Update(ctx context.Context, s KVStorage, fn func(tx KVStorage) error) error {
	if t, ok := As[Transactor](s); ok {
		return t.Update(ctx, fn)
	}
	o := newOverlayInPieces(s)
	defer o.Close()
	if err := o.Update(ctx, fn); err != nil {
		return err
	}
	return o.Apply(ctx, s)
}

// View runs fn on s as it is at one moment, as Transactor.View describes it. On
// a store that is no Transactor fn reads the store as it goes.
func View(ctx context.Context, s KVStorage, fn func(tx KVStorage) error) error {
	if t, ok := As[Transactor](s); ok {
		return t.View(ctx, fn)
	}
	o := newOverlayInPieces(s) // for its end: what fn keeps of it is dead when fn has returned
	defer o.Close()
	return o.View(ctx, fn)
}

// ScanRange scans a range of s. On a store that is no Ranger it walks the keys
// of the prefix from the first one, and holds all of them, keys only or not, for
// a scan in reverse.
func ScanRange(ctx context.Context, s KVStorage, col Column, r Range) iter.Seq2[Entry, error] {
	if t, ok := As[Ranger](s); ok {
		return t.ScanRange(ctx, col, r)
	}
	return walkRange(ctx, s, col, r)
}

// Last returns the last entry of s that begins with prefix, or ErrNotFound.
func Last(ctx context.Context, s KVStorage, col Column, prefix []byte) (Entry, error) {
	for e, err := range ScanRange(ctx, s, col, Range{Prefix: prefix, Reverse: true}) {
		return e, err
	}
	return Entry{}, ErrNotFound
}

// DefaultRealm is the realm of a store that does not say otherwise.
const DefaultRealm = "local"

// RealmOf returns the realm in which the keys of s lie.
func RealmOf(s KVStorage) string {
	if r, ok := As[Realmed](s); ok {
		return r.Realm()
	}
	return DefaultRealm
}
