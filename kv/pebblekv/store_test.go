package pebblekv_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest"
	"github.com/crabstore/crabstore/kv/pebblekv"
)

func TestConformance(t *testing.T) {
	dirs := map[kv.KVStorage]string{}
	open := func(t testing.TB, dir string) kv.KVStorage {
		s, err := pebblekv.Open(dir, pebblekv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		dirs[s] = dir
		return s
	}
	kvtest.Run(t, kvtest.Config{
		Open: func(t testing.TB) kv.KVStorage { return open(t, filepath.Join(t.TempDir(), "store")) },
		Reopen: func(t testing.TB, s kv.KVStorage) kv.KVStorage {
			if err := s.(io.Closer).Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, dirs[s])
		},
	})
}
