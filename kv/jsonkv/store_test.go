package jsonkv_test

import (
	"io"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/jsonkv"
	"github.com/crabstore/crabstore/kv/kvtest"
)

func TestConformance(t *testing.T) {
	dirs := map[kv.KVStorage]string{}
	open := func(t testing.TB, dir string) kv.KVStorage {
		s, err := jsonkv.Open(dir, jsonkv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		dirs[s] = dir
		return s
	}
	kvtest.Run(t, kvtest.Config{
		MaxValue: jsonkv.MaxValueSize,
		Open:     func(t testing.TB) kv.KVStorage { return open(t, t.TempDir()) },
		Reopen: func(t testing.TB, s kv.KVStorage) kv.KVStorage {
			if err := s.(io.Closer).Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, dirs[s])
		},
	})
}
