//go:build etcd

package home

import (
	"context"

	"github.com/crabstore/crabstore/kv/etcdkv"
)

var openEtcd = func(ctx context.Context, place string, access Access) (Store, error) {
	place, realm, err := cutRealm(place)
	if err != nil {
		return nil, err
	}
	return confined(asStore(etcdkv.Open(ctx, place, etcdkv.Options{Realm: realm, ReadOnly: access == Read})))
}
