package textsearch

import (
	"errors"

	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

var (
	// ErrKey is returned for a document key that is empty or too long for a key of the
	// store, with the name of its index. Nothing was written.
	ErrKey = inverted.ErrKey

	// ErrWeight is returned for a weight outside MinWeight to MaxWeight. Nothing was
	// written.
	ErrWeight = errors.New("textsearch: bad weight")

	// ErrSettings is returned when a store asks for what cannot be: a language that
	// is not known or a number that is none.
	ErrSettings = errors.New("textsearch: bad settings")

	// ErrCorrupt is returned when stored bytes are none that this package writes. It
	// is a kv.ErrCorrupt. A Rebuild makes an index anew from content.
	ErrCorrupt = inverted.ErrCorrupt

	// ErrVersion is returned for an index that another version of this package wrote.
	// A Rebuild makes it anew from content.
	ErrVersion = inverted.ErrVersion
)
