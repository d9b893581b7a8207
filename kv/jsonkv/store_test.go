package jsonkv_test

import (
	"flag"
	"io"
	"os"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/jsonkv"
	"github.com/crabstore/crabstore/kv/kvtest"
)

// The suite at its full size makes some 60,000 puts one after the other, of which each
// rewrites and syncs a document: minutes, on a busy disk, of what is no news.
func TestConformance(t *testing.T) {
	if os.Getenv("JSONKV_LONG") == "" && !testing.Short() {
		t.Log("the suite at its short size; JSONKV_LONG=1 makes it the full one")
		if err := flag.Set("test.short", "true"); err != nil {
			t.Fatal(err)
		}
		defer flag.Set("test.short", "false")
	}
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
