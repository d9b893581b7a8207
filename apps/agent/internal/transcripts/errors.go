package transcripts

import "errors"

var (
	// ErrNotUnderstood reports a source of which not one record was of a kind that its grammar
	// knows. It is likely of a version newer than this program: nothing of it was taken.
	ErrNotUnderstood = errors.New("transcripts: nothing in it was understood; it may be of a newer version than this program knows")

	// ErrChanged reports a source that is no longer what Walk found: removed, or become another
	// format. Walk again.
	ErrChanged = errors.New("transcripts: not what it was when it was found; walk again")

	// ErrDamaged reports a document (JSON, .zip, compressed file or database) that cannot be read
	// beyond some point. What came before that point was yielded.
	ErrDamaged = errors.New("transcripts: damaged")
)
