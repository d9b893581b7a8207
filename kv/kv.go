package kv

import (
	"context"
	"fmt"
	"iter"
	"math"
)

// Column is a hard partition of a store: a key in one column is another key than
// the same bytes in a second one, and no scan crosses a border.
type Column uint8

// The columns. The numbers are on disk: they are never changed or used again.
const (
	Agent    Column = 0
	Session  Column = 1
	Memory   Column = 2
	Skill    Column = 3
	Harness  Column = 4
	Config   Column = 5
	Text     Column = 6
	Run      Column = 7
	Artifact Column = 8
	Archive  Column = 9
)

// Columns returns every column, ascending. The slice is the caller's.
func Columns() []Column {
	return []Column{Agent, Session, Memory, Skill, Harness, Config, Text, Run, Artifact, Archive}
}

// EveryColumn yields every column that can be, ascending: also those without a name,
// which a store of another implementation may have. It is for who copies or counts.
func EveryColumn() iter.Seq[Column] {
	return func(yield func(Column) bool) {
		for c := range math.MaxUint8 + 1 {
			if !yield(Column(c)) {
				return
			}
		}
	}
}

var columnNames = [...]string{
	"agent", "session", "memory", "skill", "harness", "config", "text", "run", "artifact", "archive",
}

// String returns the column's name, or "column N" for one without a name.
func (c Column) String() string {
	if int(c) < len(columnNames) {
		return columnNames[c]
	}
	return fmt.Sprintf("column %d", uint8(c))
}

// The limits of keys and values, in bytes. A store may state lower ones for
// values; none has lower ones for keys.
const (
	MaxKeySize   = 1024
	MaxValueSize = 256 << 20
)

// Entry is one key with its value, as scans yield it. Both slices are the
// caller's to keep and to change. Value is nil in a scan of keys only, and
// non-nil otherwise, also when it is empty.
type Entry struct {
	Key   []byte
	Value []byte
}

// KVStorage is the primitive. All methods are safe for concurrent use, return
// the context's error when it ended before they began, and ErrClosed after the
// store was closed. Arguments are not kept: the caller may change a key or a
// value as soon as the call has returned. Keys are 1 to MaxKeySize bytes of
// anything, values 0 to MaxValueSize; beyond that the calls return ErrKeyEmpty,
// ErrKeyTooLarge or ErrValueTooLarge and write nothing. A nil value is an empty
// one.
type KVStorage interface {
	// Get returns the value of a key, never nil without an error, or ErrNotFound.
	// The slice is the caller's.
	Get(ctx context.Context, col Column, key []byte) ([]byte, error)

	// Put sets the value of a key, whether or not it had one. When Put has
	// returned nil every later Get, of this process or of another that shares the
	// store, sees it.
	Put(ctx context.Context, col Column, key, value []byte) error

	// Delete removes a key and tells whether it was there. An absent key is no
	// error.
	Delete(ctx context.Context, col Column, key []byte) (existed bool, err error)

	// ScanKeys yields the keys that begin with prefix, ascending in byte order.
	// The empty prefix is the whole column. The sequence keeps prefix: leave it as
	// it is while you range.
	//
	// A scan sees the store as it was when the iteration began: writing and
	// deleting while it runs, in the loop body too, is legal and unseen. Nothing is
	// locked while the loop body runs; stopping early costs nothing and there is
	// nothing to close. At most one error is yielded, with a nil key, and it ends
	// the scan. A context that ends while a scan runs ends it, with its error, some
	// entries later; Close may do so with ErrClosed. Ranging over the sequence again
	// scans anew.
	ScanKeys(ctx context.Context, col Column, prefix []byte) iter.Seq2[[]byte, error]

	// Scan is ScanKeys with the values.
	Scan(ctx context.Context, col Column, prefix []byte) iter.Seq2[Entry, error]
}

// CheckKey returns ErrKeyEmpty or ErrKeyTooLarge, with the size, for a key that
// no store takes. Adapters call it before they touch anything.
func CheckKey(key []byte) error {
	switch {
	case len(key) == 0:
		return ErrKeyEmpty
	case len(key) > MaxKeySize:
		return fmt.Errorf("%w: %d bytes, the limit is %d: %.40q…", ErrKeyTooLarge, len(key), MaxKeySize, key)
	}
	return nil
}

// CheckValue returns ErrValueTooLarge, with the size, for a value over limit
// bytes. Adapters call it, with MaxValueSize or their own limit, before they
// touch anything.
func CheckValue(value []byte, limit int) error {
	if len(value) > limit {
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrValueTooLarge, len(value), limit)
	}
	return nil
}
