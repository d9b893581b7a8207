package sqlitekv

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/crabstore/crabstore/kv"
)

var (
	// ErrNotStore is returned by Open for what is no store of this kind: a file that
	// is no SQLite database, a database of another program, a directory. It was not
	// changed.
	ErrNotStore = errors.New("sqlitekv: not a store of this kind")

	// ErrVersion is returned by Open for a store that a newer program made, with both
	// versions. It was not changed; the newer program reads it.
	ErrVersion = errors.New("sqlitekv: made by a newer version")

	// ErrPoisoned is returned by writes when an earlier sync failed: it is not known
	// what of the earlier writes reached the disk. It wraps the cause. Open the store
	// again, which starts from what the disk holds.
	ErrPoisoned = errors.New("sqlitekv: an earlier sync failed; open the store again")

	// errSync says that the log could not be synced by this package.
	errSync = errors.New("sqlitekv: sync of the log")

	// errChanged says that a file that nobody was writing was written while it was
	// read. Where nothing has been handed out yet, the reading is done again.
	errChanged = errors.New("the file changed while it was read")
)

// code returns the primary result code of an error of SQLite's, or SQLITE_OK.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return sqlite3.SQLITE_OK
}

// failedSync tells whether an error is that of a sync, which cannot be made good by
// another: the system may have forgotten what it could not write.
func failedSync(err error) bool {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() == sqlite3.SQLITE_IOERR_FSYNC || e.Code() == sqlite3.SQLITE_IOERR_DIR_FSYNC
	}
	return errors.Is(err, errSync)
}

// passes tells whether an error is one that waiting may cure.
func passes(err error) bool {
	return code(err) == sqlite3.SQLITE_BUSY || errors.Is(err, errChanged)
}

// explain makes an error of SQLite's one of kv that says where and what to do.
func (f file) explain(err error) error {
	if errors.Is(err, errChanged) {
		return fmt.Errorf("%w: %s: %w: another process has begun to write; read again", kv.ErrBusy, f.path, err)
	}
	switch code(err) {
	case sqlite3.SQLITE_OK: // it is not SQLite's
		return err
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w: %s: another process has held the lock for over %v; `fuser %s` finds it; wait for it or end it, and try again: %w",
			kv.ErrBusy, f.path, patience, f.path, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %s: restore a backup, or save what can be read with `sqlite3 %s .recover`: %w",
			kv.ErrCorrupt, f.path, f.path, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("sqlitekv: %s: the disk is full, nothing was written; make room and try again: %w", f.path, err)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%w: %s: %w", kv.ErrReadOnly, f.path, err)
	case sqlite3.SQLITE_TOOBIG:
		return fmt.Errorf("%w: %s: %w", kv.ErrValueTooLarge, f.path, err)
	}
	return fmt.Errorf("sqlitekv: %s: %w", f.path, err)
}
