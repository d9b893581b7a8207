package sqlitekv_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/sqlitekv"
)

// contents returns the files of a directory. None is open in this process.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, dir+string(filepath.Separator))] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantUnchanged runs fn and wants a directory to be as it was.
func wantUnchanged(t testing.TB, dir string, fn func()) {
	t.Helper()
	before := contents(t, dir)
	fn()
	after := contents(t, dir)
	if !maps.Equal(before, after) {
		t.Errorf("%s was changed: %d files became %d", dir, len(before), len(after))
	}
}

func put(t testing.TB, s kv.KVStorage, key, value string) {
	t.Helper()
	if err := s.Put(ctx, kv.Memory, []byte(key), []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func wantValue(t testing.TB, s kv.KVStorage, key, want string) {
	t.Helper()
	if got, err := s.Get(ctx, kv.Memory, []byte(key)); err != nil || string(got) != want {
		t.Errorf("%q is %q, %v; want %q", key, got, err, want)
	}
}

func TestAnyPath(t *testing.T) {
	dir := t.TempDir()
	names := []string{"a?b", "a#b", "a%b", "a%41", "a b", "a?mode=ro&b=1#c", "ä", ":memory:", "file:x", "a;b'c\"d", "deep/er/"}
	if runtime.GOOS == "windows" {
		names = []string{"a#b", "a%b", "a%41", "a b", "ä", "deep/er/"}
	}
	want := map[string]bool{}
	for _, name := range names {
		path := filepath.Join(dir, name, name)
		s := open(t, path, sqlitekv.Options{})
		put(t, s, "k", name)
		s.Close()
		want[filepath.Join(name, name)] = true
		s = open(t, path, sqlitekv.Options{ReadOnly: true})
		wantValue(t, s, "k", name)
		s.Close()
	}
	for path := range contents(t, dir) {
		if !want[path] {
			t.Errorf("there is %q", path)
		}
	}
}

func TestNoFilesForOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes of files here")
	}
	dir := filepath.Join(t.TempDir(), "above", "below")
	s := open(t, filepath.Join(dir, "store.db"), sqlitekv.Options{})
	put(t, s, "k", "v")
	for _, path := range []string{dir, filepath.Dir(dir)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(filepath.Join(dir, "store.db"+end)); err != nil || info.Mode() != 0o600 {
			t.Errorf("store.db%s: %v, %v", end, info, err)
		}
	}
}

// The log lies beside the file, not beside a link to it.
func TestSymbolicLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real", "store.db"), filepath.Join(dir, "link.db")
	s := open(t, path, sqlitekv.Options{})
	put(t, s, "k", "v")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	wantValue(t, open(t, link, sqlitekv.Options{ReadOnly: true}), "k", "v")
	wantValue(t, open(t, link, sqlitekv.Options{}), "k", "v")
}

func TestManyCreateAtOnce(t *testing.T) {
	for range 5 {
		path := filepath.Join(t.TempDir(), "store.db")
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				s, err := sqlitekv.Open(ctx, path, sqlitekv.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				put(t, s, fmt.Sprint(i), "v")
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		s := open(t, path, sqlitekv.Options{})
		for i := range 8 {
			wantValue(t, s, fmt.Sprint(i), "v")
		}
	}
}

func TestForeignFilesAreRefusedUntouched(t *testing.T) {
	for name, data := range map[string]string{
		"text":       "this is no database, and longer than its header would be: " + strings.Repeat("x", 100),
		"short":      "x",
		"zeros":      strings.Repeat("\x00", 4096),
		"only magic": "SQLite format 3\x00",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "store.db")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, name, dir, sqlitekv.ErrNotStore)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "store.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, "directory", dir, sqlitekv.ErrNotStore)
}

// wantRefused wants store.db in a directory to be refused, by every way of opening,
// and left as it is.
func wantRefused(t testing.TB, name, dir string, want error) {
	t.Helper()
	for _, readOnly := range []bool{true, false} {
		wantUnchanged(t, dir, func() {
			s, err := sqlitekv.Open(ctx, filepath.Join(dir, "store.db"), sqlitekv.Options{ReadOnly: readOnly})
			if !errors.Is(err, want) || s != nil {
				t.Errorf("%s, read-only %v: %v, %v; want %v", name, readOnly, s, err, want)
			}
		})
	}
}

func TestReadOnlyOfNothing(t *testing.T) {
	dir := t.TempDir()
	wantUnchanged(t, dir, func() {
		if _, err := sqlitekv.Open(ctx, filepath.Join(dir, "no", "store.db"), sqlitekv.Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing store: %v", err)
		}
	})
	path := filepath.Join(dir, "store.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantUnchanged(t, dir, func() {
		if _, err := sqlitekv.Open(ctx, path, sqlitekv.Options{ReadOnly: true}); !errors.Is(err, sqlitekv.ErrNotStore) {
			t.Errorf("an empty file: %v", err)
		}
	})
	put(t, open(t, path, sqlitekv.Options{}), "k", "v") // as it is when a process was killed while it created one
}

func TestReadOnlyChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	s := open(t, path, sqlitekv.Options{})
	for i := range 100 {
		put(t, s, fmt.Sprintf("k%02d", i), "v")
	}
	s.Close()
	wantUnchanged(t, dir, func() {
		s := open(t, path, sqlitekv.Options{ReadOnly: true})
		wantValue(t, s, "k42", "v")
		n := 0
		for range s.Scan(ctx, kv.Memory, []byte("k")) {
			n++
		}
		if n != 100 {
			t.Errorf("%d keys", n)
		}
		var backup bytes.Buffer
		if err := s.Backup(ctx, &backup); err != nil || backup.Len() == 0 {
			t.Errorf("Backup: %d bytes, %v", backup.Len(), err)
		}
		_, deleted := s.Delete(ctx, kv.Memory, []byte("k42"))
		for name, err := range map[string]error{
			"Put":        s.Put(ctx, kv.Memory, []byte("k"), nil),
			"Delete":     deleted,
			"Update":     s.Update(ctx, func(kv.KVStorage) error { return nil }),
			"Checkpoint": s.Checkpoint(ctx),
			"Compact":    s.Compact(ctx),
		} {
			if !errors.Is(err, kv.ErrReadOnly) {
				t.Errorf("%s: %v", name, err)
			}
		}
		s.Close()
	})
}

// A store opened read-only while nobody writes it, and whose file is then written all
// the same, shows the old, the new or an error, and never a mixture.
func TestReadOnlyWhenAWriterComes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	older, newer := "old"+strings.Repeat("x", 1000), "new"+strings.Repeat("x", 3000) // the size tells, however coarse the clock
	write := func(value string) {
		t.Helper()
		s := open(t, path, sqlitekv.Options{})
		for i := range 300 {
			put(t, s, fmt.Sprintf("k%03d", i), value)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write(older)
	reader := open(t, path, sqlitekv.Options{ReadOnly: true})
	wantValue(t, reader, "k299", older)
	n := 0
	var failure error
	for e, err := range reader.Scan(ctx, kv.Memory, nil) {
		if err != nil {
			failure = err
			continue
		}
		if !bytes.HasPrefix(e.Value, []byte("old")) {
			t.Fatalf("%q is %.3q in a scan that began before", e.Key, e.Value)
		}
		if n++; n == 1 {
			write(newer)
		}
	}
	if !errors.Is(failure, kv.ErrBusy) {
		t.Errorf("the scan ended with %v after %d entries; want kv.ErrBusy", failure, n)
	}
	wantValue(t, reader, "k299", newer)
	writer := open(t, path, sqlitekv.Options{})
	put(t, writer, "k299", "in the log")
	wantValue(t, reader, "k299", "in the log")
	writer.Close()
	wantValue(t, reader, "k299", "in the log")
}
