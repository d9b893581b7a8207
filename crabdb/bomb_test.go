package crabdb

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime/debug"
	"testing"
)

// A length that garbage states is compared with what is left of the file before
// memory is taken for it. Each of these would ask for gigabytes.
func TestA07_LengthBombs(t *testing.T) {
	old := debug.SetMemoryLimit(256 << 20)
	t.Cleanup(func() { debug.SetMemoryLimit(old) })
	const huge = math.MaxUint32
	put4 := func(b []byte, at int, v uint32) []byte {
		b = bytes.Clone(b)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	eachFormat(t, func(t *testing.T, opts Options) {
		one := killed(t, opts, func(db *DB) { put(t, db, "a", "1") })
		next := recordOf(!opts.Plain, len(one), opPut, 1, "k", "v")
		snapshot := killed(t, opts, func(db *DB) { put(t, db, "a", "1"); must(t, db.Checkpoint(ctx)) })
		at := len(one) // of the snapshot
		bombs := map[string][]byte{
			"key_len":                   concat(one, put4(next, 2, huge), []byte("abc")),
			"the longest key":           concat(one, put4(next, 2, MaxKey), []byte("abc")),
			"val_len":                   concat(one, put4(next, 7, huge), []byte("abc")),
			"the longest value":         concat(one, put4(next, 7, MaxValue), []byte("abc")),
			"index_len in the header":   named(snapshot, !opts.Plain, int64(at), MaxFile),
			"index_len in the file":     named(concat(snapshot, make([]byte, 1<<20)), !opts.Plain, int64(at), 1<<20),
			"index_at in the header":    named(snapshot, !opts.Plain, MaxFile, MaxFile),
			"count of a plain snapshot": put4(snapshot, at, huge),
			"length of the first entry": put4(snapshot, at+5, huge),
		}
		if !opts.Plain {
			parts := string(binary.LittleEndian.AppendUint32(nil, huge))
			bombs["parts of a batch"] = concat(one, sealedRecord(at, opBatch, 0, parts, ""))
			value := concat([]byte{snapshotKind}, make([]byte, 16), []byte{0xFF, 0xFF, 0xFF, 0xFF})
			binary.LittleEndian.PutUint64(value[9:], headerSize)
			record := sealedRecord(at, opSnapshot, 0, "", string(value))
			bombs["length of a leaf"] = named(concat(one, record), true, int64(at), int64(len(record)))
		}
		for name, data := range bombs {
			t.Run(name, func(t *testing.T) {
				for _, o := range []Options{readOnly(), salvage(), opts} {
					var db *DB
					var err error
					if most := allocated(func() { db, _, err = openBytes(t, data, o) }); most > 16<<20 {
						t.Fatalf("%d bytes were allocated", most)
					}
					if err != nil && !legal(err) {
						t.Fatal(err)
					}
					if err == nil {
						want(t, db, "a", "1")
						mustClose(t, db)
					} else if o.Salvage {
						t.Fatal(err)
					}
				}
			})
		}
	})
}
