package pebblekv

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

func backup(t testing.TB, s *Store) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := s.Backup(ctx, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestBackupAndRestore backs up a store while it is written, a read-only one, and the
// restored one again.
func TestBackupAndRestore(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "store")
	s := open(t, dir, Options{tune: small})
	all := fill(t, s, 0, 300)
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			err := s.Update(ctx, func(tx kv.KVStorage) error {
				return errors.Join(
					tx.Put(ctx, kv.Session, []byte("left"), fmt.Append(nil, i)),
					tx.Put(ctx, kv.Text, []byte("right"), fmt.Append(nil, i)),
					tx.Put(ctx, kv.Text, []byte("much"), []byte(noise(i, 5000))),
				)
			})
			if err != nil {
				done <- err
				return
			}
		}
	}()
	for i := range 10 {
		restored := filepath.Join(parent, "new", fmt.Sprint(i))
		if err := Restore(ctx, restored, bytes.NewReader(backup(t, s))); err != nil {
			t.Fatal(err)
		}
		r := open(t, restored, Options{})
		wantContent(t, r, all)
		if left, right := content(t, r, kv.Session), content(t, r, kv.Text); left["left"] != right["right"] {
			t.Fatalf("half a transaction: %q, %q", left["left"], right["right"])
		}
		put(t, r, "more", "of it")
		shut(t, r)
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, backupPrefix+"*")); len(left) > 0 || err != nil {
		t.Errorf("backups left %v, %v", left, err)
	}
	shut(t, s)
	r := open(t, dir, Options{ReadOnly: true})
	unchanged(t, dir, func() {
		if err := Restore(ctx, filepath.Join(parent, "again"), bytes.NewReader(backup(t, r))); err != nil {
			t.Fatal(err)
		}
	})
	wantContent(t, open(t, filepath.Join(parent, "again"), Options{}), all)
}

// TestBackupSeesTheLog backs up what is in no table yet.
func TestBackupSeesTheLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	put(t, s, "k", "v")
	if err := Restore(ctx, dir+"2", bytes.NewReader(backup(t, s))); err != nil {
		t.Fatal(err)
	}
	want(t, open(t, dir+"2", Options{ReadOnly: true}), "k", "v")
}

// TestLeftoversOfBackupsAreRemoved opens a store in which one was killed.
func TestLeftoversOfBackupsAreRemoved(t *testing.T) {
	dir, all := compacted(t)
	left := filepath.Join(dir, backupPrefix+"0123456789abcdef", "store")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filesOf(t, dir, ".sst")[0], filepath.Join(left, "000001.sst")); err != nil {
		t.Fatal(err)
	}
	unchanged(t, dir, func() { shut(t, open(t, dir, Options{ReadOnly: true})) })
	s := open(t, dir, Options{})
	if _, err := os.Stat(filepath.Dir(left)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	wantContent(t, s, all)
}

func smallBackup(t testing.TB) []byte {
	s := open(t, filepath.Join(t.TempDir(), "store"), Options{})
	put(t, s, "k", "v")
	defer shut(t, s) // a fuzzer takes what it does in the background for findings
	return backup(t, s)
}

// TestRestoreRefusesWhatIsNotWhole gives backups that were cut, changed, or made to lead
// elsewhere: nothing is left behind.
func TestRestoreRefusesWhatIsNotWhole(t *testing.T) {
	whole := smallBackup(t)
	type file struct{ name, body string }
	var files []file
	for in := tar.NewReader(bytes.NewReader(whole)); ; {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		body, err2 := io.ReadAll(in)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		files = append(files, file{h.Name, string(body)})
	}
	pack := func(files ...file) []byte {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for _, f := range files {
			if err := errors.Join(w.WriteHeader(header(f.name, int64(len(f.body)))), second(io.WriteString(w, f.body))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	if !bytes.Equal(pack(files...), whole) {
		t.Fatal("a backup is not what it is taken for here")
	}
	bad := map[string][]byte{
		"nothing":     {},
		"no tar":      bytes.Repeat([]byte("text"), 500),
		"no list":     pack(files[:len(files)-1]...),
		"one less":    pack(files[1:]...),
		"one twice":   pack(append([]file{files[0]}, files...)...),
		"one more":    pack(append(slices.Clone(files), file{"000099.sst", ""})...),
		"list alone":  pack(file{sumsFile, ""}),
		"other order": pack(append([]file{files[1], files[0]}, files[2:]...)...),
	}
	for _, name := range []string{"../evil", "/evil", "a/000001.sst", "..", "LOCK", "000001.sst/../../evil", "CURRENT"} {
		bad["path "+name] = pack(append([]file{{name, "x"}}, files...)...)
	}
	var link bytes.Buffer
	w := tar.NewWriter(&link)
	if err := errors.Join(w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "000001.sst", Linkname: "/etc/passwd"}), w.Close()); err != nil {
		t.Fatal(err)
	}
	bad["link"] = link.Bytes()
	for n := 0; n < len(bytes.TrimRight(whole, "\x00")); n += 97 { // zeros at the end are padding
		bad[fmt.Sprintf("cut at %d", n)] = whole[:n]
	}
	changes := 0
	for n := 0; n < len(whole); n += 61 {
		if whole[n] != 0 { // zeros may be padding
			changed := slices.Clone(whole)
			changed[n] ^= 4
			bad[fmt.Sprintf("changed at %d", n)] = changed
			changes++
		}
	}
	if changes < 10 {
		t.Fatalf("%d changes", changes)
	}
	for name, data := range bad {
		parent := t.TempDir()
		err := Restore(ctx, filepath.Join(parent, "store"), bytes.NewReader(data))
		if !errors.Is(err, ErrBadBackup) {
			t.Errorf("%s: %v", name, err)
		}
		if left := bytesBelow(t, parent); len(left) != 1 {
			t.Errorf("%s left %v", name, slices.Sorted(maps.Keys(left)))
		}
	}
}

func second(_ int, err error) error { return err }

// TestRestoreTakesNoPlaceThatIsTaken names a directory with a store, an empty one, a file
// and a link to nothing.
func TestRestoreTakesNoPlaceThatIsTaken(t *testing.T) {
	whole, parent := smallBackup(t), t.TempDir()
	shut(t, open(t, filepath.Join(parent, "store"), Options{}))
	if err := errors.Join(os.Mkdir(filepath.Join(parent, "empty"), 0o700), os.WriteFile(filepath.Join(parent, "file"), nil, 0o600), os.Symlink("nowhere", filepath.Join(parent, "link"))); err != nil {
		t.Fatal(err)
	}
	unchanged(t, parent, func() {
		for _, name := range []string{"store", "empty", "file", "link"} {
			if err := Restore(ctx, filepath.Join(parent, name), bytes.NewReader(whole)); err == nil {
				t.Errorf("%s was overwritten", name)
			}
		}
	})
	ended, cancel := context.WithCancel(ctx)
	cancel()
	wantError(t, Restore(ended, filepath.Join(parent, "new"), bytes.NewReader(whole)), context.Canceled)
	if _, err := os.Stat(filepath.Join(parent, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a restoring whose context had ended made a store")
	}
}

// FuzzUnpack wants of any bytes that what they unpack to has the names of a store's files,
// lies where it should, and is listed; or that they are refused.
func FuzzUnpack(f *testing.F) {
	whole := smallBackup(f)
	f.Add(whole)
	f.Add(whole[:1000])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "work")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		err := unpack(bytes.NewReader(data), dir)
		if err != nil && !errors.Is(err, ErrBadBackup) {
			t.Fatal(err)
		}
		names, err2 := os.ReadDir(parent)
		if err2 != nil || len(names) != 1 {
			t.Fatalf("it left %v, %v", names, err2)
		}
		files, err2 := os.ReadDir(dir)
		for _, f := range files {
			if !storeFile.MatchString(f.Name()) || !f.Type().IsRegular() || err == nil && !bytes.Contains(data, []byte("  "+f.Name()+"\n")) {
				t.Fatalf("it made %v", f)
			}
		}
		if err2 != nil {
			t.Fatal(err2)
		}
	})
}
