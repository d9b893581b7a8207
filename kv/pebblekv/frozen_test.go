package pebblekv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/crabstore/crabstore/kv"
)

// TestReadOnlyBesideAProcess opens, again and again, what another process writes and
// compacts, and wants every write that it had told of.
func TestReadOnlyBesideAProcess(t *testing.T) {
	dir, opens := filepath.Join(t.TempDir(), "store"), 40
	if testing.Short() {
		opens = 10
	}
	p := startChild(t, dir)
	for range opens {
		known := p.acknowledged(t, 30)
		s := open(t, dir, Options{ReadOnly: true})
		checkChild(t, s, known)
		shut(t, s)
	}
}

// TestReadOnlyBesideALoad is that within the process, where more is written at once,
// checkpoints and compactions follow each other, and what is read is a prefix of the
// history: generation g puts g under all keys, in one transaction.
func TestReadOnlyBesideALoad(t *testing.T) {
	dir, opens := filepath.Join(t.TempDir(), "store"), 200
	if testing.Short() {
		opens = 30
	}
	s := open(t, dir, Options{tune: small})
	const keys = 20
	var acknowledged atomic.Int64
	var stopped atomic.Bool
	first, done := make(chan struct{}), make(chan error, 3)
	go func() {
		var err error
		for g := int64(1); err == nil && !stopped.Load(); g++ {
			err = s.Update(ctx, func(tx kv.KVStorage) error {
				for k := range keys {
					value := fmt.Sprintf("%d %s", g, noise(int(g), 500))
					if err := tx.Put(ctx, kv.Memory, fmt.Appendf(nil, "key/%d", k), []byte(value)); err != nil {
						return err
					}
				}
				return nil
			})
			if acknowledged.Store(g); g == 1 {
				close(first)
			}
		}
		done <- err
	}()
	for _, work := range []func() error{func() error { return s.Checkpoint(ctx) }, func() error { return s.Compact(ctx) }} {
		go func() {
			var err error
			for err == nil && !stopped.Load() {
				err = work()
			}
			done <- err
		}()
	}
	<-first
	for range opens {
		known := acknowledged.Load()
		r := open(t, dir, Options{ReadOnly: true})
		checkGeneration(t, r, keys, known)
		shut(t, r)
	}
	stopped.Store(true)
	if err := errors.Join(<-done, <-done, <-done); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d generations were written", acknowledged.Load())
}

func checkGeneration(t *testing.T, s *Store, keys int, atLeast int64) {
	t.Helper()
	all := content(t, s, kv.Memory)
	var first int64
	for key, value := range all {
		var g int64
		if _, err := fmt.Sscan(value, &g); err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			first = g
		}
		if g != first || g < atLeast || value != fmt.Sprintf("%d %s", g, noise(int(g), 500)) {
			t.Fatalf("%s is of generation %d, another of %d; %d was acknowledged", key, g, first, atLeast)
		}
	}
	if len(all) != keys {
		t.Fatalf("%d keys, want %d", len(all), keys)
	}
}

// TestReadOnlyStaysAsItWas deletes, compacts and closes under one who reads, who sees
// nothing of it.
func TestReadOnlyStaysAsItWas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{tune: small})
	all := fill(t, s, 0, 500)
	r := open(t, dir, Options{ReadOnly: true})
	for key := range all {
		if _, err := s.Delete(ctx, kv.Memory, []byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	wantContent(t, r, all)
	want(t, r, "key/000007", all["key/000007"])
}

// TestFrozenOutlivesWhatComes lets a writer go far beyond what was frozen before the
// frozen files are read for the first time: its logs are deleted by then, or, where
// they were used again, written over.
func TestFrozenOutlivesWhatComes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{tune: small})
	all := fill(t, s, 0, 200)
	z, err := freeze(private{vfs.Default}, s.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.close() })
	fill(t, s, 100, 1000)
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	wantFrozen(t, z, all)
}

// wantFrozen wants what was put, and maybe more, but nothing else under its keys.
func wantFrozen(t *testing.T, z *frozen, all map[string]string) {
	t.Helper()
	db, err := startEngine(z.dir, engineOptions(z, &news{}, Options{ReadOnly: true}))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for key, value := range all {
		got, closer, err := db.Get(place(kv.Memory, []byte(key)))
		if err != nil || string(got) != value {
			t.Fatalf("%q is %.20q, %v", key, got, err)
		}
		closer.Close()
	}
}

// listing is a file system in which something is done after a directory was listed.
type listing struct {
	vfs.FS
	after func()
}

func (l *listing) List(dir string) ([]string, error) {
	names, err := l.FS.List(dir)
	l.after()
	return names, err
}

// TestFreezingWhileFilesComeAndGo replaces all files of a store between the first look at
// them and the next.
func TestFreezingWhileFilesComeAndGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{tune: small})
	all := fill(t, s, 0, 200)
	looks := 0
	fsys := &listing{FS: private{vfs.Default}, after: func() {
		if looks++; looks <= 3 {
			fill(t, s, 0, 200)
			if err := errors.Join(s.Checkpoint(ctx), s.Compact(ctx)); err != nil {
				t.Fatal(err)
			}
		}
	}}
	z, err := freeze(fsys, s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer z.close()
	wantFrozen(t, z, all)
	fsys.after = func() { fill(t, s, 0, 1); _ = s.Checkpoint(ctx) }
	_, err = freeze(fsys, s.dir)
	wantError(t, err, kv.ErrBusy)
}

// TestReadOnlyChangesNothing reads a store that rests: closed, with a torn log, and held
// by a writer. Directories and files without a right to write do as well.
func TestReadOnlyChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{tune: small})
	all := fill(t, s, 0, 300)
	put(t, s, "in the log", "alone")
	all["in the log"] = "alone"
	read := func(dir string) {
		unchanged(t, dir, func() {
			r := open(t, dir, Options{ReadOnly: true})
			wantContent(t, r, all)
			wantError(t, r.Put(ctx, kv.Memory, []byte("k"), nil), kv.ErrReadOnly)
			_, err := r.Delete(ctx, kv.Memory, []byte("in the log"))
			wantError(t, err, kv.ErrReadOnly)
			wantError(t, r.Update(ctx, func(kv.KVStorage) error { t.Error("called"); return nil }), kv.ErrReadOnly)
			wantError(t, r.Checkpoint(ctx), kv.ErrReadOnly)
			wantError(t, r.Compact(ctx), kv.ErrReadOnly)
			if _, err := r.Stats(ctx); err != nil {
				t.Error(err)
			}
			shut(t, r)
			wantError(t, r.Put(ctx, kv.Memory, []byte("k"), nil), kv.ErrClosed)
		})
	}
	shut(t, s)
	s = open(t, dir, Options{})
	if err := s.Compact(ctx); err != nil { // after which nothing is at work behind
		t.Fatal(err)
	}
	put(t, s, "in the log", "alone")
	read(dir)
	shut(t, s)
	read(dir)
	torn := copyDir(t, dir)
	logs := filesOf(t, torn, ".log")
	f, err := os.OpenFile(logs[len(logs)-1], os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("\x01torn record that never")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	read(torn)
	closed := copyDir(t, dir)
	for path := range bytesBelow(t, closed) {
		if err := os.Chmod(path, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(closed, 0o700) })
	read(closed)
}

// TestTornTailsOfAFrozenStore cuts the log and the manifest at every length, as a look
// at a writer may, and wants a prefix of the history.
func TestTornTailsOfAFrozenStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	for i := range 20 {
		put(t, s, fmt.Sprintf("key/%02d", i), fmt.Sprint(i))
	}
	copied := copyDir(t, dir)
	logs := filesOf(t, copied, ".log")
	log := logs[len(logs)-1]
	info, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	before := 20
	for size := info.Size(); size >= 0; size-- {
		if err := os.Truncate(log, size); err != nil {
			t.Fatal(err)
		}
		r := open(t, copied, Options{ReadOnly: true})
		n := len(content(t, r, kv.Memory))
		if n > before || n < before-1 {
			t.Fatalf("at %d bytes there are %d entries, one more byte gave %d", size, n, before)
		}
		for i := range n {
			want(t, r, fmt.Sprintf("key/%02d", i), fmt.Sprint(i))
		}
		shut(t, r)
		before = n
	}
	if before != 0 {
		t.Fatalf("an empty log gave %d entries", before)
	}
}
