package crabkv_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
	"github.com/crabstore/crabstore/kv/kvtest"
)

func TestConformance(t *testing.T) {
	for name, opts := range map[string]crabdb.Options{
		"sealed": {},
		"plain":  {Plain: true},
		"busy":   {CompactRatio: 0.1, CompactMin: 1 << 10, CheckpointEvery: 1 << 12}, // compaction and checkpoints all the time
	} {
		t.Run(name, func(t *testing.T) {
			paths := map[kv.KVStorage]string{}
			open := func(t testing.TB, path string) kv.KVStorage {
				s, err := crabkv.Open(path, opts)
				if err != nil {
					t.Fatal(err)
				}
				paths[s] = path
				return s
			}
			kvtest.Run(t, kvtest.Config{
				NonAtomic: opts.Plain,
				Open:      func(t testing.TB) kv.KVStorage { return open(t, filepath.Join(t.TempDir(), "store.crmem")) },
				Reopen: func(t testing.TB, s kv.KVStorage) kv.KVStorage {
					if err := s.(io.Closer).Close(); err != nil {
						t.Fatal(err)
					}
					return open(t, paths[s])
				},
			})
		})
	}
}
