package crabdb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// items lists what Records yields: kind, offset and length, column and key, the
// length of the value, and the state of the checksum.
func items(t *testing.T, path string) []string {
	t.Helper()
	var got []string
	end := int64(0)
	for i, err := range Records(context.Background(), path) {
		if err != nil {
			t.Fatal(err)
		}
		if i.Batch == 0 {
			if i.Offset != end {
				t.Errorf("a %s at %d, and the item before ends at %d", i.Kind, i.Offset, end)
			}
			end = i.Offset + i.Length
		}
		got = append(got, fmt.Sprintf("%s@%d+%d %d:%s %d %s", i.Kind, i.Offset, i.Length, i.Column, i.Key, i.Value, i.Sum))
	}
	if size := int64(len(readFile(t, path))); end != size {
		t.Errorf("the items end at %d, the file at %d", end, size)
	}
	return got
}

func recordsFile(t *testing.T, opts Options) string {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "s")
	db := mustOpen(t, path, opts)
	if err := db.Put(ctx, 1, []byte("a"), []byte("xyz")); err != nil {
		t.Fatal(err)
	}
	err := db.Update(ctx, func(tx *Tx) error {
		if err := tx.Put(2, []byte("bb"), nil); err != nil {
			return err
		}
		_, err := tx.Delete(1, []byte("a"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	if err := db.Put(ctx, 0, []byte("c"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	return path
}

// The offsets and lengths are those of FORMAT.md: a record is 10 bytes and its key
// and value, and 4 more in a sealed file; a plain snapshot of one key of two bytes
// is 4 + 1+4+2+8.
func TestRecordsOfAPlainFile(t *testing.T) {
	got := items(t, recordsFile(t, Options{Plain: true}))
	want := []string{
		"header@0+32 0: 0 none", "put@32+14 1:a 3 none", "put@46+12 2:bb 0 none", "delete@58+11 1:a 0 none",
		"snapshot@69+19 0: 0 none", "put@88+12 0:c 1 none",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRecordsOfASealedFile(t *testing.T) {
	path := recordsFile(t, Options{CheckpointEvery: -1})
	got := items(t, path)
	// put 14+4; batch 10+4 frame and key, parts 12+4 and 11+4, checksum 4
	want := []string{"header@0+32 0: 0 good", "put@32+18 1:a 3 good", "batch@50+49 0: 31 good", "put@64+16 2:bb 0 good", "delete@80+15 1:a 0 good"}
	if len(got) < 7 || strings.Join(got[:5], "\n") != strings.Join(want, "\n") || !strings.HasPrefix(got[5], "snapshot@99+") || !strings.HasPrefix(got[6], "put@") {
		t.Fatalf("got\n%s\nwant\n%s\nand a snapshot and a put", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// With the batch damaged its parts are told where they are whole, and the rest as
	// damage; with the header destroyed the records still are.
	data := readFile(t, path)
	data[70] ^= 1 // in the first part
	copy(data, "not a store")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got = items(t, path)
	want = []string{"damage@0+32 0: 0 none", "put@32+18 1:a 3 good", "damage@50+30 0: 0 bad", "delete@80+15 1:a 0 good", "damage@95+4 0: 0 bad"}
	if strings.Join(got[:5], "\n") != strings.Join(want, "\n") {
		t.Errorf("damaged: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRecordsStopsEarly(t *testing.T) {
	n := 0
	for range Records(context.Background(), recordsFile(t, Options{})) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d items", n)
	}
	for _, err := range Records(context.Background(), filepath.Join(t.TempDir(), "none")) {
		if err == nil {
			t.Error("an item of a file that is not there")
		}
	}
}
