package jsonkv

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

func backupOf(t testing.TB, s *Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Backup(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBackupAndRestore(t *testing.T) {
	dir := sample(t)
	for _, o := range []Options{{}, {ReadOnly: true}} {
		s := mustOpen(t, dir, o)
		backup := backupOf(t, s)
		restored := filepath.Join(t.TempDir(), "a", "b")
		if err := Restore(ctx, restored, bytes.NewReader(backup)); err != nil {
			t.Fatal(err)
		}
		if got, want := filesIn(t, restored), filesIn(t, dir); got[storeDocument] != want[storeDocument] || got["sessions/h.json"] != want["sessions/h.json"] || len(got) != 3 {
			t.Errorf("restored: %v, want %v", got, want)
		}
		err := Restore(ctx, restored, bytes.NewReader(backup))
		if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), restored) {
			t.Errorf("restored into a store: %v", err)
		}
		mustClose(t, s)
	}
}

// A backup is of one moment, though writers go on while it is written.
func TestBackupOfOneMoment(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{})
	written, end := writing(t, s)
	h := newHistory(t)
	for range 10 {
		<-written
		dir := t.TempDir()
		if err := Restore(ctx, dir, bytes.NewReader(backupOf(t, s))); err != nil {
			t.Fatal(err)
		}
		restored := mustOpen(t, dir, Options{ReadOnly: true})
		h.want(t, restored, 1)
		mustClose(t, restored)
	}
	end()
}

func TestBackupRefusesWhatIsBroken(t *testing.T) {
	dir := sample(t)
	s := mustOpen(t, dir, Options{})
	edit(t, filepath.Join(dir, "sessions", "h.json"), `"user",`, `"user"`)
	if err := s.Backup(ctx, io.Discard); !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	if err := s.Backup(ctx, failing{}); err == nil {
		t.Error("what cannot be written is a backup")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errInjected }

// pack makes a tar file of names and texts, in turn.
func pack(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Mode: 0o600, Size: int64(len(files[i+1]))}
		if strings.HasSuffix(files[i], "@") {
			h = &tar.Header{Name: strings.TrimSuffix(files[i], "@"), Typeflag: tar.TypeSymlink, Linkname: files[i+1]}
		}
		if err := out.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeSymlink {
			continue
		}
		if _, err := io.WriteString(out, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// manifestOf is the manifest of documents by their sums.
func manifestOf(sums ...string) string {
	b := []string{}
	for i := 0; i < len(sums); i += 2 {
		b = append(b, `"`+sums[i]+`": "`+sums[i+1]+`"`)
	}
	return `{"format": "crabstore-json-backup", "version": 1, "documents": {` + strings.Join(b, ", ") + `}}`
}

// The sums are of sha256sum: of emptyStore, and of nothing.
const (
	emptyStore = `{"format":"crabstore-json","version":1}`
	emptySum   = "3eea2ea6e237e36c6e0531ef1c4bdac1554acd822162b61b5459b53884b8b995"
	nothingSum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func TestBadBackupsAreRefused(t *testing.T) {
	s := mustOpen(t, sample(t), Options{})
	whole := backupOf(t, s)
	head := func(doc string) string { return manifestOf(storeDocument, emptySum, doc, nothingSum) }
	for name, c := range map[string]struct {
		backup []byte
		want   error
	}{
		"nothing":          {nil, ErrBadBackup},
		"no tar":           {[]byte(strings.Repeat("text", 1000)), ErrBadBackup},
		"no manifest":      {pack(t, storeDocument, emptyStore), ErrBadBackup},
		"another format":   {pack(t, manifestName, `{"format":"x","version":1}`), ErrBadBackup},
		"a newer version":  {pack(t, manifestName, `{"format":"crabstore-json-backup","version":2}`), ErrVersion},
		"another sum":      {pack(t, manifestName, manifestOf(storeDocument, nothingSum), storeDocument, emptyStore), ErrBadBackup},
		"one missing":      {pack(t, manifestName, head("sessions/h.json"), storeDocument, emptyStore), ErrBadBackup},
		"no store.json":    {pack(t, manifestName, manifestOf()), ErrBadBackup},
		"one twice":        {pack(t, manifestName, manifestOf(storeDocument, emptySum), storeDocument, emptyStore, storeDocument, emptyStore), ErrBadBackup},
		"one too many":     {pack(t, manifestName, manifestOf(storeDocument, emptySum), storeDocument, emptyStore, "sessions/h.json", ""), ErrBadBackup},
		"upward":           {pack(t, manifestName, head("../h.json"), storeDocument, emptyStore, "../h.json", ""), ErrBadBackup},
		"upward, hidden":   {pack(t, manifestName, head("sessions/../../h.json"), storeDocument, emptyStore, "sessions/../../h.json", ""), ErrBadBackup},
		"absolute":         {pack(t, manifestName, head("/tmp/h.json"), storeDocument, emptyStore, "/tmp/h.json", ""), ErrBadBackup},
		"deeper":           {pack(t, manifestName, head("sessions/a/h.json"), storeDocument, emptyStore, "sessions/a/h.json", ""), ErrBadBackup},
		"the lock":         {pack(t, manifestName, head(lockName), storeDocument, emptyStore, lockName, ""), ErrBadBackup},
		"a link":           {pack(t, manifestName, head("sessions/h.json"), storeDocument, emptyStore, "sessions/h.json@", "/etc/passwd"), ErrBadBackup},
		"an empty session": {pack(t, manifestName, head("sessions/h.json"), storeDocument, emptyStore, "sessions/h.json", ""), ErrBadBackup},
	} {
		dir := filepath.Join(t.TempDir(), "store")
		if err := Restore(ctx, dir, bytes.NewReader(c.backup)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: something was restored", name)
		}
	}
	end := 5*512 + len(sampleStore) // what follows fills the last block, and ends a tar file
	for n := 0; n < end; n += 100 {
		if err := Restore(ctx, filepath.Join(t.TempDir(), "store"), bytes.NewReader(whole[:n])); !errors.Is(err, ErrBadBackup) {
			t.Fatalf("cut at %d of %d: %v", n, len(whole), err)
		}
	}
	if err := Restore(ctx, filepath.Join(t.TempDir(), "store"), bytes.NewReader(pack(t, manifestName, manifestOf(storeDocument, emptySum), storeDocument, emptyStore))); err != nil {
		t.Errorf("the smallest whole one: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := Restore(cancelled, filepath.Join(t.TempDir(), "store"), bytes.NewReader(whole)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A restore that is cut short, at any call, can be made again.
func TestCrashAtEveryCallOfRestoring(t *testing.T) {
	s := mustOpen(t, sample(t), Options{})
	want := contentsOf(t, s)
	all, err := readBackup(ctx, bytes.NewReader(backupOf(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	for call, over := 1, false; !over; call++ {
		d := newMemDisk()
		restoreOn := func() error {
			s, err := open(d, "store", Options{})
			if err != nil {
				return err
			}
			return s.restore(ctx, &all)
		}
		d.failAt(call, true)
		first := restoreOn()
		over = d.calls < call
		d.failAt(0, false)
		if err := restoreOn(); err != nil && !errors.Is(err, fs.ErrExist) || over != (first == nil) {
			t.Fatalf("killed at call %d: %v, and again: %v", call, first, err)
		}
		if got := contentsOf(t, mustOpenOn(t, d, Options{})); !maps.Equal(got, want) {
			t.Fatalf("killed at call %d: %v", call, got)
		}
	}
}
