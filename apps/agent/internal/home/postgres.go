//go:build postgres

package home

import (
	"context"

	"github.com/crabstore/crabstore/kv/pgkv"
)

var openPostgres = func(ctx context.Context, place string, access Access) (Store, error) {
	place, realm, err := cutRealm(place)
	if err != nil {
		return nil, err
	}
	return asStore(pgkv.Open(ctx, place, pgkv.Options{Realm: realm, ReadOnly: access == Read}))
}
