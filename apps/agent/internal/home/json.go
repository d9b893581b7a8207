//go:build json

package home

import (
	"context"

	"github.com/crabstore/crabstore/kv/jsonkv"
)

var openJSON = func(_ context.Context, place string, access Access) (Store, error) {
	return asStore(jsonkv.Open(place, jsonkv.Options{ReadOnly: access == Read}))
}

var restoreJSON = jsonkv.Restore
