package crabdb

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// A file that is cut while it is open is a fault with its place; reading what is gone
// is an error, and what is left is read.
func TestCheckOfAFileCutWhileOpen(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		path := newPath(t)
		db := mustOpen(t, path, opts)
		put(t, db, "a", "1")
		cut := stats(t, db).File
		put(t, db, "b", "2")
		end := stats(t, db).File
		must(t, os.Truncate(path, cut))
		want(t, db, "a", "1")
		_, err := db.Get(ctx, 1, []byte("b"))
		wantError(t, err, ErrCorrupt)
		wantText(t, err, fmt.Sprint("offset ", cut), "ends")
		faults := mustCheck(t, db)
		if len(faults) == 0 || faults[0].Offset != cut || faults[0].Length != end-cut {
			t.Fatalf("faults: %v", faults)
		}
		wantError(t, db.Compact(ctx), ErrCorrupt)
	})
}

// Check finds an index that is not what the records say.
func TestCheckComparesTheIndexWithTheRecords(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		db := mustOpen(t, newPath(t), opts)
		put(t, db, "a", "1")
		put(t, db, "b", "old")
		put(t, db, "b", "new")
		put(t, db, "c", "3")
		wantSound(t, db)
		old := locate(headerSize+int64(db.size(1, 1)), db.size(1, 3))
		for name, change := range map[string]func(tree *packtree.Tree){
			"the records have the key \"c\"":   func(tree *packtree.Tree) { tree.Delete([]byte("\x01c")) },
			"the index has the key \"d\"":      func(tree *packtree.Tree) { tree.Set([]byte("\x01d"), uint64(old)) },
			"another record for the key \"b\"": func(tree *packtree.Tree) { tree.Set([]byte("\x01b"), uint64(old)) },
		} {
			good := db.latest.Load()
			tree := good.view.Tree()
			change(tree)
			bad := *good
			bad.view = tree.View()
			db.latest.Store(&bad)
			faults := mustCheck(t, db)
			db.latest.Store(good)
			if len(faults) != 1 || faults[0].Column != 1 || !strings.Contains(faults[0].String(), name) {
				t.Errorf("%s: %v", name, faults)
			}
		}
	})
}

// A checkpoint that is made between the moment that Check looks at and its reading of
// the header is no fault.
func TestCheckBesideACheckpoint(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		var db *DB
		armed := false
		hook := func(c faultfs.Call) error {
			if armed && c.Op == faultfs.Read && c.Offset == 0 {
				armed = false
				put(t, db, "c", "3")
				must(t, db.Checkpoint(ctx))
			}
			return nil
		}
		db = mustOpen(t, memPath, opts.On(faultfs.FS{FS: memfs.New(), Hook: hook}))
		put(t, db, "a", "1")
		must(t, db.Checkpoint(ctx))
		put(t, db, "b", "2")
		armed = true
		wantSound(t, db)
		if armed {
			t.Fatal("the header was not read")
		}
	})
}

// Salvage of a file with damage in many places yields every whole record, and says
// where the rest was.
func TestSalvageOfManyDamages(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		r := startRecorder(t, opts)
		for i := range 300 {
			r.put(1, fmt.Sprintf("key %03d", i), strings.Repeat(fmt.Sprint("value ", i, " "), 5))
		}
		data := r.bytes()
		want := content{}
		for k, v := range r.now {
			want[k] = v
		}
		for i := 20; i < 300; i += 40 { // the length of the key
			data[r.states[i].end+3] ^= 0xFF
			delete(want, id{1, fmt.Sprintf("key %03d", i)})
		}
		db, m, err := openBytes(t, data, salvage())
		must(t, err)
		wantContent(t, db, want)
		lost := stats(t, db).Recovery.Lost
		if len(lost) != 7 {
			t.Fatalf("%d stretches were lost: %v", len(lost), lost)
		}
		for i, span := range lost {
			if from, to := r.states[20+40*i].end, r.states[21+40*i].end; span.Offset != from || span.Offset+span.Length != to || span.Reason == "" {
				t.Errorf("lost %+v, want %d to %d", span, from, to)
			}
		}
		wantBytes(t, m, data)

		// What was salvaged can be had as a file of its own.
		var b bytes.Buffer
		must(t, db.Backup(ctx, &b))
		copied, _, err := openBytes(t, b.Bytes(), quiet())
		must(t, err)
		wantContent(t, copied, want)
		wantSound(t, copied)
	})
}

// Salvage of a file whose header is gone finds out of which format it is.
func TestSalvageWithoutAHeader(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		r := startRecorder(t, opts)
		for i := range 10 {
			r.put(1, fmt.Sprint("k", i), fmt.Sprint("v", i))
		}
		data := r.bytes()
		for _, header := range [][]byte{make([]byte, headerSize), bytes.Repeat([]byte{0xFF}, headerSize)} {
			db, m, err := openBytes(t, concat(header, data[headerSize:]), salvage())
			must(t, err)
			if db.Sealed() == opts.Plain {
				t.Error("it is taken for the other format")
			}
			wantContent(t, db, r.now)
			wantReadOnlyStore(t, db)
			wantBytes(t, m, concat(header, data[headerSize:]))
		}
	})
}

func wantReadOnlyStore(t *testing.T, db *DB) {
	t.Helper()
	wantError(t, db.Put(ctx, 1, []byte("k"), nil), ErrReadOnly)
}
