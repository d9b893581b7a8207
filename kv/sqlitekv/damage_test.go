package sqlitekv_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/sqlitekv"
)

// B05: more keys in one update than a statement takes variables. Every one is there, and
// gone again, or none.
func TestB05_33000KeysInOneUpdate(t *testing.T) {
	const n = 33_000
	s := open(t, filepath.Join(t.TempDir(), "store.db"), sqlitekv.Options{})
	key := func(i int) []byte { return fmt.Appendf(nil, "%d", i*7919%n) }
	count := func() (keys int) {
		t.Helper()
		for _, err := range s.ScanKeys(ctx, kv.Text, nil) {
			if err != nil {
				t.Fatal(err)
			}
			keys++
		}
		return keys
	}
	putAll := func(tx kv.KVStorage) error {
		for i := range n {
			if err := tx.Put(ctx, kv.Text, key(i), key(i)); err != nil {
				return err
			}
		}
		return nil
	}
	failure := errors.New("at the end")
	if err := s.Update(ctx, func(tx kv.KVStorage) error { return errors.Join(putAll(tx), failure) }); !errors.Is(err, failure) || count() != 0 {
		t.Fatalf("%v, and %d keys are there", err, count())
	}
	if err := s.Update(ctx, putAll); err != nil || count() != n {
		t.Fatalf("%v, and %d keys are there", err, count())
	}
	if err := s.Update(ctx, func(tx kv.KVStorage) error {
		for i := range n {
			if existed, err := tx.Delete(ctx, kv.Text, key(i)); err != nil || !existed {
				return fmt.Errorf("%s: %v, %v", key(i), existed, err)
			}
		}
		return nil
	}); err != nil || count() != 0 {
		t.Fatalf("%v, and %d keys are there", err, count())
	}
}

// damaged makes a store of some hundred pages, does something to its file, and opens it.
func damaged(t *testing.T, damage func(f *os.File, size int64) error) (*sqlitekv.Store, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, sqlitekv.Options{})
	for i := range 300 {
		put(t, s, fmt.Sprintf("%03d", i), strings.Repeat("v", 2000))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(damage(f, size(t, path)), f.Close()); err != nil {
		t.Fatal(err)
	}
	return sqlitekv.Open(ctx, path, sqlitekv.Options{})
}

func TestCorruptPagesAreReported(t *testing.T) {
	for name, damage := range map[string]func(f *os.File, size int64) error{
		"overwritten": func(f *os.File, size int64) error {
			_, err := f.WriteAt([]byte(strings.Repeat("garbage!", int(size-4096)/8)), 4096)
			return err
		},
		"zeroed": func(f *os.File, size int64) error {
			_, err := f.WriteAt(make([]byte, size-4096), 4096)
			return err
		},
		"cut off": func(f *os.File, size int64) error { return f.Truncate(size / 2) },
	} {
		t.Run(name, func(t *testing.T) {
			s, failure := damaged(t, damage)
			if errors.Is(failure, kv.ErrCorrupt) {
				return // it is seen at once
			}
			if failure != nil {
				t.Fatal(failure)
			}
			defer s.Close()
			for e, err := range s.Scan(ctx, kv.Memory, nil) {
				if err == nil && string(e.Value) != strings.Repeat("v", 2000) {
					t.Fatalf("%q has a value that nobody wrote", e.Key)
				}
				failure = err
			}
			if !errors.Is(failure, kv.ErrCorrupt) {
				t.Errorf("a scan ends with %v; want kv.ErrCorrupt", failure)
			}
			failure = nil
			for i := 0; i < 300 && failure == nil; i++ {
				_, failure = s.Get(ctx, kv.Memory, fmt.Appendf(nil, "%03d", i))
			}
			if !errors.Is(failure, kv.ErrCorrupt) {
				t.Errorf("Get: %v; want kv.ErrCorrupt", failure)
			}
		})
	}
}
