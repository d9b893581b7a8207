package crabdb

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// tester is what the helpers need of a test, so that rapid's can be one.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// ctx is for calls that nobody cancels.
var ctx = context.Background()

// long tells whether CRABDB_LONG asks for the counts of a long run.
func long() bool { return os.Getenv("CRABDB_LONG") != "" }

// times returns how often a random test runs.
func times(usual, more int) int {
	if long() {
		return more
	}
	if testing.Short() {
		return max(usual/4, 1)
	}
	return usual
}

// eachFormat runs a test on a sealed and on a plain store that does nothing by
// itself.
func eachFormat(t *testing.T, test func(t *testing.T, opts Options)) {
	t.Helper()
	t.Run("sealed", func(t *testing.T) { test(t, quiet()) })
	t.Run("plain", func(t *testing.T) { test(t, quietPlain()) })
}

// quiet are options with which a store compacts and makes checkpoints only when it
// is asked to, or closed.
func quiet() Options { return Options{CompactRatio: -1, CheckpointEvery: -1} }

func quietPlain() Options {
	o := quiet()
	o.Plain = true
	return o
}

func (o Options) with(sync SyncMode) Options { o.Sync = sync; return o }

// spacious reserves space as soon as a little was written.
func (o Options) spacious() Options { o.leastSpace = 100; return o }

func readOnly() Options { return Options{ReadOnly: true} }
func salvage() Options  { return Options{Salvage: true} }

func mustOpen(t testing.TB, path string, opts Options) *DB {
	t.Helper()
	db, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func mustClose(t testing.TB, db *DB) {
	t.Helper()
	must(t, db.Close())
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t tester, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("the error is %v, want %v", err, want)
	}
}

// wantText wants an error to say something.
func wantText(t tester, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Fatalf("the error is %q, want %q in it", err, part)
		}
	}
}

// newPath returns where a test's store can be.
func newPath(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "store.crmem")
}

// memPath is where a store in a memfs is. Its directory is one that exists on the
// machine too, since paths are resolved there.
var memPath = filepath.Join(filepath.VolumeName(os.TempDir())+string(filepath.Separator), "crabdb-in-memory.crmem")

func put(t testing.TB, db *DB, key, value string) { t.Helper(); putIn(t, db, 1, key, value) }

func putIn(t testing.TB, db *DB, col byte, key, value string) {
	t.Helper()
	must(t, db.Put(ctx, col, []byte(key), []byte(value)))
}

func del(t testing.TB, db *DB, key string) {
	t.Helper()
	if existed, err := db.Delete(ctx, 1, []byte(key)); err != nil || !existed {
		t.Fatalf("delete %q: %v, %v", key, existed, err)
	}
}

func want(t testing.TB, db *DB, key, value string) {
	t.Helper()
	got, err := db.Get(ctx, 1, []byte(key))
	if err != nil || string(got) != value {
		t.Fatalf("%q has the value %.80q, %v; want %.80q", key, got, err, value)
	}
}

func wantAbsent(t testing.TB, db *DB, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if got, err := db.Get(ctx, 1, []byte(key)); !errors.Is(err, ErrNotFound) {
			t.Fatalf("%q has the value %.80q, %v; want none", key, got, err)
		}
	}
}

// id is a column and a key.
type id struct {
	col byte
	key string
}

// content is what a store holds.
type content map[id]string

// contentOf reads a store by scanning, and again key by key.
func contentOf(t tester, db *DB) content {
	t.Helper()
	got, err := readContent(db)
	must(t, err)
	for k, v := range got {
		if again, err := db.Get(ctx, k.col, []byte(k.key)); err != nil || string(again) != v {
			t.Fatalf("scanned %q = %.80q, got %.80q, %v", k, v, again, err)
		}
	}
	return got
}

// readContent reads a store by scanning.
func readContent(db *DB) (content, error) {
	got := content{}
	for col := range 256 {
		for e, err := range db.Scan(ctx, byte(col), Range{}) {
			if err != nil {
				return got, err
			}
			got[id{byte(col), string(e.Key)}] = string(e.Value)
		}
	}
	return got, nil
}

func (c content) equal(other content) bool { return maps.Equal(c, other) }

// String returns the content in order, for a message.
func (c content) String() string {
	var lines []string
	for k, v := range c {
		lines = append(lines, fmt.Sprintf("%d %.40q = %.40q", k.col, k.key, v))
	}
	slices.Sort(lines)
	if len(lines) > 12 {
		lines = append(lines[:12], "…")
	}
	return fmt.Sprintf("%d keys: %s", len(c), strings.Join(lines, ", "))
}

func wantContent(t tester, db *DB, want content) {
	t.Helper()
	if got := contentOf(t, db); !got.equal(want) {
		t.Fatalf("the store holds %v\nwant %v", got, want)
	}
}

// wantLegal opens the store of a file system and wants it to hold one of some
// contents, to the point that every key is found, and without faults.
func wantLegal(t tester, fsys vfs.FS, opts Options, legal ...content) {
	t.Helper()
	db, err := Open(memPath, opts.On(fsys))
	must(t, err)
	defer db.Close()
	if got := contentOf(t, db); !slices.ContainsFunc(legal, got.equal) {
		t.Fatalf("the store holds %v\nwant one of %v", got, legal)
	}
	wantSoundIndex(t, db)
}

// keys returns content of column 1, of "key=value" words.
func keys(words ...string) content {
	c := content{}
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		c[id{1, k}] = v
	}
	return c
}

func stats(t tester, db *DB) Stats {
	t.Helper()
	st, err := db.Stats(ctx)
	must(t, err)
	return st
}

func mustCheck(t tester, db *DB) []Fault {
	t.Helper()
	faults, err := db.Check(ctx)
	must(t, err)
	return faults
}

// wantSound wants a store without faults, whose numbers are right.
func wantSound(t tester, db *DB) {
	t.Helper()
	if faults := mustCheck(t, db); len(faults) > 0 {
		t.Fatalf("faults: %v", faults)
	}
	wantSoundIndex(t, db)
}

// wantSoundIndex wants every key of the index to lead to its record, and their sizes
// to be what the store counts as live.
func wantSoundIndex(t tester, db *DB) {
	t.Helper()
	s, err := db.acquire(ctx)
	must(t, err)
	defer s.log.release()
	var live int64
	for c, ok := first(s.view); ok; ok = c.Next() {
		key := c.Key()
		r, err := s.log.record(key[0], key[1:], location(c.Value()))
		must(t, err)
		live += int64(r.size)
	}
	if live != s.live {
		t.Fatalf("%d bytes are live, and the store counts %d", live, s.live)
	}
}

// in runs a transaction.
func in(t tester, db *DB, fn func(tx *Tx)) {
	t.Helper()
	must(t, db.Update(ctx, func(tx *Tx) error { fn(tx); return nil }))
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(path, data, 0o600))
}

// inMemory returns a file system that holds one store file.
func inMemory(t tester, data []byte) *memfs.FS {
	t.Helper()
	m := memfs.New()
	f, err := m.OpenFile(memPath, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	_, err = f.WriteAt(data, 0)
	must(t, errors.Join(err, f.Sync(), f.Close(), m.SyncDir(filepath.Dir(memPath))))
	return m
}

// bytesIn returns the store file of a file system in memory.
func bytesIn(t tester, m vfs.FS) []byte {
	t.Helper()
	f, err := m.OpenFile(memPath, os.O_RDONLY, 0)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	b := make([]byte, info.Size())
	if len(b) > 0 {
		_, err = f.ReadAt(b, 0)
		must(t, err)
	}
	return b
}

// built returns the bytes of a store file that a function wrote to, closed.
func built(t testing.TB, opts Options, write func(db *DB)) []byte {
	t.Helper()
	m := memfs.New()
	db := mustOpen(t, memPath, opts.On(m))
	write(db)
	mustClose(t, db)
	return bytesIn(t, m)
}

// killed returns the bytes of a store file that a function wrote to, as a killed
// process leaves them.
func killed(t testing.TB, opts Options, write func(db *DB)) []byte {
	t.Helper()
	m := memfs.New()
	db := mustOpen(t, memPath, opts.On(m))
	write(db)
	return bytesIn(t, m)
}

// openBytes opens a store file given as bytes, in memory.
func openBytes(t testing.TB, data []byte, opts Options) (*DB, *memfs.FS, error) {
	t.Helper()
	m := inMemory(t, data)
	db, err := Open(memPath, opts.On(m))
	if err == nil {
		t.Cleanup(func() { db.Close() })
	}
	return db, m, err
}

// plainRecord and sealedRecord are the bytes of one record, made without the code
// under test but for the checksum.
func plainRecord(op, col byte, key, value string) []byte {
	b := []byte{op, col, byte(len(key)), byte(len(key) >> 8), byte(len(key) >> 16), byte(len(key) >> 24)}
	b = append(b, key...)
	b = append(b, byte(len(value)), byte(len(value)>>8), byte(len(value)>>16), byte(len(value)>>24))
	return append(b, value...)
}

func sealedRecord(offset int, op, col byte, key, value string) []byte {
	b := plainRecord(op, col, key, value)
	sum := recordSum(b, int64(offset))
	return append(b, byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24))
}

// recordOf is either.
func recordOf(sealed bool, offset int, op, col byte, key, value string) []byte {
	if sealed {
		return sealedRecord(offset, op, col, key, value)
	}
	return plainRecord(op, col, key, value)
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	must(t, err)
	return b
}

// snapshotValue returns the value of the record of a snapshot.
func snapshotValue(s *snapshot) ([]byte, error) {
	b, err := encodeSnapshotRecord(s)
	if err != nil {
		return nil, err
	}
	return b[recordFrame:], nil
}

// concat joins byte slices.
func concat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// files returns the names in a directory.
func files(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// setBytes replaces the bytes of the store file in a file system, in place.
func setBytes(t tester, m vfs.FS, data []byte) {
	t.Helper()
	f, err := m.OpenFile(memPath, os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt(data, 0)
	must(t, errors.Join(err, f.Truncate(int64(len(data))), f.Sync(), f.Close()))
}

// siblings returns which files, of those that a store may have beside it, a file
// system in memory has.
func siblings(t tester, m vfs.FS) []string {
	t.Helper()
	entries, err := m.ReadDir(filepath.Dir(memPath))
	must(t, err)
	var names []string
	for _, e := range entries {
		if name := e.Name(); name != filepath.Base(memPath) && name != filepath.Base(memPath)+lockSuffix {
			names = append(names, name)
		}
	}
	return names
}
