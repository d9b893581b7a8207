package home

import "errors"

var (
	// ErrNoStore is returned for a store that was to be read and does not exist,
	// or is a file of no bytes.
	ErrNoStore = errors.New("no store there")

	// ErrBackend is returned for a backend that this program has not, and for a
	// location that is none. It is a matter of usage: nothing was touched.
	ErrBackend = errors.New("bad --store")

	// ErrNewer is returned for a store whose keyspace a newer program has made.
	// Nothing in it was changed.
	ErrNewer = errors.New("the store was made by a newer version")
)
