package crabdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// A record says of itself all that is needed to read it, and bytes that are none
// are told, whatever they are.
func TestRecordRoundTrip(t *testing.T) {
	long := strings.Repeat("x", MaxKey)
	for _, sealed := range []bool{false, true} {
		l := layout{sealed}
		for _, c := range []struct {
			op, col    byte
			key, value string
		}{
			{opPut, 0, "k", "v"}, {opPut, 255, "", "v"}, {opPut, 1, "k", ""}, {opPut, 7, long, long + long},
			{opDelete, 3, "k", ""}, {opDelete, 0, "", ""},
		} {
			const offset = 1 << 30
			b := l.appendRecord([]byte("before"), offset, c.op, c.col, []byte(c.key), []byte(c.value))[6:]
			if want := recordOf(sealed, offset, c.op, c.col, c.key, c.value); !bytes.Equal(b, want) {
				t.Fatalf("%+v is encoded as %x, want %x", c, b, want)
			}
			r, bad := l.decode(append(b, "behind"...), offset)
			if bad != "" || r.op != c.op || r.col != c.col || string(r.key) != c.key || string(r.value) != c.value || r.size != len(b) || r.size != l.size(len(c.key), len(c.value)) {
				t.Fatalf("%+v is decoded as %+v, %s", c, r, bad)
			}
			if cap(r.key) != len(r.key) || cap(r.value) != len(r.value) {
				t.Fatal("appending to a part would write into the next")
			}
			for n := range min(len(b), 100) {
				if _, bad := l.decode(b[:n], offset); bad == "" {
					t.Fatalf("%d of %d bytes are taken for a record", n, len(b))
				}
			}
			if _, bad := l.decode(b, offset+1); sealed && bad != badSum {
				t.Fatalf("at another offset: %q", bad)
			}
		}
	}
}

// Lengths that no record can have, up to the greatest that four bytes state, are
// refused before anything is done with them; on a machine of 32 bits they came out
// negative, and made a slice panic.
func TestRecordLengthsThatCannotBe(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		for _, n := range []uint32{12, 1<<16 + 1, 1<<31 - 1, 1 << 31, 1<<31 + 5, 1<<32 - 20, 1<<32 - 1} {
			for at, name := range map[int]string{2: "key", 7: "value"} {
				b := recordOf(sealed, 0, opPut, 1, "k", "")
				binary.LittleEndian.PutUint32(b[at:], n)
				if r, bad := (layout{sealed}).decode(b, 0); bad == "" {
					t.Errorf("a %s of %d bytes: %+v", name, n, r)
				}
			}
		}
	}
}

func batchRecord(offset int, count int, parts ...[]byte) []byte {
	key := string(binary.LittleEndian.AppendUint32(nil, uint32(count)))
	return sealedRecord(offset, opBatch, 0, key, string(concat(parts...)))
}

// A batch that is whole by its checksum and cannot be was not torn by a crash.
// Behind the watermark it was cut off as if it had been.
func TestRecordsThatWereMeantAreNotCutOff(t *testing.T) {
	const at, first = headerSize, headerSize + recordFrame + batchKey // of the batch, and of its first part
	part := sealedRecord(first, opPut, 1, "k", "v")
	second := sealedRecord(first+len(part), opDelete, 1, "k", "")
	for name, c := range map[string]struct {
		record []byte
		want   error
	}{
		"unknown operation":        {sealedRecord(at, 4, 0, "k", "v"), ErrVersion},
		"operation 255":            {sealedRecord(at, 255, 0, "k", "v"), ErrVersion},
		"delete with a value":      {sealedRecord(at, opDelete, 1, "k", "v"), ErrCorrupt},
		"snapshot with a key":      {sealedRecord(at, opSnapshot, 0, "k", "v"), ErrCorrupt},
		"batch of too few":         {batchRecord(at, 3, part, second), ErrCorrupt},
		"batch of too many":        {batchRecord(at, 1, part, second), ErrCorrupt},
		"batch of none that holds": {batchRecord(at, 0, part), ErrCorrupt},
		"batch in a batch":         {batchRecord(at, 1, batchRecord(first, 0)), ErrCorrupt},
		"batch with a snapshot":    {batchRecord(at, 1, sealedRecord(first, opSnapshot, 0, "", "")), ErrCorrupt},
		"batch with another's":     {batchRecord(at, 1, second), ErrCorrupt},
		"batch without a count":    {sealedRecord(at, opBatch, 0, "", string(part)), ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			data := concat(header{sealed: true}.encode(), c.record)
			for _, opts := range []Options{quiet(), readOnly()} {
				_, m, err := openBytes(t, data, opts)
				wantError(t, err, c.want)
				wantText(t, err, fmt.Sprint("offset ", at))
				if !bytes.Equal(bytesIn(t, m), data) {
					t.Fatal("the file was changed")
				}
			}
			db, _, err := openBytes(t, data, salvage())
			must(t, err)
			if lost := stats(t, db).Recovery.Lost; len(lost) == 0 || lost[0].Offset != at {
				t.Fatalf("lost: %+v", lost)
			}
		})
	}
	// So it is where the header names it as a snapshot.
	unknown := sealedRecord(at, 4, 0, "", "a snapshot of another kind")
	data := named(concat(make([]byte, headerSize), unknown), true, at, int64(len(unknown)))
	_, m, err := openBytes(t, data, quiet())
	wantError(t, err, ErrVersion)
	wantBytes(t, m, data)

	db, _, err := openBytes(t, concat(header{sealed: true}.encode(), batchRecord(at, 2, part, second), batchRecord(at+len(batchRecord(at, 2, part, second)), 0)), quiet())
	must(t, err)
	wantContent(t, db, content{})
}
