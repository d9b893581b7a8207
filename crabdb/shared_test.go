package crabdb

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sharedDir holds store files of another implementation; its README says what is
// what. They are not part of the repository.
const sharedDir = "../../shared/testdata/crmem"

func sharedFiles(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(sharedDir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no %s in %s: the files of the other implementation are not here", pattern, sharedDir)
	}
	return files
}

// dump returns the live content of a store, a line a key: column, key and value.
func dump(t testing.TB, db *DB) string {
	t.Helper()
	var b strings.Builder
	for col := range 256 {
		for e, err := range db.Scan(context.Background(), byte(col), Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%d %x %x\n", col, e.Key, e.Value)
		}
	}
	return b.String()
}

func copyFile(t testing.TB, from string) string {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(from))
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// Every file opens and holds what its dump says: read-only, for writing, and again
// after that.
func TestSharedFilesHoldTheirDump(t *testing.T) {
	files := append(sharedFiles(t, "*.crmem"), sharedFiles(t, "crash/*.crmem")...)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want := string(readFile(t, strings.TrimSuffix(file, ".crmem")+".dump"))
			path := copyFile(t, file)
			for _, opts := range []Options{{ReadOnly: true}, {}, {}, {ReadOnly: true}} {
				db := mustOpen(t, path, opts)
				if got := dump(t, db); got != want {
					t.Errorf("%+v: got\n%.400s\nwant\n%.400s", opts, got, want)
				}
				if faults, err := db.Check(context.Background()); err != nil || (len(faults) > 0 && !opts.ReadOnly) {
					t.Errorf("%+v: check: %v, %v", opts, faults, err)
				}
				mustClose(t, db)
			}
			db := mustOpen(t, path, Options{})
			if err := db.Put(context.Background(), 3, []byte("after"), []byte("1")); err != nil {
				t.Fatal(err)
			}
			want = dump(t, db)
			mustClose(t, db)
			db = mustOpen(t, path, Options{})
			if got := dump(t, db); got != want || !strings.Contains(got, "3 6166746572 31\n") {
				t.Errorf("after a put and a reopen: got\n%.400s\nwant\n%.400s", got, want)
			}
			mustClose(t, db)
		})
	}
}

// Replaying the operations that made a file makes the same bytes.
func TestSharedOperationsMakeTheSameBytes(t *testing.T) {
	for _, ops := range sharedFiles(t, "*.ops") {
		t.Run(filepath.Base(ops), func(t *testing.T) {
			want := readFile(t, strings.TrimSuffix(ops, ".ops")+".crmem")
			path := filepath.Join(t.TempDir(), "store.crmem")
			replayOps(t, path, ops)
			if got := readFile(t, path); !bytes.Equal(got, want) {
				t.Fatalf("%d bytes, want %d; first difference at %d", len(got), len(want), firstDifference(got, want))
			}
		})
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func replayOps(t *testing.T, path, ops string) {
	t.Helper()
	f, err := os.Open(ops)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	db := mustOpen(t, path, Options{Plain: true, CompactRatio: 0.5, CompactMin: -1, CompactReplaced: true, CompactInline: true})
	closed := false
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		part := strings.Split(lines.Text(), " ")
		switch part[0] {
		case "P":
			if err := db.Put(context.Background(), column(t, part[1]), unhex(t, part[2]), unhex(t, part[3])); err != nil {
				t.Fatal(err)
			}
		case "D":
			existed, err := db.Delete(context.Background(), column(t, part[1]), unhex(t, part[2]))
			if err != nil || existed != (part[3] == "1") {
				t.Fatalf("%s: %v, %v", lines.Text(), existed, err)
			}
		case "C":
			if err := db.Checkpoint(context.Background()); err != nil {
				t.Fatal(err)
			}
		case "X":
			if err := db.Compact(context.Background()); err != nil {
				t.Fatal(err)
			}
		case "T":
			mustClose(t, db)
			closed = true
			n, err := strconv.ParseInt(part[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, n); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("unknown operation %q", lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if !closed {
		mustClose(t, db)
	}
}

func column(t *testing.T, s string) byte {
	t.Helper()
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil {
		t.Fatal(err)
	}
	return byte(n)
}
