package crabdb

import (
	"errors"
	"fmt"
)

// Every error that this package makes wraps one of these. Errors of the file
// system are wrapped too, with the file and the offset.
var (
	// ErrNotFound says that the key is absent.
	ErrNotFound = errors.New("crabdb: not found")

	// ErrClosed says that the store was closed, or a transaction has ended.
	ErrClosed = errors.New("crabdb: closed")

	// ErrReadOnly says that a write was asked of a store opened read-only, or of a
	// View. Nothing was written.
	ErrReadOnly = errors.New("crabdb: read-only")

	// ErrLocked says that another process, or another handle of this one, has the
	// store open for writing. The message names the path and the holder.
	ErrLocked = errors.New("crabdb: locked by another")

	// ErrNotStore says that a file is not a store of this kind: it does not begin
	// with the magic. It was not changed.
	ErrNotStore = errors.New("crabdb: not a crabdb file")

	// ErrVersion says that a file is of a version, has a flag or holds a record
	// that this program does not know. It was not changed; a newer program reads it.
	ErrVersion = errors.New("crabdb: made by another version")

	// ErrCorrupt says that bytes which were once safely written are not what was
	// written. The message gives the file and the offset. Opening with
	// Options.Salvage reads what is left.
	ErrCorrupt = errors.New("crabdb: corrupt")

	// ErrBadBackup says that what Restore was given is not what Backup wrote, whole.
	// Nothing was restored. It wraps the cause, if that is an error of its own.
	ErrBadBackup = errors.New("crabdb: not a sound backup")

	// ErrPoisoned says that a write or a sync failed before, so that it is not
	// known what reached the disk. Reads go on, writes are refused; opening the
	// store again starts from what the disk holds. It wraps the cause.
	ErrPoisoned = errors.New("crabdb: an earlier write failed; reopen the store")

	// ErrKeyTooLarge and ErrValueTooLarge say that a key or a value is over MaxKey
	// or MaxValue. Nothing was written.
	ErrKeyTooLarge   = errors.New("crabdb: key too large")
	ErrValueTooLarge = errors.New("crabdb: value too large")

	// ErrEndMark says that the one record a plain file cannot hold was put: an
	// empty value under the empty key of column 0, whose ten zero bytes end the log.
	ErrEndMark = errors.New("crabdb: an empty key and value in column 0 would end a plain log")

	// ErrBatchTooLarge says that a transaction holds more than one record can, 4
	// GiB. Nothing was written.
	ErrBatchTooLarge = errors.New("crabdb: transaction too large")

	// ErrFull says that the file would pass MaxFile. Nothing was written.
	ErrFull = errors.New("crabdb: file has reached its largest size")
)

// corrupt says what is wrong at an offset of a file.
func corrupt(path string, offset int64, format string, args ...any) error {
	return fmt.Errorf("%w: %s at offset %d: %s", ErrCorrupt, path, offset, fmt.Sprintf(format, args...))
}
