package home

import "errors"

var (
	// ErrNoStore is returned for a store that was to be read and does not exist,
	// or is a file of no bytes.
	ErrNoStore = errors.New("no store there")

	// ErrBackend is returned for a backend that this program has not, and for a
	// location that is none. It is a matter of usage: nothing was touched.
	ErrBackend = errors.New("bad --store")

	// ErrConfig is returned for a config.toml that cannot be read for what it is.
	ErrConfig = errors.New("bad configuration")

	// ErrTwoStores is returned for a home that holds two different stores, or one
	// other than the one that is asked for: to choose would abandon one history.
	// Nothing was touched.
	ErrTwoStores = errors.New("which store is it to be?")

	// ErrNewer is returned for a store whose keyspace a newer program has made.
	// Nothing in it was changed.
	ErrNewer = errors.New("the store was made by a newer version")

	// ErrHalfMigrated is returned for a store into which a migration is copying, or
	// was when it was cut short. Nothing in it was changed.
	ErrHalfMigrated = errors.New("a migration into this store is not finished")

	// ErrUnable is returned when something is asked of a store that its backend
	// cannot do.
	ErrUnable = errors.New("not with this backend")
)
