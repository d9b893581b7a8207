package textsearch

import (
	"errors"
	"fmt"

	"github.com/crabstore/crabstore/kv"
)

var (
	// ErrKey is returned for a document key that is empty or so long that, with an
	// index's name, it leaves no room for a term in a key of the store. Nothing was
	// written.
	ErrKey = errors.New("textsearch: bad document key")

	// ErrWeight is returned for a weight outside MinWeight to MaxWeight. Nothing was
	// written.
	ErrWeight = errors.New("textsearch: bad weight")

	// ErrSettings is returned when a store asks for what cannot be: a language that
	// is not known or a number that is none.
	ErrSettings = errors.New("textsearch: bad settings")

	// ErrCorrupt is returned when stored bytes are none that this package writes. It
	// is a kv.ErrCorrupt. Repair makes an index anew from its documents; one that is
	// damaged itself has first to be put again, or dropped.
	ErrCorrupt = fmt.Errorf("textsearch: index: %w", kv.ErrCorrupt)
)
