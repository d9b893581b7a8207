package sqlitekv

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

func TestSyncWrites(t *testing.T) {
	for syncWrites, want := range map[bool]int64{false: 1, true: 2} { // NORMAL and FULL
		s, err := Open(ctx, filepath.Join(t.TempDir(), "store.db"), Options{SyncWrites: syncWrites})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		err = s.write(ctx, func(c *conn) error {
			row, err := c.ask(ctx, `PRAGMA synchronous`)
			if err == nil && row[0] != want {
				t.Errorf("SyncWrites %v: synchronous is %v, want %d", syncWrites, row[0], want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFailedSyncPoisons(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Put(ctx, kv.Memory, []byte("k"), []byte("v")); err != nil {
		t.Fatal(err)
	}
	if err := s.write(ctx, func(*conn) error { return errSync }); !errors.Is(err, errSync) {
		t.Fatal(err)
	}
	for name, write := range writes(s) {
		if err := write(ctx); !errors.Is(err, ErrPoisoned) || !errors.Is(err, errSync) {
			t.Errorf("%s after it: %v; want ErrPoisoned and the cause", name, err)
		}
	}
	if value, err := s.Get(ctx, kv.Memory, []byte("k")); err != nil || string(value) != "v" {
		t.Errorf("Get after it: %q, %v", value, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(ctx, path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Put(ctx, kv.Memory, []byte("k"), nil); err != nil {
		t.Error(err)
	}
}
