//go:build unix

package crabdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// wantLocked wants a second writer to be refused at once, with the names of the
// store and of who has it.
func wantLocked(t *testing.T, path string, pid int) {
	t.Helper()
	db, err := Open(path, quiet())
	if err == nil {
		db.Close()
	}
	wantError(t, err, ErrLocked)
	wantText(t, err, filepath.Base(path), fmt.Sprintf("pid %d", pid))
}

// A second writer of the same process is refused, by whatever path it comes, and a
// reader is not.
func TestA21_TwoWritersInOneProcess(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store")
	link, inLinked := filepath.Join(dir, "link"), filepath.Join(dir, "dir", "store")
	must(t, os.Symlink("store", link))
	must(t, os.Symlink(".", filepath.Join(dir, "dir")))
	t.Chdir(dir)
	for _, first := range []string{path, "store", link} {
		db := mustOpen(t, first, quiet())
		put(t, db, "k", "v")
		for _, second := range []string{path, "store", "./store", dir + "/./store", dir + "//store", "dir/../store"} {
			wantLocked(t, second, os.Getpid())
		}
		for _, second := range []string{link, inLinked} {
			other, err := Open(second, quiet())
			if err == nil {
				other.Close()
			}
			wantError(t, err, ErrLocked)
		}
		wantContent(t, mustOpen(t, path, readOnly()), keys("k=v"))
		put(t, db, "k", "w") // the first goes on
		put(t, db, "k", "v")
		mustClose(t, db)
	}
	mustClose(t, mustOpen(t, path, quiet()))
}

// A refused writer leaves the lock, and the note in it, to who holds it.
func TestA21_RefusedWriterLeavesTheLock(t *testing.T) {
	path := newPath(t)
	db := mustOpen(t, path, quiet())
	for range 3 {
		wantLocked(t, path, os.Getpid())
	}
	if got := string(readFile(t, path+lockSuffix)); got != fmt.Sprintf("pid %d\n", os.Getpid()) {
		t.Errorf("the lock file holds %q", got)
	}
	mustClose(t, db)
	mustClose(t, mustOpen(t, path, quiet()))
}

// A writer of another process holds the lock as long as it lives, and no longer: also
// while it is stopped, and over a compaction, after which the path is another file.
func TestA21_A22_WriterInAnotherProcess(t *testing.T) {
	path := newPath(t)
	c := start(t)
	c.do("open", path)
	c.do("put", "k", "v")
	pid := c.cmd.Process.Pid
	wantLocked(t, path, pid)
	c.do("compact")
	wantLocked(t, path, pid)
	must(t, c.cmd.Process.Signal(syscall.SIGSTOP))
	wantLocked(t, path, pid)
	reader := mustOpen(t, path, readOnly())
	wantContent(t, reader, keys("k=v"))
	must(t, c.cmd.Process.Signal(syscall.SIGCONT))
	c.do("put", "l", "w")
	must(t, reader.Refresh(ctx))
	wantContent(t, reader, keys("k=v", "l=w"))

	c.kill()
	db := mustOpen(t, path, quiet())
	wantContent(t, db, keys("k=v", "l=w"))
	if st := stats(t, db); st.Recovery.Torn != 0 {
		t.Errorf("recovery: %+v", st.Recovery)
	}
	put(t, db, "m", "x")
	mustClose(t, db)

	other := start(t)
	other.do("open", path)
	if got := other.do("get", "m"); got != "x" {
		t.Errorf("the next process got %q", got)
	}
	other.do("close")
	mustClose(t, mustOpen(t, path, quiet()))
}

// A lock file that a dead process left, or that is in the way, is no hindrance, and
// what is no lock file is told.
func TestA21_LockFileLeftBehind(t *testing.T) {
	path := newPath(t)
	writeFile(t, path+lockSuffix, []byte("pid 999999\n"))
	db := mustOpen(t, path, quiet())
	wantLocked(t, path, os.Getpid())
	mustClose(t, db)

	must(t, os.Remove(path+lockSuffix))
	must(t, os.Mkdir(path+lockSuffix, 0o700))
	_, err := Open(path, quiet())
	if err == nil || errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), lockSuffix) {
		t.Fatalf("with a directory in the lock's place: %v", err)
	}
	mustClose(t, mustOpen(t, path, readOnly()))
}

// A process that is killed while it writes loses nothing that was acknowledged.
func TestKilledWriterLosesNothing(t *testing.T) {
	for _, how := range []string{"put", "checkpoint", "compact"} {
		path := newPath(t)
		c := start(t)
		c.do("open", path)
		want := content{}
		for i := range 20 {
			k, v := fmt.Sprint("k", i%7), fmt.Sprint("v", i)
			c.do("put", k, v)
			want[id{1, k}] = v
			if i == 10 && how != "put" {
				c.do(how)
			}
		}
		c.kill()
		db := mustOpen(t, path, quiet())
		wantContent(t, db, want)
		wantSound(t, db)
	}
}
