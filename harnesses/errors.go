package harnesses

import "errors"

// What is absent is kv.ErrNotFound, bytes that have changed are kv.ErrCorrupt, and
// an image over kv.MaxValueSize is kv.ErrValueTooLarge.
var (
	// ErrInvalid is returned for what cannot be a name. The message says why.
	// Nothing was written.
	ErrInvalid = errors.New("harnesses: invalid name")
)
