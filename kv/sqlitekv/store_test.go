package sqlitekv_test

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest"
	"github.com/crabstore/crabstore/kv/sqlitekv"
)

var ctx = context.Background()

func open(t testing.TB, path string, options sqlitekv.Options) *sqlitekv.Store {
	t.Helper()
	s, err := sqlitekv.Open(ctx, path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	paths := map[kv.KVStorage]string{}
	open := func(t testing.TB, path string) kv.KVStorage {
		s := open(t, path, sqlitekv.Options{})
		paths[s] = path
		return s
	}
	kvtest.Run(t, kvtest.Config{
		Open: func(t testing.TB) kv.KVStorage { return open(t, filepath.Join(t.TempDir(), "store.db")) },
		Reopen: func(t testing.TB, s kv.KVStorage) kv.KVStorage {
			if err := s.(io.Closer).Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, paths[s])
		},
	})
}
