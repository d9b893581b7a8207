package sqlitekv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

var ctx = context.Background()

// fixture makes a database that says what it is, and runs statements on it.
func fixture(t testing.TB, path string, application, version int, texts ...string) *conn {
	t.Helper()
	c, err := dial(file{path}, url.Values{"mode": {"rwc"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.close() })
	label := fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d; PRAGMA journal_mode = WAL`, application, version)
	for _, text := range append([]string{label}, texts...) {
		if err := c.run(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = string(data)
	}
	return found
}

// copyFiles copies what a killed process would leave, without the index of the log.
func copyFiles(t testing.TB, from, to string) {
	t.Helper()
	for name, data := range files(t, from) {
		if !strings.HasSuffix(name, "-shm") {
			if err := os.WriteFile(filepath.Join(to, name), []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// refused wants the store.db of a directory to be refused, and no file to have changed
// or come but those named.
func refused(t testing.TB, dir string, want error, says string, mayCome ...string) {
	t.Helper()
	for _, readOnly := range []bool{true, false} {
		before := files(t, dir)
		s, err := Open(ctx, filepath.Join(dir, "store.db"), Options{ReadOnly: readOnly})
		if !errors.Is(err, want) || s != nil || !strings.Contains(err.Error(), says) {
			t.Errorf("read-only %v: %v, %v; want %v with %q", readOnly, s, err, want, says)
		}
		after := files(t, dir)
		for _, name := range mayCome {
			delete(after, name)
			delete(before, name)
		}
		if !maps.Equal(before, after) {
			t.Errorf("read-only %v: the files were changed", readOnly)
		}
	}
}

func TestNewerVersionIsRefusedUntouched(t *testing.T) {
	dir, killed := t.TempDir(), t.TempDir()
	c := fixture(t, filepath.Join(dir, "store.db"), applicationID, version, create, `PRAGMA wal_checkpoint(TRUNCATE)`,
		fmt.Sprintf(`PRAGMA user_version = %d`, version+1))
	copyFiles(t, dir, killed) // the new version is in the log alone
	refused(t, killed, ErrVersion, "version 3, this program knows up to 2", "store.db-shm")
	c.close()
	refused(t, dir, ErrVersion, "version 3, this program knows up to 2")
}

func TestForeignDatabaseIsRefusedUntouched(t *testing.T) {
	for application, version := range map[int]int{0: 0, 1: 2, applicationID: 0} {
		dir, killed := t.TempDir(), t.TempDir()
		c := fixture(t, filepath.Join(dir, "store.db"), application, version, table2)
		copyFiles(t, dir, killed)
		refused(t, killed, ErrNotStore, "another program")
		c.close()
		refused(t, dir, ErrNotStore, "another program")
	}
}

// old makes a store of version 1 and returns what it holds, by column and key.
func old(t testing.TB, path string) map[string]string {
	t.Helper()
	c := fixture(t, path, applicationID, 1, table1)
	want := map[string]string{}
	for _, col := range append(kv.Columns(), 255) {
		for i, key := range []string{"\x00", "a", "a\x00b", "B", "é", "\xff", "\xff\xff", strings.Repeat("k", kv.MaxKeySize)} {
			value := strings.Repeat(key, i*i*10)
			if err := c.put(col, []byte(key), []byte(value)); err != nil {
				t.Fatal(err)
			}
			want[fmt.Sprint(uint8(col), key)] = value
		}
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	return want
}

func wantAll(t testing.TB, s *Store, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, col := range append(kv.Columns(), 255) {
		last := ""
		for e, err := range s.Scan(ctx, col, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if string(e.Key) <= last {
				t.Errorf("%q follows %q", e.Key, last)
			}
			last = string(e.Key)
			got[fmt.Sprint(uint8(col), last)] = string(e.Value)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("there are %d entries, not the %d that were written", len(got), len(want))
	}
}

func TestOlderVersionIsBroughtUpToDate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	want := old(t, path)
	before := files(t, dir)
	s, err := Open(ctx, path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, s, want)
	s.Close()
	if !maps.Equal(before, files(t, dir)) {
		t.Error("reading it changed it")
	}
	var group sync.WaitGroup
	for range 4 { // of which one does it
		group.Go(func() {
			s, err := Open(ctx, path, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			wantAll(t, s, want)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	if got, want := schema(t, path), schema(t, fresh); got != want {
		t.Errorf("the schema is %s; a new store has %s", got, want)
	}
}

// schema returns the version and the schema of the store at path, which it creates.
func schema(t testing.TB, path string) string {
	t.Helper()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var row []any
	err = s.read(ctx, func(c *conn) error {
		values, err := c.ask(ctx, `SELECT user_version, application_id, (SELECT group_concat(type || name || sql) FROM
			(SELECT type, name, sql FROM sqlite_schema ORDER BY name)) FROM pragma_user_version, pragma_application_id`)
		for _, v := range values {
			row = append(row, v)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(row)
}

// A migration that ends in the middle leaves the store as it was.
func TestMigrationIsAllOrNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	want := old(t, path)
	c := fixture(t, path, applicationID, 1, `CREATE TABLE entries_by_key (x)`) // in the way of the index, the last step
	if s, err := Open(ctx, path, Options{}); err == nil {
		s.Close()
		t.Fatal("no error")
	}
	if err := c.run(ctx, `DROP TABLE entries_by_key`); err != nil {
		t.Fatal(err)
	}
	if l, err := c.label(ctx); err != nil || l != (label{applicationID, 1, 1}) {
		t.Fatalf("%+v, %v", l, err)
	}
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantAll(t, s, want)
}

// A process was killed while it created a store, before the commit: what is in the file
// is undone by the journal beside it, and the store is created anew.
func TestCreationThatWasCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	c := fixture(t, path, applicationID, version, create, `INSERT INTO entries VALUES (2, x'6B', x'76')`, `PRAGMA journal_mode = DELETE`)
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	journal := make([]byte, 512)
	copy(journal, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7") // and no records: the file had no pages
	binary.BigEndian.PutUint32(journal[20:], 512)     // the size of a sector
	binary.BigEndian.PutUint32(journal[24:], 4096)    // and of a page
	if err := os.WriteFile(path+"-journal", journal, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantAll(t, s, map[string]string{})
	if err := s.Put(ctx, kv.Memory, []byte("k"), nil); err != nil {
		t.Error(err)
	}
}
