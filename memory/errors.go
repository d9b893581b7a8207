package memory

import "errors"

// What is absent is kv.ErrNotFound, and a stale revision kv.ErrConflict.
var (
	// ErrExists is returned when a name or an alias is that of another entry.
	// Nothing was written.
	ErrExists = errors.New("memory: the name is taken")

	// ErrInvalid is returned for an entry that cannot be kept as it is. The message
	// says why. Nothing was written.
	ErrInvalid = errors.New("memory: invalid entry")
)
