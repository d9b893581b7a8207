package pgkv_test

import (
	"context"
	"io"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest"
	"github.com/crabstore/crabstore/kv/pgkv"
	"github.com/crabstore/crabstore/kv/pgkv/pgtest"
)

var ctx = context.Background()

const col = kv.Memory

// open opens a store that is closed when the test ends.
func open(t testing.TB, url string, o pgkv.Options) *pgkv.Store {
	t.Helper()
	s, err := pgkv.Open(ctx, url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	server := pgtest.Shared(t)
	urls := map[kv.KVStorage]string{}
	openAt := func(t testing.TB, url string) kv.KVStorage {
		s := open(t, url, pgkv.Options{})
		urls[s] = url
		return s
	}
	kvtest.Run(t, kvtest.Config{
		Open: func(t testing.TB) kv.KVStorage { return openAt(t, server.URL(t)) },
		Reopen: func(t testing.TB, s kv.KVStorage) kv.KVStorage {
			if err := s.(io.Closer).Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, urls[s])
		},
	})
}
