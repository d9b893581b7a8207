package crabdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
)

// Each fuzz target runs its seeds as a test. For more, one at a time:
//
//	go test ./crabdb -run '^$' -fuzz FuzzOpen -fuzztime 10m

// seeds are files of every kind, whole, cut, spoilt, and none.
func seeds(f *testing.F) [][]byte {
	var all [][]byte
	for _, opts := range []Options{quiet(), quietPlain()} {
		for _, k := range kinds {
			r := startRecorder(f, opts)
			k.write(r)
			data := r.bytes()
			all = append(all, data, data[:len(data)-1], spoil(data, len(data)/2), concat(data, make([]byte, 20)))
		}
	}
	return append(all, nil, []byte("CRMEM"), bytes.Repeat([]byte{0xFF}, 100), make([]byte, 200))
}

// mostFuzzed bounds a fuzzed file: what is told of more bytes is told of fewer.
const mostFuzzed = 1 << 13

// FuzzOpen opens any bytes, for reading, to salvage and for writing. It is an error
// of the three that say why, and the file stays as it is; or all that is in the index
// can be read, or is corrupt, and what is written is there at the next opening. With
// mended the checksums are made right first, so that what they cover is fuzzed.
func FuzzOpen(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data, false)
		f.Add(data, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, mended bool) {
		if len(data) > mostFuzzed {
			return
		}
		if mended {
			data = mendSums(data)
		}
		for _, opts := range []Options{readOnly(), salvage(), quiet()} {
			if most := allocated(func() { openFuzzed(t, data, opts) }); most > 64<<20 {
				t.Fatalf("%d bytes were allocated", most)
			}
		}
	})
}

func openFuzzed(t *testing.T, data []byte, opts Options) {
	db, m, err := openBytes(t, data, opts)
	if err != nil {
		if !legal(err) {
			t.Fatal(err)
		}
		wantBytes(t, m, data)
		return
	}
	defer db.Close()
	got, damaged := readable(t, db)
	if opts.Salvage && len(damaged) > 0 {
		t.Fatalf("salvage leaves %v in the index", damaged)
	}
	if faults := mustCheck(t, db); len(damaged) > 0 && len(faults) == 0 {
		t.Fatalf("%v are damaged, and Check finds nothing", damaged)
	}
	must(t, db.View(ctx, func(tx *Tx) error { return readTx(tx) }))
	if opts.ReadOnly || opts.Salvage {
		wantBytes(t, m, data)
		return
	}
	err = db.Update(ctx, func(tx *Tx) error {
		if err := readTx(tx); err != nil {
			return err
		}
		return tx.Put(7, []byte("fuzzed"), []byte("written"))
	})
	must(t, err)
	got[id{7, "fuzzed"}] = "written"
	delete(damaged, id{7, "fuzzed"})
	wantAgain(t, m.Kill(), got, damaged)
	if err := db.Compact(ctx); err == nil {
		wantAgain(t, m.Kill(), got, nil)
	} else if !errors.Is(err, ErrCorrupt) || len(damaged) == 0 {
		t.Fatal(err)
	}
}

// readTx reads a column in a transaction; that a value is damaged is no failure.
func readTx(tx *Tx) error {
	for e, err := range tx.Scan(ctx, 1, Range{KeysOnly: true}) {
		if err != nil {
			return err
		}
		if _, err := tx.Get(1, e.Key); err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
	}
	return nil
}

// wantAgain wants a store to hold something when it is opened again.
func wantAgain(t *testing.T, m vfs.FS, want content, damaged map[id]bool) {
	t.Helper()
	db, err := Open(memPath, quiet().On(m))
	must(t, err)
	defer db.Close()
	if got, again := readable(t, db); !got.equal(want) || !maps.Equal(again, damaged) && len(damaged)+len(again) > 0 {
		t.Fatalf("the store holds %v, %v damaged\nwant %v, %v damaged", got, again, want, damaged)
	}
}

// mendSums makes the checksums of a sealed file right, as far as its lengths lead.
func mendSums(data []byte) []byte {
	data = bytes.Clone(data)
	if len(data) < headerSize {
		return data
	}
	binary.LittleEndian.PutUint32(data[12:], headerSum(data))
	mendRecords(data[headerSize:], headerSize)
	return data
}

func mendRecords(b []byte, at int64) {
	l := layout{sealed: true}
	for len(b) > 0 {
		key, value, ok := l.lengths(b)
		size := int64(l.size(key, 0)) + value
		if !ok || size > int64(len(b)) {
			return
		}
		if head := recordFrame + key; b[0] == opBatch {
			mendRecords(b[head:size-sumSize], at+int64(head))
		}
		binary.LittleEndian.PutUint32(b[size-sumSize:], recordSum(b[:size-sumSize], at))
		b, at = b[size:], at+size
	}
}

// FuzzHeader reads any bytes as a header. One that is believed is the encoding of
// what it says.
func FuzzHeader(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data[:min(len(data), headerSize)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHeader("f", b)
		switch {
		case err != nil && !legal(err):
			t.Fatal(err)
		case err == nil && !h.damaged:
			if got := h.encode(); !bytes.Equal(got, b[:headerSize]) {
				t.Fatalf("%x is %+v, which is %x", b[:headerSize], h, got)
			}
			if h.watermark() < headerSize {
				t.Fatalf("the watermark is %d", h.watermark())
			}
		}
	})
}

// FuzzRecord reads any bytes as a record. One that is whole is the encoding of what
// it says, and so are the parts of a batch; and it is none at another offset, or when
// it is cut.
func FuzzRecord(f *testing.F) {
	for _, sealed := range []bool{false, true} {
		f.Add(recordOf(sealed, 32, opPut, 1, "key", "value"), sealed, int64(32))
		f.Add(recordOf(sealed, 32, opDelete, 1, "key", ""), sealed, int64(32))
		f.Add(recordOf(sealed, 32, opPut, 0, "", ""), sealed, int64(32))
		f.Add(recordOf(sealed, 0, opSnapshot, 0, "", "snapshot"), sealed, int64(0))
	}
	part := sealedRecord(32+recordFrame+batchKey, opPut, 1, "k", "v")
	f.Add(batchRecord(32, 1, part), true, int64(32))
	f.Add([]byte{0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 'k'}, false, int64(0))
	f.Fuzz(func(t *testing.T, b []byte, sealed bool, offset int64) {
		if offset < 0 || offset > MaxFile {
			return
		}
		l := layout{sealed}
		if sealed {
			b = bytes.Clone(b)
			mendRecords(b, offset)
		}
		r, bad := l.decode(b, offset)
		if bad != "" {
			return
		}
		whole := r.op != opBatch || l.eachInBatch(r, offset, func(record, int64) {})
		if got := l.rewrite(nil, r, offset, offset); whole && !bytes.Equal(got, b[:r.size]) {
			t.Fatalf("%x is %+v, which is %x", b[:r.size], r, got)
		}
		if _, bad := l.decode(b[:r.size-1], offset); bad == "" {
			t.Fatalf("%x is a record without its last byte", b[:r.size])
		}
		if _, bad := l.decode(b, offset+1); sealed && bad == "" {
			t.Fatalf("%x is a record at another offset", b[:r.size])
		}
	})
}

// FuzzSnapshot reads any bytes as a snapshot of either format. One that is believed is
// the encoding of what it says, and every key in it can be looked up.
func FuzzSnapshot(f *testing.F) {
	const at = 1 << 20 // where it stands
	for _, data := range seeds(f) {
		if h, err := decodeHeader("", data); err == nil && !h.damaged && h.indexAt > 0 && h.watermark() <= int64(len(data)) {
			b := data[h.indexAt:h.watermark()]
			if h.sealed && len(b) > recordFrame+sumSize {
				b = b[recordFrame : len(b)-sumSize]
			}
			f.Add(b, h.sealed)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		s := &snapshot{}
		var got []byte
		if sealed {
			tree, live, covers, err := layout{true}.decodeSnapshot(b, at)
			if err != nil {
				return
			}
			s.view, s.live, s.end = tree.View(), live, covers
			got, err = snapshotValue(s)
			must(t, err)
		} else {
			tree, err := decodePlainSnapshot(b, at)
			if err != nil {
				return
			}
			s.view = tree.View()
			got, err = encodePlainSnapshot(s)
			must(t, err)
		}
		if !bytes.Equal(got, b) {
			t.Fatalf("%x is encoded as %x", b, got)
		}
		n := 0
		for c, ok := first(s.view); ok; ok = c.Next() {
			if v, ok := s.view.Get(c.Key()); !ok || v != c.Value() || location(v).offset() >= at || len(c.Key()) == 0 {
				t.Fatalf("%q is at %d, %v", c.Key(), v, ok)
			}
			n++
		}
		if n != s.view.Len() {
			t.Fatalf("%d keys, and it says %d", n, s.view.Len())
		}
	})
}
