package pebblekv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/crabstore/crabstore/kv"
)

// TestWhatIsNoStoreIsRefusedUntouched opens, for writing and for reading, what another
// program or a newer one made.
func TestWhatIsNoStoreIsRefusedUntouched(t *testing.T) {
	write := func(dir, name, text string) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	foreign := func(dir string, o *pebble.Options) {
		o.Logger = &news{}
		db, err := pebble.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Set([]byte("k"), nil, pebble.Sync), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	remark := func(dir, from, to string) {
		s := open(t, dir, Options{})
		shut(t, s)
		if err := os.Rename(filesOf(t, dir, from)[0], filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		make  func(dir string)
		want  error
		named []string
	}{
		"file":               {func(dir string) { write(filepath.Dir(dir), "it", "text") }, ErrNotStore, nil},
		"other things":       {func(dir string) { write(dir, "notes.txt", "text") }, ErrNotStore, []string{"notes.txt"}},
		"LevelDB":            {func(dir string) { write(dir, "CURRENT", "MANIFEST-000001\n") }, ErrNotStore, nil},
		"pebble of another":  {func(dir string) { foreign(dir, &pebble.Options{}) }, ErrNotStore, []string{"concatenate"}},
		"newer pebble":       {func(dir string) { foreign(dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest}) }, ErrVersion, []string{fmt.Sprint(int(pebble.FormatNewest)), fmt.Sprint(int(format))}},
		"pebble of years on": {func(dir string) { remark(dir, "marker.format-version*", "marker.format-version.000099.999") }, ErrVersion, []string{"999", fmt.Sprint(int(format))}},
		"layout of years on": {func(dir string) {
			foreign(dir, &pebble.Options{FormatMajorVersion: format, Merger: &pebble.Merger{Name: "crabstore.pebblekv.2"}})
		}, ErrVersion, []string{"crabstore.pebblekv.2", layout}},
		"marker without sense": {func(dir string) { remark(dir, "marker.format-version*", "marker.format-version.000099.x") }, kv.ErrCorrupt, []string{"marker"}},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "it")
			c.make(dir)
			for _, o := range []Options{{}, {ReadOnly: true}} {
				unchanged(t, parent, func() {
					s, err := Open(dir, o)
					if err == nil {
						s.Close()
					}
					wantError(t, err, c.want)
					for _, word := range append(c.named, dir) {
						if !strings.Contains(err.Error(), word) {
							t.Errorf("%v does not name %q", err, word)
						}
					}
				})
			}
		})
	}
}

// TestA23_ReadOnlyMakesNothing opens what is not there.
func TestA23_ReadOnlyMakesNothing(t *testing.T) {
	parent := t.TempDir()
	empty := filepath.Join(parent, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(parent, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"empty", "absent", "absent/deeper", "link"} {
		unchanged(t, parent, func() {
			_, err := Open(filepath.Join(parent, name), Options{ReadOnly: true})
			wantError(t, err, fs.ErrNotExist)
		})
	}
}

// TestInterruptedMakingIsGoneOnWith stops the making of a store behind each of its
// changes of the directory.
func TestInterruptedMakingIsGoneOnWith(t *testing.T) {
	for n := range 1000 {
		fsys := newFaulty(n)
		s, err := openOn(fsys, "/store", Options{})
		if err == nil {
			err = s.Close()
		}
		if fsys.fell() == (err == nil) {
			t.Fatalf("opening with failures from change %d on: %v", n, err)
		}
		whole := err == nil
		fsys.heal()
		if s, err = openOn(fsys, "/store", Options{}); err != nil {
			t.Fatalf("after an opening that stopped at change %d: %v", n, err)
		}
		put(t, s, "k", "v")
		shut(t, s)
		if whole {
			if n < 10 {
				t.Fatalf("a store was made with %d changes", n)
			}
			return
		}
	}
}

// TestA21_SecondWriterIsRefused opens a store for writing twice in one process, under
// several names. TestSecondProcess does so in two.
func TestA21_SecondWriterIsRefused(t *testing.T) {
	parent := t.TempDir()
	t.Chdir(parent)
	if err := os.Symlink("store", filepath.Join(parent, "link")); err != nil {
		t.Fatal(err)
	}
	s := open(t, "store", Options{})
	put(t, s, "k", "v")
	for _, name := range []string{"store", "./store", "link", filepath.Join(parent, "store"), "../" + filepath.Base(parent) + "/store/"} {
		_, err := Open(name, Options{})
		wantError(t, err, kv.ErrBusy)
		if !strings.Contains(err.Error(), filepath.Join(parent, "store")) {
			t.Errorf("%v does not name the directory", err)
		}
	}
	want(t, s, "k", "v")
	t.Chdir("/")
	put(t, s, "far", "away") // the name was resolved when it was opened
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	shut(t, s)
	want(t, open(t, filepath.Join(parent, "link"), Options{}), "far", "away")
}

// TestFilesAreTheOwners looks at the modes of all that was made.
func TestFilesAreTheOwners(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "store")
	s := open(t, dir, Options{tune: small})
	fill(t, s, 0, 300)
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if mode := info.Mode().Perm(); err == nil && mode&0o077 != 0 {
			t.Errorf("%s has mode %o", path, mode)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
