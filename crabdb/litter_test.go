package crabdb

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Opening what is no store, or what must be there and is not, leaves nothing
// beside it; it had left a lock file.
func TestRefusedOpenLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "directory"), 0o700))
	writeFile(t, filepath.Join(dir, "notes.txt"), []byte("these are notes, and longer than a header is"))
	writeFile(t, filepath.Join(dir, "short"), []byte("CRMEM"))
	newer := header{}.encode()
	newer[6] = 2
	writeFile(t, filepath.Join(dir, "newer"), newer)
	before := files(t, dir)
	for _, c := range []struct {
		name string
		opts Options
		want error
	}{
		{"missing", Options{MustExist: true}, fs.ErrNotExist},
		{"missing", readOnly(), fs.ErrNotExist},
		{"missing", salvage(), fs.ErrNotExist},
		{"notes.txt", Options{}, ErrNotStore},
		{"notes.txt", readOnly(), ErrNotStore},
		{"short", Options{}, ErrNotStore},
		{"newer", Options{}, ErrVersion},
		{"newer", salvage(), ErrVersion},
		{"directory", Options{}, nil},
		{"directory", readOnly(), nil},
		{"missing/store", Options{}, fs.ErrNotExist},
		{"notes.txt/store", Options{}, nil},
		{"", Options{}, nil},
	} {
		db, err := Open(filepath.Join(dir, c.name), c.opts)
		if err == nil {
			db.Close()
			t.Fatalf("%q was opened with %+v", c.name, c.opts)
		}
		if c.want != nil {
			wantError(t, err, c.want)
		}
		wantText(t, err, filepath.Join(dir, c.name))
		if after := files(t, dir); !slices.Equal(after, before) {
			t.Fatalf("opening %q with %+v left %q", c.name, c.opts, after)
		}
		if up := files(t, filepath.Dir(dir)); len(up) != 1 {
			t.Fatalf("opening %q with %+v left %q beside the directory", c.name, c.opts, up)
		}
	}
	if got := readFile(t, filepath.Join(dir, "notes.txt")); string(got) != "these are notes, and longer than a header is" {
		t.Fatalf("the notes are %q", got)
	}
}
