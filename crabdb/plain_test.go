package crabdb

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// In a plain file the bytes of a snapshot and those of records can be alike. The
// tests of this file are the places where they are.

// The delete of the empty key of column 0 begins like the snapshot of an index that
// holds this key alone, at an offset that is a multiple of 256. At the end of the
// file it was taken for a snapshot cut short, and the key was back.
func TestPlainDeleteThatLooksLikeACutSnapshot(t *testing.T) {
	data := built(t, quietPlain(), func(db *DB) {
		filler := 256 - headerSize - db.size(1, 0) - db.size(1, 0)
		putIn(t, db, 0, "f", strings.Repeat("x", filler))
		if _, err := db.Delete(ctx, 0, []byte("f")); err != nil {
			t.Fatal(err)
		}
		if at := db.log.end.Load(); at != 256 {
			t.Fatalf("the key is put at %d", at)
		}
		putIn(t, db, 0, "", "v")
		if _, err := db.Delete(ctx, 0, nil); err != nil {
			t.Fatal(err)
		}
	})
	db, _, err := openBytes(t, data, quietPlain())
	must(t, err)
	wantContent(t, db, content{})
	if st := stats(t, db); st.Recovery.Torn != 0 {
		t.Fatalf("recovery: %+v", st.Recovery)
	}
}

// The snapshot of an empty index is four zero bytes, and the put of an empty key in
// column 0 begins with as many. A replay read the one for the other, and what
// followed for garbage.
func TestPlainEmptySnapshotIsNoRecord(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(db *DB)
		want  content
	}{
		{"snapshot", func(db *DB) {
			must(t, db.Checkpoint(ctx))
			putIn(t, db, 0, "abc", "v")
		}, content{{0, "abc"}: "v"}},
		{"snapshot of an emptied store", func(db *DB) {
			put(t, db, "a", "1")
			del(t, db, "a")
			must(t, db.Checkpoint(ctx))
			putIn(t, db, 0, "abc", "v")
		}, content{{0, "abc"}: "v"}},
		{"record", func(db *DB) {
			putIn(t, db, 0, "", "abc")
			putIn(t, db, 0, "d", "e")
		}, content{{0, ""}: "abc", {0, "d"}: "e"}},
		{"record at the end", func(db *DB) { putIn(t, db, 0, "", "abc") }, content{{0, ""}: "abc"}},
		{"both", func(db *DB) {
			must(t, db.Checkpoint(ctx))
			putIn(t, db, 0, "", "abc")
			putIn(t, db, 0, "d", "")
		}, content{{0, ""}: "abc", {0, "d"}: ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := built(t, quietPlain(), func(db *DB) {
				c.write(db)
				must(t, db.Checkpoint(ctx))
			})
			h, err := decodeHeader("", data)
			must(t, err)
			data[h.indexAt]++ // the count: this snapshot is damaged, and the log is replayed
			db, _, err := openBytes(t, data, quietPlain())
			must(t, err)
			wantContent(t, db, c.want)
		})
	}
}

// An emptied store with a checkpoint stays as it is, however often it is opened.
func TestPlainEmptiedStoreIsNotWrittenByOpening(t *testing.T) {
	data := built(t, quietPlain(), func(db *DB) {
		put(t, db, "a", "1")
		del(t, db, "a")
		must(t, db.Checkpoint(ctx))
	})
	db, m, err := openBytes(t, data, quietPlain())
	must(t, err)
	wantContent(t, db, content{})
	if st := stats(t, db); st.Recovery.Distrust != "" || st.Recovery.Torn != 0 {
		t.Fatalf("recovery: %+v", st.Recovery)
	}
	mustClose(t, db)
	if !bytes.Equal(bytesIn(t, m), data) {
		t.Fatal("opening and closing changed the file")
	}
}

// Ten zero bytes end the log, so the record that they would be cannot be put.
func TestPlainEndMarkCannotBePut(t *testing.T) {
	db := mustOpen(t, newPath(t), quietPlain())
	wantError(t, db.Put(ctx, 0, nil, nil), ErrEndMark)
	wantError(t, db.Update(ctx, func(tx *Tx) error { return tx.Put(0, nil, []byte{}) }), ErrEndMark)
	putIn(t, db, 0, "", "v")
	putIn(t, db, 1, "", "")
	wantContent(t, db, content{{0, ""}: "v", {1, ""}: ""})

	sealed := mustOpen(t, newPath(t), quiet())
	putIn(t, sealed, 0, "", "")
	wantContent(t, sealed, content{{0, ""}: ""})
}

// An empty snapshot over a log that cannot be read is believed, and the log is written
// anew: what is appended to it might make it readable, in another sense.
func TestPlainEmptySnapshotOverAnUnreadableLog(t *testing.T) {
	record := plainRecord(opPut, 0, "", "0000000000000000")
	record[6] = 40 // the value's length: it ends behind the file
	data := concat(header{indexAt: headerSize + int64(len(record)), indexLen: 4}.encode(), record, make([]byte, 4))
	db, m, err := openBytes(t, data, quietPlain())
	must(t, err)
	want := content{}
	for i := range 5 {
		wantContent(t, db, want)
		put(t, db, fmt.Sprint("k", i), "a value")
		want[id{1, fmt.Sprint("k", i)}] = "a value"
		m = m.Kill()
		db = mustOpen(t, memPath, quietPlain().On(m))
	}
}

// The remains of an empty snapshot of which one bit is changed are, with the records
// behind them, a chain of other records by luck.
func TestPlainRemainsThatAreRecordsByLuck(t *testing.T) {
	for _, records := range [][]byte{
		concat(plainRecord(opPut, 0, "k", "")),
		concat(plainRecord(opPut, 0, "k", ""), plainRecord(opPut, 0, "k", "")),
	} {
		data := concat(header{indexAt: headerSize, indexLen: 4}.encode(), []byte{0, 0x40, 0, 0}, records)
		db, _, err := openBytes(t, data, quietPlain())
		must(t, err)
		wantContent(t, db, content{{0, "k"}: ""})
		wantSound(t, db)
	}
}
