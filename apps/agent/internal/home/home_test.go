package home

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/memory"
)

func TestDir(t *testing.T) {
	env := map[string]string{}
	getenv := func(name string) string { return env[name] }
	user := t.TempDir()
	t.Setenv("HOME", user)
	t.Setenv("USERPROFILE", user)
	if got, err := Dir("", getenv); err != nil || got != filepath.Join(user, ".crabstore") {
		t.Errorf("by default %q, %v", got, err)
	}
	env[Variable] = filepath.Join(user, "by-variable")
	if got, err := Dir("", getenv); err != nil || got != env[Variable] {
		t.Errorf("by the variable %q, %v", got, err)
	}
	if got, err := Dir("given", getenv); err != nil || filepath.Base(got) != "given" || !filepath.IsAbs(got) {
		t.Errorf("as given %q, %v", got, err)
	}
}

// A23: what is to be read is not created, nor is anything beside it.
func TestA23_ReadingCreatesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	l, err := Locate("", dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRead(context.Background(), l); !errors.Is(err, ErrNoStore) {
		t.Errorf("opened: %v, want ErrNoStore", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
}

func TestWritingCreatesForItsOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "home")
	l, err := Locate("", dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenWrite(context.Background(), l, func(what string) { t.Errorf("tells of %q", what) })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, l.Place: 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want && runtime.GOOS != "windows" {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
	elsewhere := Location{Backend: Crabdb, Place: filepath.Join(dir, "no", "such", "s.crmem")}
	if _, err := OpenWrite(context.Background(), elsewhere, nil); err == nil {
		t.Error("a directory that was mistyped was made true")
	}
}

func TestSchema(t *testing.T) {
	ctx := context.Background()
	silent := func(what string) { t.Errorf("tells of %q", what) }

	fresh := memkv.New()
	if err := upgrade(ctx, fresh, silent); err != nil {
		t.Fatal(err)
	}
	if v, err := schemaOf(ctx, fresh); v != SchemaVersion || err != nil {
		t.Errorf("a new store is of version %d, %v", v, err)
	}

	old := memkv.New()
	if _, err := memory.Put(ctx, old, memory.Entry{Name: "n", Content: "a lobster"}); err != nil {
		t.Fatal(err)
	}
	foreign := kv.Key(old, "idx", "text", "other", "key")
	for _, key := range append([][]byte{foreign}, textKeys(t, old)...) { // its index is none of ours
		if err := old.Put(ctx, kv.Text, key, []byte("?")); err != nil {
			t.Fatal(err)
		}
	}
	told := 0
	if err := upgrade(ctx, old, func(string) { told++ }); err != nil || told != 1 {
		t.Fatalf("told %d times, %v", told, err)
	}
	found, err := memory.Search(ctx, old, memory.Query{Text: "lobsters"})
	if err != nil || len(found.Hits) != 1 {
		t.Errorf("found %v, %v after the upgrade", found.Hits, err)
	}
	if there, err := kv.Has(ctx, old, kv.Text, foreign); there || err != nil {
		t.Errorf("the foreign index is there: %v, %v", there, err)
	}
	if err := upgrade(ctx, old, silent); err != nil {
		t.Error("again:", err)
	}

	newer := memkv.New()
	if err := kv.Store(ctx, newer, kv.Config, schemaKey(newer), SchemaVersion+1); err != nil {
		t.Fatal(err)
	}
	for _, open := range []error{refuseNewer(ctx, newer), upgrade(ctx, newer, silent)} {
		if !errors.Is(open, ErrNewer) {
			t.Errorf("a newer store: %v, want ErrNewer", open)
		}
	}
}

func textKeys(t *testing.T, s kv.KVStorage) (keys [][]byte) {
	t.Helper()
	for key, err := range s.ScanKeys(context.Background(), kv.Text, nil) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	return keys
}

// A store that a person opens by a wrong path is named.
func TestNoStoreThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.crmem")
	_, err := Open(context.Background(), Location{Backend: Crabdb, Place: path}, Change, nil)
	if !errors.Is(err, ErrNoStore) {
		t.Errorf("%v, want ErrNoStore", err)
	}
}
