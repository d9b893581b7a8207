package crabdb

import (
	"errors"
	"fmt"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
)

// A scan of a salvaged store yields all that can be read. With the index from a
// snapshot, which still had the damaged keys, it had ended at the first of them.
func TestSalvageScansPastDamageBelowASnapshot(t *testing.T) {
	want := content{}
	data := built(t, quiet(), func(db *DB) {
		put(t, db, "k5", "an older value, which must not come back")
		for i := range 10 {
			put(t, db, fmt.Sprint("k", i), fmt.Sprint("value ", i))
			want[id{1, fmt.Sprint("k", i)}] = fmt.Sprint("value ", i)
		}
		must(t, db.Checkpoint(ctx))
		put(t, db, "tail", "1")
		want[id{1, "tail"}] = "1"
	})
	db, _, err := openBytes(t, data, readOnly())
	must(t, err)
	log, at, _, err := db.lookUp(ctx, 1, []byte("k5"))
	must(t, errors.Join(err, log.release()))
	data[at.offset()+20] ^= 1
	delete(want, id{1, "k5"})

	db, _, err = openBytes(t, data, readOnly())
	must(t, err)
	_, err = db.Get(ctx, 1, []byte("k5"))
	wantError(t, err, ErrCorrupt)
	wantText(t, err, fmt.Sprint("offset ", at.offset()))

	db, _, err = openBytes(t, data, salvage())
	must(t, err)
	wantContent(t, db, want)
	wantAbsent(t, db, "k5")
	lost := stats(t, db).Recovery.Lost
	if len(lost) != 1 || lost[0].Offset != at.offset() {
		t.Fatalf("lost: %+v", lost)
	}
	wantText(t, fmt.Errorf("%s", lost[0].Reason), `"k5"`, "column 1")
	wantSoundIndex(t, db)
}

// snapshotWith returns a sealed file of one record and a snapshot, whole by its
// checksum, that has the given entries.
func snapshotWith(t *testing.T, entries map[string]location) []byte {
	data := built(t, quiet(), func(db *DB) { put(t, db, "a", "1") })
	h, err := decodeHeader("", data)
	must(t, err)
	b := packtree.New()
	for k, at := range entries {
		b.Set([]byte(k), uint64(at))
	}
	value, err := snapshotValue(&snapshot{view: b.View(), live: 16, end: h.indexAt})
	must(t, err)
	data = layout{true}.appendRecord(data[:h.indexAt], h.indexAt, opSnapshot, 0, nil, value)
	return named(data, true, h.indexAt, int64(len(data))-h.indexAt)
}

// A snapshot that is whole by its checksum and has what cannot be, made by another
// program or on purpose, costs a replay. An offset behind the end made a
// transaction panic, and a key without a column a compaction.
func TestSnapshotWithImpossibleEntries(t *testing.T) {
	const records = headerSize + recordFrame + 1 + 1 + sumSize
	for name, entries := range map[string]map[string]location{
		"offset behind the end":     {"\x01a": locate(1<<30, 20)},
		"offset in the header":      {"\x01a": locate(31, 16)},
		"end behind what it covers": {"\x01a": locate(32, records-32+1)},
		"long and behind":           {"\x01a": locate(32, 1<<20)},
		"smaller than any record":   {"\x01a": locate(32, 3)},
		"size 0":                    {"\x01a": 0},
		"no column":                 {"": locate(32, 16)},
		"a key too long":            {string(make([]byte, MaxKey+2)): locate(32, 16)},
	} {
		t.Run(name, func(t *testing.T) {
			data := snapshotWith(t, entries)
			for _, opts := range []Options{readOnly(), salvage(), quiet()} {
				db, _, err := openBytes(t, data, opts)
				must(t, err)
				wantContent(t, db, keys("a=1"))
				if st := stats(t, db); st.Recovery.Distrust == "" || st.Recovery.Snapshot {
					t.Fatalf("recovery: %+v", st.Recovery)
				}
				if opts.ReadOnly || opts.Salvage {
					continue
				}
				in(t, db, func(tx *Tx) {
					if got, err := tx.Get(1, []byte("a")); err != nil || string(got) != "1" {
						t.Fatalf("%q, %v", got, err)
					}
				})
				must(t, db.Compact(ctx))
			}
		})
	}
	db, _, err := openBytes(t, snapshotWith(t, map[string]location{"\x01a": locate(32, 16)}), quiet())
	must(t, err)
	if st := stats(t, db); st.Recovery.Distrust != "" || !st.Recovery.Snapshot {
		t.Fatalf("the test's own snapshot is not believed: %+v", st.Recovery)
	}
}
