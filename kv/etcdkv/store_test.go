package etcdkv_test

import (
	"context"
	"io"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/etcdkv"
	"github.com/crabstore/crabstore/kv/etcdkv/etcdtest"
	"github.com/crabstore/crabstore/kv/kvtest"
)

var ctx = context.Background()

func open(t testing.TB, place string) *etcdkv.Store {
	t.Helper()
	s, err := etcdkv.Open(ctx, place, etcdkv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	etcdtest.Endpoint(t) // for as long as all of it
	places := map[kv.KVStorage]string{}
	at := func(t testing.TB, place string) kv.KVStorage {
		s := open(t, place)
		places[s] = place
		return s
	}
	kvtest.Run(t, kvtest.Config{
		MaxValue: etcdkv.MaxValue,
		Open:     func(t testing.TB) kv.KVStorage { return at(t, etcdtest.Place(t)) },
		Reopen: func(t testing.TB, s kv.KVStorage) kv.KVStorage {
			if err := s.(io.Closer).Close(); err != nil {
				t.Fatal(err)
			}
			return at(t, places[s])
		},
	})
}
