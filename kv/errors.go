package kv

import "errors"

// Every error that a store returns wraps one of these where one applies, so
// that errors.Is works whichever engine runs underneath.
var (
	// ErrNotFound is returned by Get, and by what is built on it, when the key is
	// absent. A key with an empty value is present.
	ErrNotFound = errors.New("kv: not found")

	// ErrKeyEmpty is returned for a key of no bytes. Nothing was written.
	ErrKeyEmpty = errors.New("kv: empty key")

	// ErrKeyTooLarge is returned for a key over MaxKeySize. Nothing was written.
	ErrKeyTooLarge = errors.New("kv: key too large")

	// ErrValueTooLarge is returned for a value over MaxValueSize, or over a
	// store's own lower limit. Nothing was written.
	ErrValueTooLarge = errors.New("kv: value too large")

	// ErrTxTooLarge is returned when a transaction holds more than a store can
	// commit at once. Nothing of it was written.
	ErrTxTooLarge = errors.New("kv: transaction too large")

	// ErrClosed is returned by every call on a store after Close, and on a
	// transaction after its function has returned.
	ErrClosed = errors.New("kv: store is closed")

	// ErrReadOnly is returned by a write to a store opened for reading or to the
	// transaction of a View. Nothing was written.
	ErrReadOnly = errors.New("kv: store is read-only")

	// ErrBusy is returned when a store that others share stayed locked for longer
	// than the adapter waits. Nothing was written; trying again may succeed.
	ErrBusy = errors.New("kv: store is busy")

	// ErrOutcomeUnknown is returned when the connection to a store was lost while a
	// write was on its way to be committed: it is there whole, or not at all. Read
	// before you write it again.
	ErrOutcomeUnknown = errors.New("kv: connection lost while committing: the outcome is unknown")

	// ErrConflict is returned by a writer that stated the revision it had read
	// when another was faster. Read again and decide anew.
	ErrConflict = errors.New("kv: conflict")

	// ErrCorrupt is returned when stored bytes cannot be what was written. The
	// message says where.
	ErrCorrupt = errors.New("kv: corrupt data")

	// ErrOutsideRealm is returned by a store that InRealm confined when a key or
	// prefix lies outside its realm.
	ErrOutsideRealm = errors.New("kv: key is outside the realm")

	// ErrMalformedKey is returned by Split for bytes that Key does not make.
	ErrMalformedKey = errors.New("kv: malformed key")

	// ErrUnstorable is returned by Marshal for a value that would not come back
	// as it is. Nothing was written.
	ErrUnstorable = errors.New("kv: value cannot be stored")

	// ErrUnsupported is returned when something is asked of a store that neither
	// it nor what it wraps can do.
	ErrUnsupported = errors.New("kv: not supported by this store")
)
