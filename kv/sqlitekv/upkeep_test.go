package sqlitekv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/sqlitekv"
)

func size(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestCheckpointEmptiesTheLogAndWaitsForNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, sqlitekv.Options{})
	put(t, s, "a", "1")
	put(t, s, "b", "1")
	for e, err := range s.Scan(ctx, kv.Memory, nil) {
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, "b", "2")
		for _, call := range []func(context.Context) error{s.Checkpoint, s.Compact} {
			if err := call(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if string(e.Value) != "1" {
			t.Errorf("%q is %q in a scan that began before", e.Key, e.Value)
		}
	}
	wantValue(t, s, "b", "2")
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	if n := size(t, path+"-wal"); n != 0 {
		t.Errorf("the log has %d bytes", n)
	}
	wantValue(t, s, "b", "2")
}

func TestCompactGivesBackSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, sqlitekv.Options{})
	stats := func() kv.Stats {
		t.Helper()
		st, err := s.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if want := size(t, path) + size(t, path+"-wal"); st.Bytes != want {
			t.Errorf("%d bytes; the files have %d", st.Bytes, want)
		}
		return st
	}
	for i := range 100 {
		put(t, s, fmt.Sprint(i), strings.Repeat("v", 10_000))
	}
	for i := range 90 {
		if _, err := s.Delete(ctx, kv.Memory, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	before := stats()
	if before.Keys != 10 || before.DeadBytes < 80*10_000 || before.Bytes < 100*10_000 {
		t.Errorf("before: %+v", before)
	}
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	after := stats()
	if after.Keys != 10 || after.DeadBytes != 0 || after.Bytes > before.Bytes-before.DeadBytes {
		t.Errorf("after: %+v", after)
	}
	wantValue(t, s, "95", strings.Repeat("v", 10_000))
}

// A backup is of one moment, though it takes many steps and pages are written between
// any two of them.
func TestBackupBesideWriters(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "store.db"), sqlitekv.Options{})
	const pairs = 2000
	both := func(i, n int) error {
		return s.Update(ctx, func(tx kv.KVStorage) error {
			value := fmt.Appendf(nil, "%08d%s", n, strings.Repeat("x", 4000))
			return errors.Join(
				tx.Put(ctx, kv.Memory, fmt.Appendf(nil, "%04d", i), value),
				tx.Put(ctx, kv.Skill, fmt.Appendf(nil, "%04d", pairs-i), value))
		})
	}
	for i := range pairs {
		if err := both(i, 0); err != nil {
			t.Fatal(err)
		}
	}
	var stop atomic.Bool
	var written atomic.Int64
	wrote := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		for n := 1; !stop.Load(); n++ {
			if err := both(n%pairs, n); err != nil {
				wrote <- err
				return
			}
			if written.Add(1) == 1 {
				close(begun)
			}
		}
		wrote <- nil
	}()
	<-begun
	before := written.Load()
	var backup bytes.Buffer
	err := s.Backup(ctx, &backup)
	during := written.Load() - before
	stop.Store(true)
	if err := errors.Join(err, <-wrote); err != nil {
		t.Fatal(err)
	}
	if during == 0 {
		t.Error("nobody wrote while the backup was made")
	}
	copied := filepath.Join(dir, "copy.db")
	if err := os.WriteFile(copied, backup.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, copied, sqlitekv.Options{})
	n := 0
	for e, err := range b.Scan(ctx, kv.Memory, nil) {
		if err != nil {
			t.Fatal(err)
		}
		var i int
		fmt.Sscanf(string(e.Key), "%d", &i)
		other, err := b.Get(ctx, kv.Skill, fmt.Appendf(nil, "%04d", pairs-i))
		if err != nil || !bytes.Equal(other, e.Value) {
			t.Fatalf("pair %d: %.8s and %.8s, %v", i, e.Value, other, err)
		}
		n++
	}
	if n != pairs {
		t.Errorf("%d pairs of %d", n, pairs)
	}
	t.Logf("%d updates while %d MB were copied", during, backup.Len()>>20)
}

func TestBackupLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "store.db"), sqlitekv.Options{})
	put(t, s, "k", strings.Repeat("v", 20<<20))
	ended, cancel := context.WithCancel(ctx)
	failure := errors.New("the writer's")
	for _, w := range []writer{
		func([]byte) error { return nil },
		func([]byte) error { return failure },
		func([]byte) error { cancel(); return nil },
		func([]byte) error {
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
				t.Errorf("beside the store, its log and its index: %v, %v", entries, err)
			}
			return s.Close()
		},
	} {
		err := s.Backup(ended, w)
		if err != nil && !errors.Is(err, failure) && !errors.Is(err, context.Canceled) && !errors.Is(err, kv.ErrClosed) {
			t.Error(err)
		}
		if ended.Err() != nil {
			ended = ctx
		}
	}
	if err := s.Backup(ctx, io.Discard); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("Backup of a closed store: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("beside the store: %v, %v", entries, err)
	}
}

type writer func([]byte) error

func (w writer) Write(p []byte) (int, error) { return len(p), w(p) }
