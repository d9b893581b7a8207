//go:build unix

package crabdb

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A read-only open makes nothing, changes nothing, not even a time, and needs nobody's
// leave to write.
func TestA23_ReadOnlyChangesNothing(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		dir := t.TempDir()
		path := filepath.Join(dir, "store")
		data := killed(t, opts, func(db *DB) { put(t, db, "k", "v"); must(t, db.Checkpoint(ctx)); put(t, db, "l", "w") })
		torn := concat(data, []byte{0, 1, 2})
		writeFile(t, path, torn)
		writeFile(t, path+compactSuffix+"0123456789abcdef", nil)
		must(t, os.Chtimes(path, time.Unix(1e9, 0), time.Unix(1e9, 0)))
		before, names := stat(t, path), files(t, dir)
		for _, o := range []Options{readOnly(), salvage()} {
			db := mustOpen(t, path, o)
			wantContent(t, db, keys("k=v", "l=w"))
			mustCheck(t, db)
			must(t, db.Backup(ctx, new(bytes.Buffer)))
			must(t, db.Refresh(ctx))
			must(t, db.Sync())
			wantReadOnly(t, db)
			mustClose(t, db)
		}
		if got := accessed(t, path); !got.IsZero() && !got.Equal(time.Unix(1e9, 0)) {
			t.Errorf("the time of the last access is %v", got)
		}
		after := stat(t, path)
		if !after.ModTime().Equal(before.ModTime()) || !bytes.Equal(readFile(t, path), torn) {
			t.Error("the file was changed")
		}
		if got := files(t, dir); strings.Join(got, " ") != strings.Join(names, " ") {
			t.Errorf("the directory has %q, it had %q", got, names)
		}
	})
}

func stat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info
}

// wantReadOnly wants every write to be refused.
func wantReadOnly(t *testing.T, db *DB) {
	t.Helper()
	_, err := db.Delete(ctx, 1, []byte("k"))
	wantError(t, err, ErrReadOnly)
	wantError(t, db.Put(ctx, 1, []byte("k"), nil), ErrReadOnly)
	wantError(t, db.Update(ctx, func(*Tx) error { t.Error("it ran"); return nil }), ErrReadOnly)
	wantError(t, db.Checkpoint(ctx), ErrReadOnly)
	wantError(t, db.Compact(ctx), ErrReadOnly)
	must(t, db.View(ctx, func(tx *Tx) error {
		wantError(t, tx.Put(1, []byte("k"), nil), ErrReadOnly)
		_, err := tx.Delete(1, []byte("k"))
		wantError(t, err, ErrReadOnly)
		return nil
	}))
}

// As somebody else than root, who may not write: files and directories without leave
// to write are read, and what is not there is not made.
func TestA23_WithoutLeaveToWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store")
	db := mustOpen(t, path, quiet())
	put(t, db, "k", "v")
	mustClose(t, db)
	must(t, os.Remove(path+lockSuffix))
	must(t, os.Chmod(path, 0o444))
	must(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	for up := filepath.Dir(dir); up != filepath.Clean(os.TempDir()) && up != "/" && os.Getuid() == 0; up = filepath.Dir(up) {
		must(t, os.Chmod(up, 0o755)) // the test's own directories, which nobody else may enter
	}
	c := start(t)
	if os.Getuid() == 0 {
		c.do("chdir", "/")
		c.do("uid", "65534")
	}
	c.do("open read-only", path)
	if got := c.do("get", "k"); got != "v" {
		t.Errorf("it got %q", got)
	}
	if _, err := c.ask("put", "k", "w"); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a write: %v", err)
	}
	c.do("close")
	if _, err := c.ask("open", path); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("opened for writing: %v", err)
	}
	if _, err := c.ask("open read-only", filepath.Join(dir, "missing")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("what is missing: %v", err)
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("the directory has %q", got)
	}
}

// What is missing is not made, and neither is its directory.
func TestA23_MissingIsNotMade(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"missing", "no/directory/store"} {
		for _, opts := range []Options{readOnly(), salvage(), {ReadOnly: true, MustExist: true}} {
			_, err := Open(filepath.Join(dir, name), opts)
			wantError(t, err, fs.ErrNotExist)
		}
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("the directory has %q", got)
	}
	if _, err := Open(dir, readOnly()); err == nil || errorsIsAny(err, ErrCorrupt, fs.ErrNotExist) {
		t.Errorf("a directory: %v", err)
	}
}

func errorsIsAny(err error, targets ...error) bool {
	for _, target := range targets {
		if strings.Contains(err.Error(), target.Error()) {
			return true
		}
	}
	return false
}

// A relative path means what it meant when the store was opened.
func TestA23_RelativePathAfterChdir(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	db := mustOpen(t, "store", quiet())
	r := mustOpen(t, "./store", readOnly())
	t.Chdir(elsewhere)
	put(t, db, "k", "v")
	must(t, db.Compact(ctx))
	must(t, r.Refresh(ctx))
	wantContent(t, r, keys("k=v"))
	mustClose(t, db)
	if got := files(t, elsewhere); len(got) != 0 {
		t.Errorf("elsewhere there is %q", got)
	}
	wantContent(t, mustOpen(t, filepath.Join(dir, "store"), quiet()), keys("k=v"))
}
