//go:build pebble

package home

import (
	"context"

	"github.com/crabstore/crabstore/kv/pebblekv"
)

var openPebble = func(_ context.Context, place string, access Access) (Store, error) {
	return asStore(pebblekv.Open(place, pebblekv.Options{ReadOnly: access == Read}))
}

var restorePebble = pebblekv.Restore
