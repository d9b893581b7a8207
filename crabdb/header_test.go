package crabdb

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// named returns a file with a header that names a place.
func named(data []byte, sealed bool, at, length int64) []byte {
	return concat(header{sealed: sealed, indexAt: at, indexLen: length}.encode(), data[headerSize:])
}

// replaced are puts and deletes, of which a compaction leaves 20 keys with records
// of equal length.
func withReplaced(db *DB, t testing.TB) content {
	want := content{}
	for i := range 40 {
		put(t, db, fmt.Sprintf("k%02d", i), "first value")
	}
	for i := range 20 {
		put(t, db, fmt.Sprintf("k%02d", i), fmt.Sprintf("second %04d", i))
		want[id{1, fmt.Sprintf("k%02d", i)}] = fmt.Sprintf("second %04d", i)
		del(t, db, fmt.Sprintf("k%02d", i+20))
	}
	return want
}

// A file with the header of another state of it holds the same keys as with its
// own: a place that holds no snapshot is not believed, and costs a replay. The
// places are all there are in the file, those where records begin included, at
// which the replay passed over as many bytes as the snapshot was said to have.
func TestA11_HeaderOfAnotherState(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		var want content
		data := built(t, opts, func(db *DB) {
			want = withReplaced(db, t)
			must(t, db.Checkpoint(ctx))
			must(t, db.Compact(ctx))
		})
		size := int64(len(data))
		layout := layout{sealed: !opts.Plain}
		record := int64(layout.size(len("k00"), len("second 0000")))
		for at := int64(headerSize); at < size; at++ {
			for _, length := range []int64{1, record, 3 * record, size - at} {
				if at+length > size {
					continue
				}
				db, _, err := openBytes(t, named(data, layout.sealed, at, length), opts)
				if err != nil {
					t.Fatalf("index_at %d, index_len %d: %v", at, length, err)
				}
				if got := contentOf(t, db); !got.equal(want) {
					t.Fatalf("index_at %d, index_len %d: the store holds %v\nwant %v", at, length, got, want)
				}
				wantSound(t, db)
			}
		}
	})
}

// Numbers that cannot be are not believed either.
func TestA11_ImpossiblePlaces(t *testing.T) {
	const most = uint64(1<<64 - 1)
	eachFormat(t, func(t *testing.T, opts Options) {
		var want content
		data := built(t, opts, func(db *DB) { want = withReplaced(db, t) })
		for _, place := range [][2]uint64{
			{0, 1}, {1, 10}, {31, 100}, {32, 0}, {100, 0}, {most, 1}, {most, most}, {1 << 63, 1 << 63},
			{100, most - 50}, {most - 50, 100}, {1 << 40, 32}, {32, 1 << 40}, {uint64(len(data)), 0},
		} {
			bad := concat(data)
			binary.LittleEndian.PutUint64(bad[16:], place[0])
			binary.LittleEndian.PutUint64(bad[24:], place[1])
			if !opts.Plain {
				binary.LittleEndian.PutUint32(bad[12:], headerSum(bad))
			}
			for _, o := range []Options{readOnly(), opts} {
				db, _, err := openBytes(t, bad, o)
				if err != nil {
					t.Fatalf("%d+%d: %v", place[0], place[1], err)
				}
				wantContent(t, db, want)
			}
		}
	})
}

// A sealed file whose header, by its own checksum, was written when the file was
// longer has lost what was safe. In a plain file nothing tells that from a header
// of another state.
func TestA11_PlaceBehindTheEnd(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		var want content
		data := built(t, opts, func(db *DB) { want = withReplaced(db, t) })
		size := int64(len(data))
		for _, at := range []int64{size - 1, size, size + 1, size + 1<<20} {
			db, m, err := openBytes(t, named(data, !opts.Plain, at, 100), opts)
			if opts.Plain {
				must(t, err)
				wantContent(t, db, want)
				continue
			}
			wantError(t, err, ErrCorrupt)
			wantText(t, err, fmt.Sprintf("offset %d", size), "Salvage")
			if got := bytesIn(t, m); int64(len(got)) != size {
				t.Fatalf("the file was cut to %d bytes", len(got))
			}
			db = mustOpen(t, memPath, salvage().On(m))
			wantContent(t, db, want)
			if faults := mustCheck(t, db); len(faults) != 1 || faults[0].Offset != size {
				t.Fatalf("the faults are %v", faults)
			}
		}
	})
}
