package pebblekv

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/crabstore/crabstore/kv"
)

var ctx = context.Background()

// small makes flushes and compactions come after some ten kilobytes, and new manifests
// after some of them.
func small(o *pebble.Options) {
	o.MemTableSize = 64 << 10
	o.MemTableStopWritesThreshold = 4
	o.L0CompactionThreshold = 2
	o.LBaseMaxBytes = 128 << 10
	o.TargetFileSizes[0] = 32 << 10
	o.FlushSplitBytes = 32 << 10
	o.MaxManifestFileSize = 2 << 10
}

func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func shut(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, s kv.KVStorage, key, value string) {
	t.Helper()
	if err := s.Put(ctx, kv.Memory, []byte(key), []byte(value)); err != nil {
		t.Fatal(err)
	}
}

// want wants the value of a key.
func want(t testing.TB, s kv.KVStorage, key, value string) {
	t.Helper()
	got, err := s.Get(ctx, kv.Memory, []byte(key))
	if err != nil || string(got) != value {
		t.Fatalf("%q is %.40q, %v; want %.40q", key, got, err, value)
	}
}

// content returns all entries of a column.
func content(t testing.TB, s kv.KVStorage, col kv.Column) map[string]string {
	t.Helper()
	all := map[string]string{}
	for e, err := range s.Scan(ctx, col, nil) {
		if err != nil {
			t.Fatal(err)
		}
		all[string(e.Key)] = string(e.Value)
	}
	return all
}

func wantContent(t testing.TB, s kv.KVStorage, want map[string]string) {
	t.Helper()
	if got := content(t, s, kv.Memory); !maps.Equal(got, want) {
		t.Fatalf("%d entries, want %d; or others", len(got), len(want))
	}
}

// fill puts entries of a kilobyte, keys from to to-1.
func fill(t testing.TB, s kv.KVStorage, from, to int) map[string]string {
	t.Helper()
	all := map[string]string{}
	for i := from; i < to; i++ {
		key, value := fmt.Sprintf("key/%06d", i), noise(i, 1<<10)
		put(t, s, key, value)
		all[key] = value
	}
	return all
}

// noise returns n bytes that do not compress and are a function of i.
func noise(i, n int) string {
	var out []byte
	for k := 0; len(out) < n; k++ {
		sum := sha256.Sum256(fmt.Append(nil, i, k))
		out = append(out, sum[:]...)
	}
	return string(out[:n])
}

// bytesBelow returns a hash of every file below a directory, with its mode and time.
func bytesBelow(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data := []byte{}
		if d.Type().IsRegular() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		all[path] = fmt.Sprintf("%v %v %x", info.Mode(), info.ModTime(), sha256.Sum256(data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unchanged calls do and wants that it changes nothing below a directory.
func unchanged(t testing.TB, dir string, do func()) {
	t.Helper()
	before := bytesBelow(t, dir)
	do()
	if after := bytesBelow(t, dir); !maps.Equal(before, after) {
		maps.DeleteFunc(before, func(path, is string) bool { return after[path] == is })
		t.Fatalf("it changed, or deleted, %v; there are now %v", before, slices.Sorted(maps.Keys(after)))
	}
}

// filesOf returns the paths of the files of a store with an ending, in order.
func filesOf(t testing.TB, dir, ending string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+ending))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s in %s: %v", ending, dir, err)
	}
	return paths
}

func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

func wantError(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Fatalf("got %v, want %v", err, w)
		}
	}
}
