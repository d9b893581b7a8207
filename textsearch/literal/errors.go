package literal

import "github.com/crabstore/crabstore/textsearch/internal/inverted"

var (
	// ErrKey is returned for a document key that is empty, or too long for a key of
	// the store with the name of its index. Nothing was written.
	ErrKey = inverted.ErrKey

	// ErrCorrupt is returned when stored bytes are none that this package writes. It
	// is a kv.ErrCorrupt. A Rebuild makes an index anew from the texts.
	ErrCorrupt = inverted.ErrCorrupt

	// ErrVersion is returned for an index that another version of this package wrote.
	// A Rebuild makes it anew from the texts.
	ErrVersion = inverted.ErrVersion
)
