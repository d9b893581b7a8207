package sessions

import "errors"

// A session, message or event that is not there is kv.ErrNotFound, and a writer
// that stated a revision and was not the fastest gets kv.ErrConflict.
var (
	// ErrExists is returned by Create for a handle that is taken. Nothing was
	// written.
	ErrExists = errors.New("sessions: a session of this handle exists")

	// ErrInvalid is returned for a session, message or event that lacks what it
	// needs or has what it must not have. The message says what. Nothing was written.
	ErrInvalid = errors.New("sessions: invalid")

	// ErrSeqAhead is returned by Events for a sequence that the session has not
	// reached. Whoever saw it saw it of another session or of a store that was since
	// restored: it has to begin again from 0.
	ErrSeqAhead = errors.New("sessions: no event of this sequence yet")
)
