//go:build unix

package crabdb

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A store that is opened through a link stays where it is, and the link a link.
func TestA16_Links(t *testing.T) {
	for name, target := range map[string]func(dir string) string{
		"absolute": func(dir string) string { return filepath.Join(dir, "real", "store.crab") },
		"relative": func(string) string { return filepath.Join("..", "real", "store.crab") },
		"to a link": func(dir string) string {
			second := filepath.Join(dir, "second.crab")
			must(t, os.Symlink(filepath.Join("real", "store.crab"), second))
			return second
		},
		"through a linked directory": func(dir string) string {
			must(t, os.Symlink("real", filepath.Join(dir, "alias")))
			return filepath.Join(dir, "alias", "store.crab")
		},
	} {
		for _, dangling := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				real, link := filepath.Join(dir, "real", "store.crab"), filepath.Join(dir, "links", "link.crab")
				must(t, os.Mkdir(filepath.Dir(real), 0o700))
				must(t, os.Mkdir(filepath.Dir(link), 0o700))
				to := target(dir)
				must(t, os.Symlink(to, link))
				if !dangling {
					mustClose(t, mustOpen(t, real, quiet()))
				}
				db := mustOpen(t, link, quiet())
				put(t, db, "a", "1")
				must(t, db.Compact(ctx))
				put(t, db, "b", "2")
				if got := stats(t, db).Path; got != resolved(t, real) {
					t.Errorf("the store is at %q", got)
				}
				mustClose(t, db)
				if got, err := os.Readlink(link); err != nil || got != to {
					t.Errorf("the link leads to %q, %v", got, err)
				}
				for _, path := range []string{link, real} {
					db = mustOpen(t, path, quiet())
					wantContent(t, db, keys("a=1", "b=2"))
					mustClose(t, db)
				}
				if got := files(t, filepath.Dir(link)); len(got) != 1 {
					t.Errorf("beside the link: %q", got)
				}
				if got := files(t, filepath.Dir(real)); len(got) != 2 { // and its lock
					t.Errorf("beside the store: %q", got)
				}
			})
		}
	}
}

func resolved(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	must(t, err)
	return real
}

// Links that go round, or to what is no file, are an error.
func TestA16_LinksThatLeadNowhere(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "directory"), 0o700))
	for name, target := range map[string]string{
		"itself": "itself", "round": "about", "about": "round", "to a directory": "directory",
		"into nothing": filepath.Join("nothing", "store"), "device": os.DevNull,
	} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	before := len(files(t, dir))
	for _, name := range []string{"itself", "round", "to a directory", "into nothing", "device"} {
		for _, opts := range []Options{{}, readOnly()} {
			if db, err := Open(filepath.Join(dir, name), opts); err == nil {
				db.Close()
				t.Errorf("%s was opened", name)
			}
		}
	}
	if got := files(t, dir); len(got) != before {
		t.Errorf("the directory has %q", got)
	}
}

// A file has the mode and the owner that it had, after a compaction too; a new one is
// its owner's alone, whatever the umask.
func TestA16_ModeAndOwner(t *testing.T) {
	old := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(old) })
	path := newPath(t)
	db := mustOpen(t, path, quiet())
	wantMode(t, path, 0o600)
	wantMode(t, path+lockSuffix, 0o600)
	for _, mode := range []os.FileMode{0o600, 0o640, 0o666, 0o604} {
		must(t, os.Chmod(path, mode))
		must(t, db.Compact(ctx))
		wantMode(t, path, mode)
	}
	mustClose(t, db)

	if os.Getuid() == 0 {
		must(t, os.Chown(path, 1234, 4321))
		db = mustOpen(t, path, quiet())
		must(t, db.Compact(ctx))
		info, err := os.Stat(path)
		must(t, err)
		if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 4321 {
			t.Errorf("the owner is %d:%d", st.Uid, st.Gid)
		}
		wantMode(t, path, 0o604)
		mustClose(t, db)
	}

	// An empty file, made for the store to come, gives it its mode.
	path = newPath(t)
	writeFile(t, path, nil)
	must(t, os.Chmod(path, 0o640))
	db = mustOpen(t, path, quiet())
	put(t, db, "k", "v")
	wantMode(t, path, 0o640)
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	if got := info.Mode().Perm(); got != want {
		t.Fatalf("the mode of %s is %v, want %v", path, got, want)
	}
}
