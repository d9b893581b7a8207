package jsonkv

import "errors"

// Errors of this package besides those of package kv.
var (
	// ErrNotStore says that a place holds something else than a store of this
	// adapter: a file, a directory with other things in it, or a store.json of
	// another program. Nothing there was changed.
	ErrNotStore = errors.New("jsonkv: not a store of this kind")

	// ErrVersion says that a document was made by a newer version of this format. The
	// message names both versions. Nothing was changed.
	ErrVersion = errors.New("jsonkv: made by a newer version")

	// ErrEdited says that a document was changed by another program while the store
	// was open, and would have been overwritten. Nothing was written. Close the store
	// and open it again, and it has the change.
	ErrEdited = errors.New("jsonkv: a document was changed by another program")

	// ErrPoisoned says that writing failed before when it could no longer be taken
	// back, so that it is not known what the disk holds. Reads go on, writes are
	// refused; opening the store again brings it to one state or the other. It wraps
	// the cause.
	ErrPoisoned = errors.New("jsonkv: an earlier write failed; mend its cause and open the store again")

	// ErrBadBackup says that what Restore was given is not what Backup wrote, whole.
	// Nothing was restored.
	ErrBadBackup = errors.New("jsonkv: not a sound backup")
)
