package agents

import "errors"

// What is absent is kv.ErrNotFound, and a stale revision kv.ErrConflict.
var (
	// ErrExists is returned when another agent has the name, or the id, already.
	// Nothing was written.
	ErrExists = errors.New("agents: there is one already")

	// ErrInvalid is returned for a configuration that cannot be kept as it is. The
	// message lists every fault of it. Nothing was written.
	ErrInvalid = errors.New("agents: invalid configuration")
)
