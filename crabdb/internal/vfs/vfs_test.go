package vfs_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// Both file systems keep what the interfaces say.
func TestFileSystems(t *testing.T) {
	for name, fsys := range map[string]vfs.FS{"OS": vfs.OS{}, "memory": memfs.New()} {
		for _, c := range []struct {
			name string
			test func(*testing.T, vfs.FS, string)
		}{
			{"Files", files}, {"Names", names}, {"Locks", locks},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) { c.test(t, fsys, t.TempDir()) })
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("the error is %v, want %v", err, want)
	}
}

func open(t *testing.T, fsys vfs.FS, path string, flag int) vfs.File {
	t.Helper()
	f, err := fsys.OpenFile(path, flag, 0o600)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func write(t *testing.T, f vfs.File, s string, at int64) {
	t.Helper()
	if n, err := f.WriteAt([]byte(s), at); n != len(s) || err != nil {
		t.Fatalf("WriteAt: %d, %v", n, err)
	}
}

func wantContent(t *testing.T, f vfs.File, want string) {
	t.Helper()
	info, err := f.Stat()
	must(t, err)
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	must(t, err)
	if string(b) != want || info.Size() != int64(len(want)) {
		t.Fatalf("the file holds %q and has %d bytes, want %q", b, info.Size(), want)
	}
}

func files(t *testing.T, fsys vfs.FS, dir string) {
	path := filepath.Join(dir, "a")
	_, err := fsys.OpenFile(path, os.O_RDWR, 0)
	wantError(t, err, fs.ErrNotExist)
	f := open(t, fsys, path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	_, err = fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	wantError(t, err, fs.ErrExist)

	write(t, f, "hello", 0)
	must(t, f.Truncate(2))
	write(t, f, "!", 4)
	wantContent(t, f, "he\x00\x00!")
	n, err := f.ReadAt(make([]byte, 4), 3)
	if n != 2 || err != io.EOF {
		t.Fatalf("a read over the end: %d, %v", n, err)
	}
	must(t, f.Sync())

	r := open(t, fsys, path, os.O_RDONLY)
	wantContent(t, r, "he\x00\x00!")
	if _, err := r.WriteAt([]byte("x"), 0); err == nil {
		t.Fatal("a file opened for reading was written")
	}
	must(t, r.Close())
	_, err = r.ReadAt(make([]byte, 1), 0)
	wantError(t, err, fs.ErrClosed)

	g := open(t, fsys, filepath.Join(dir, "b"), os.O_RDWR|os.O_CREATE)
	info, err := f.Stat()
	must(t, err)
	must(t, g.Inherit(info))
	if info, err = g.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the mode is %v, %v", info.Mode(), err)
	}
}

func names(t *testing.T, fsys vfs.FS, dir string) {
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	fa := open(t, fsys, a, os.O_RDWR|os.O_CREATE)
	fb := open(t, fsys, b, os.O_RDWR|os.O_CREATE)
	write(t, fa, "A", 0)
	write(t, fb, "B", 0)
	must(t, fsys.Rename(a, b))
	wantContent(t, open(t, fsys, b, os.O_RDONLY), "A")
	wantContent(t, fb, "B") // who has it open keeps it

	there, err := fsys.Lstat(b)
	must(t, err)
	for f, same := range map[vfs.File]bool{fa: true, fb: false} {
		info, err := f.Stat()
		if err != nil || fsys.SameFile(there, info) != same {
			t.Fatalf("SameFile is not %v, %v", same, err)
		}
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "b" || !entries[0].Type().IsRegular() {
		t.Fatalf("the directory has %v, %v", entries, err)
	}
	must(t, fsys.SyncDir(dir))
	must(t, fsys.Remove(b))
	for _, err := range []error{fsys.Remove(b), fsys.Rename(b, a)} {
		wantError(t, err, fs.ErrNotExist)
	}
	_, err = fsys.Lstat(b)
	wantError(t, err, fs.ErrNotExist)
}

func locks(t *testing.T, fsys vfs.FS, dir string) {
	path := filepath.Join(dir, "lock")
	held, err := fsys.Lock(path, "pid 1")
	must(t, err)
	_, err = fsys.Lock(path, "pid 2")
	var locked *vfs.LockedError
	if !errors.As(err, &locked) || locked.Path != path || locked.Note != "pid 1" {
		t.Fatalf("the second lock: %v, %+v", err, locked)
	}
	must(t, held.Close())
	again, err := fsys.Lock(path, "pid 3")
	must(t, err)
	must(t, again.Close())
}

// A person's own file of the name of a lock is locked and stays what it is.
func TestLockLeavesAPersonsFileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	must(t, os.WriteFile(path, []byte("a recipe"), 0o600))
	held, err := vfs.OS{}.Lock(path, "pid 1")
	must(t, err)
	defer held.Close()
	if _, err := (vfs.OS{}).Lock(path, "pid 2"); err == nil {
		t.Fatal("it was not locked")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "a recipe" {
		t.Fatalf("it holds %q, %v", got, err)
	}
}
