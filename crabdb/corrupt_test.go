package crabdb

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// thousand writes 1000 records and returns the file, and where record 10 is.
func thousand(t *testing.T, opts Options, checkpoint bool) (data []byte, want content, at, size int) {
	t.Helper()
	r := startRecorder(t, opts)
	for i := range 1000 {
		r.put(1, fmt.Sprintf("key %04d", i), fmt.Sprintf("value %d", i))
	}
	if checkpoint {
		r.checkpoint()
	}
	return r.bytes(), r.now, int(r.states[10].end), int(r.states[11].end - r.states[10].end)
}

// spoil returns data with the byte at an offset changed by one bit.
func spoil(data []byte, at int) []byte {
	bad := bytes.Clone(data)
	bad[at] ^= 1
	return bad
}

// Damage below the watermark is corruption. Opening says where, and the file stays
// as it is: nothing behind the damage is thrown away as if a crash had torn it. The
// bytes are those of the record's length fields and, in a sealed file, all others.
func TestA09_DamageBelowTheWatermark(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		data, want, at, size := thousand(t, opts, true)
		h, err := decodeHeader("", data)
		must(t, err)
		places := []int{2, 3, 4, 5, 14, 15, 16, 17} // the two lengths
		if !opts.Plain {
			places = places[:0]
			for i := range size {
				places = append(places, i)
			}
		}
		for _, p := range places {
			bad := spoil(data, at+p)
			if !opts.Plain {
				bad = spoil(bad, int(h.indexAt)+30) // or the log would not be read to open it
			}
			for _, o := range []Options{opts, readOnly()} {
				_, m, err := openBytes(t, bad, o)
				wantError(t, err, ErrCorrupt)
				wantText(t, err, "backup", "Salvage")
				if !opts.Plain { // without a checksum the fault shows where the next record should be
					wantText(t, err, fmt.Sprintf("offset %d", at))
				}
				wantBytes(t, m, bad)
				if names := siblings(t, m); len(names) > 0 {
					t.Fatalf("files beside the store: %q", names)
				}
			}
			db, _, err := openBytes(t, bad, salvage())
			must(t, err)
			got := contentOf(t, db)
			delete(got, id{1, "key 0010"}) // in a plain file it may be there, with a value too long
			delete(want, id{1, "key 0010"})
			for k, v := range got {
				if v != want[k] {
					t.Fatalf("byte %d: salvage has %q = %q", p, k.key, v)
				}
			}
			// A damaged length of a plain record may take the next few for its value.
			if least := map[bool]int{true: 980, false: 999}[opts.Plain]; len(got) < least {
				t.Fatalf("byte %d: salvage has %d keys", p, len(got))
			}
		}
	})
}

// With the index from a snapshot a sealed file opens, and the damage is found by who
// reads the record, by Check, and by a compaction, which changes nothing then.
func TestA09_DamageUnderAGoodSnapshot(t *testing.T) {
	data, _, at, size := thousand(t, quiet(), true)
	bad := spoil(data, at+20)
	db, m, err := openBytes(t, bad, quiet())
	must(t, err)
	_, err = db.Get(ctx, 1, []byte("key 0010"))
	wantError(t, err, ErrCorrupt)
	wantText(t, err, fmt.Sprintf("offset %d", at))
	want(t, db, "key 0011", "value 11")
	if existed, err := db.Has(ctx, 1, []byte("key 0010")); err != nil || !existed {
		t.Fatalf("Has: %v, %v", existed, err)
	}
	read := 0
	for _, err := range db.Scan(ctx, 1, Range{}) {
		if err != nil {
			wantError(t, err, ErrCorrupt)
			break
		}
		read++
	}
	if read != 10 {
		t.Fatalf("a scan yielded %d entries before the damage", read)
	}
	faults := mustCheck(t, db)
	if len(faults) == 0 || faults[0].Offset != int64(at) || faults[0].Length != int64(size) || faults[0].Column != 1 {
		t.Fatalf("faults: %v", faults)
	}
	wantText(t, fmt.Errorf("%v", faults[0]), fmt.Sprintf("offset %d, %d bytes, column 1", at, size), "checksum")
	wantError(t, db.Compact(ctx), ErrCorrupt)
	wantError(t, db.Backup(ctx, new(bytes.Buffer)), ErrCorrupt)
	wantBytes(t, m, bad)

	// Putting the key again, or deleting it, mends the store.
	put(t, db, "key 0010", "new")
	must(t, db.Compact(ctx))
	want(t, db, "key 0010", "new")
	wantSound(t, db)
}

// Damage behind the watermark is where a crash may have torn the file. What is cut
// away is kept beside it when there were whole records in it, byte for byte.
func TestA09_DamageAboveTheWatermark(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		data, _, at, _ := thousand(t, opts, false)
		bad := spoil(data, at+2)
		path := newPath(t)
		writeFile(t, path, bad)
		db := mustOpen(t, path, opts)
		st := stats(t, db)
		if st.Keys != 10 || st.Recovery.TornAt != int64(at) || st.Recovery.Torn != int64(len(bad)-at) || st.Recovery.Reason == "" {
			t.Fatalf("%d keys; recovery: %+v", st.Keys, st.Recovery)
		}
		if filepath.Dir(st.Recovery.KeptAs) != filepath.Dir(st.Path) || !strings.HasPrefix(st.Recovery.KeptAs, st.Path+tornSuffix) {
			t.Fatalf("kept as %q", st.Recovery.KeptAs)
		}
		if kept := readFile(t, st.Recovery.KeptAs); !bytes.Equal(kept, bad[at:]) {
			t.Fatalf("%d bytes were kept, want %d", len(kept), len(bad)-at)
		}
		mustClose(t, db)
		db = mustOpen(t, path, opts)
		if st := stats(t, db); st.Keys != 10 || st.Recovery.Torn != 0 || st.Recovery.KeptAs != "" {
			t.Fatalf("recovery of a mended file: %+v", st.Recovery)
		}
		mustClose(t, db)

		// The same again: what was kept before is not overwritten.
		writeFile(t, path, spoil(bad, at+30))
		db = mustOpen(t, path, opts)
		again := stats(t, db).Recovery.KeptAs
		if again == st.Recovery.KeptAs || !bytes.Equal(readFile(t, st.Recovery.KeptAs), bad[at:]) || len(readFile(t, again)) != len(bad)-at {
			t.Fatalf("the second tail was kept as %q, the first as %q", again, st.Recovery.KeptAs)
		}
	})
}

// The last record, or a batch as large as one likes, has nothing whole behind it,
// and is cut off without more ado.
func TestA09_NothingWholeBehind(t *testing.T) {
	var many []op
	for i := range 50 {
		many = append(many, op{col: 1, key: fmt.Sprint(i), value: "v"})
	}
	for name, c := range map[string]struct {
		opts   Options
		write  func(r *recorder)
		places []int // negative: from the end
	}{
		"sealed put":   {quiet(), func(r *recorder) { r.put(1, "b", strings.Repeat("long", 1000)) }, []int{0, 1, 2, 6, 7, 100, -1}},
		"plain put":    {quietPlain(), func(r *recorder) { r.put(1, "b", strings.Repeat("long", 1000)) }, []int{2, 3, 7}},
		"sealed batch": {quiet(), func(r *recorder) { r.batch(many...) }, []int{1, 6, 20, 100, -1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRecorder(t, c.opts)
			r.put(1, "a", "1")
			at := len(r.bytes())
			c.write(r)
			data := r.bytes()
			for _, p := range c.places {
				if p < 0 {
					p += len(data) - at
				}
				db, m, err := openBytes(t, spoil(data, at+p), c.opts)
				must(t, err)
				wantContent(t, db, keys("a=1"))
				if st := stats(t, db); st.Recovery.TornAt != int64(at) || st.Recovery.KeptAs != "" {
					t.Fatalf("byte %d: recovery: %+v", p, st.Recovery)
				}
				if names := siblings(t, m); len(names) > 0 {
					t.Fatalf("files beside the store: %q", names)
				}
			}
		})
	}
}

// A batch is there whole or not at all: every byte of it is changed in three ways.
func TestA10_EveryByteOfABatch(t *testing.T) {
	r := startRecorder(t, quiet())
	r.put(1, "x", "old")
	r.put(1, "y", "old")
	r.put(1, "z", "there")
	from := len(r.bytes())
	before := keys("x=old", "y=old", "z=there")
	r.batch(op{col: 1, key: "x", value: "1"}, op{col: 1, key: "y", value: "2"}, op{col: 1, key: "z", delete: true})
	data := r.bytes()
	wantRecovered(t, data, quiet(), keys("x=1", "y=2"))
	for at := from; at < len(data); at++ {
		for _, change := range []func(byte) byte{
			func(b byte) byte { return b ^ 1 }, func(b byte) byte { return ^b }, func(byte) byte { return 0 },
		} {
			bad := bytes.Clone(data)
			if bad[at] = change(bad[at]); bad[at] == data[at] {
				continue
			}
			wantRecovered(t, bad, quiet(), before)
		}
	}
	// Parts blank or stale, as when sectors of it never came to the disk.
	for first := from; first < len(data); first++ {
		for last := first + 1; last <= len(data); last += 5 {
			bad := bytes.Clone(data)
			clear(bad[first:last])
			if !bytes.Equal(bad, data) {
				db, _, err := openBytes(t, bad, quiet())
				must(t, err)
				wantContent(t, db, before)
				mustClose(t, db)
			}
		}
	}
}

// A snapshot that is damaged costs a replay, and leaves nothing in the log that a
// later replay, when its successor is damaged as well, would stumble over.
func TestOneDamagedSnapshotAfterTheOther(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		r := startRecorder(t, opts)
		for i := range 20 {
			r.put(1, fmt.Sprint("k", i), fmt.Sprint(i))
		}
		r.checkpoint()
		data := r.bytes()
		for i := range 4 {
			h, err := decodeHeader("", data)
			must(t, err)
			db, m, err := openBytes(t, spoil(data, int(h.indexAt)+3), opts)
			must(t, err)
			if st := stats(t, db); st.Recovery.Distrust == "" || st.Background != nil {
				t.Fatalf("recovery: %+v, %v", st.Recovery, st.Background)
			}
			r.now[id{1, "more"}] = fmt.Sprint(i)
			put(t, db, "more", fmt.Sprint(i))
			wantContent(t, db, r.now)
			wantSound(t, db)
			must(t, db.Checkpoint(ctx))
			data = bytesIn(t, m)
		}
	})
}

// What was cut off stays so: the cut is synced before anything is appended. Else a
// power loss could bring back records from behind the cut, and they would follow
// whatever had been written there instead.
func TestCutTailStaysCut(t *testing.T) {
	r := startRecorder(t, quiet())
	r.put(1, "a", "1")
	r.put(1, "b", "2")
	r.put(1, "c", "3")
	db, m, err := openBytes(t, spoil(r.bytes(), int(r.states[1].end)+8), quiet())
	must(t, err)
	wantContent(t, db, keys("a=1"))
	put(t, db, "d", "4") // as long as what was torn
	left := m.Crash(func() memfs.Fate { return memfs.Kept }, func() memfs.Change { return memfs.Undone })
	again := mustOpen(t, memPath, quiet().On(left))
	wantContent(t, again, keys("a=1", "d=4"))
}
