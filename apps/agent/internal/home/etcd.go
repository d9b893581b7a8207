//go:build etcd

package home

import (
	"context"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/etcdkv"
)

var openEtcd = func(ctx context.Context, place string, access Access) (Store, error) {
	place, realm, err := cutRealm(place)
	if err != nil {
		return nil, err
	}
	return confined(asStore(etcdkv.Open(ctx, place, etcdkv.Options{Realm: realm, ReadOnly: access == Read})))
}

// confined keeps a store to its realm.
func confined(s Store, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return &inRealm{kv.InRealm(s, kv.RealmOf(s)), s}, nil
}

type inRealm struct {
	kv.KVStorage
	whole Store
}

func (s *inRealm) Unwrap() kv.KVStorage { return s.KVStorage }
func (s *inRealm) Close() error         { return s.whole.Close() }
