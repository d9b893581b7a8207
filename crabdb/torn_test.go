package crabdb

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// wantRecovered wants a file to hold something, however often it is opened, whether
// or not it may be written; and a write after the recovery to be there at the next.
func wantRecovered(t *testing.T, data []byte, opts Options, want content) {
	t.Helper()
	db, m, err := openBytes(t, data, readOnly())
	must(t, err)
	wantContent(t, db, want)
	mustClose(t, db)
	if !bytes.Equal(bytesIn(t, m), data) {
		t.Fatal("a read-only open changed the file")
	}
	after := content{}
	for range 2 {
		db = mustOpen(t, memPath, opts.On(m))
		wantContent(t, db, want)
		wantSound(t, db)
		if size := int64(len(bytesIn(t, m))); stats(t, db).File != size {
			t.Fatalf("the log ends at %d, the file at %d", stats(t, db).File, size)
		}
		m = m.Kill() // before anything is written
	}
	db = mustOpen(t, memPath, opts.On(m))
	for k, v := range want {
		after[k] = v
	}
	after[id{9, "after"}] = "recovery"
	putIn(t, db, 9, "after", "recovery")
	m = m.Kill()
	for range 2 {
		db = mustOpen(t, memPath, opts.On(m))
		wantContent(t, db, after)
		wantSound(t, db)
		mustClose(t, db)
	}
}

// A tail of zeros, of any length, is no record.
func TestA01_ZeroTails(t *testing.T) {
	lengths := []int{511, 512, 513, 4096, 3*4096 + 7}
	for n := 1; n <= 70; n++ {
		lengths = append(lengths, n)
	}
	eachKind(t, func(t *testing.T, r *recorder, data []byte, opts Options) {
		for _, n := range lengths {
			wantRecovered(t, concat(data, make([]byte, n)), opts, r.now)
		}
	})
}

// A page of zeros of a megabyte takes no longer than reading it.
func TestA01_ManyZeros(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		data := killed(t, opts, func(db *DB) { put(t, db, "a", "1") })
		wantRecovered(t, concat(data, make([]byte, 1<<20)), opts, keys("a=1"))
	})
}

// Whatever a crash left behind the last record is cut off before the next is
// written; else that would be lost behind it.
func TestA04_AppendBehindATornTail(t *testing.T) {
	eachKind(t, func(t *testing.T, r *recorder, data []byte, opts Options) {
		next := recordOf(!opts.Plain, len(data), opPut, 1, "torn", "a value")
		for n := 1; n < len(next); n++ {
			wantRecovered(t, concat(data, next[:n]), opts, r.now)
		}
		wantRecovered(t, concat(data, []byte{1}), opts, r.now)
	})
}

// Random bytes behind the last record are cut off, too. In a plain file they may be
// a record by chance, one of 2^38 of these.
func TestGarbageTails(t *testing.T) {
	seed := newSeed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	eachKind(t, func(t *testing.T, r *recorder, data []byte, opts Options) {
		for range times(20, 500) {
			tail := make([]byte, 1+rng.IntN(100))
			for i := range tail {
				tail[i] = byte(rng.Uint32())
			}
			tail[0] |= 4 // no operation
			wantRecovered(t, concat(data, tail), opts, r.now)
		}
	})
}

// A file cut at any length holds what had been written up to there, and one that is
// known to have been longer is corrupt.
func TestEveryTruncation(t *testing.T) {
	cuts := 0
	eachKind(t, func(t *testing.T, r *recorder, data []byte, opts Options) {
		safe := watermark(t, data)
		for n := range len(data) + 1 {
			cuts++
			cut := data[:n]
			switch {
			case n == 0:
				wantRecoveredFromNothing(t, opts)
			case n < headerSize:
				for _, o := range []Options{readOnly(), opts} {
					_, m, err := openBytes(t, cut, o)
					wantError(t, err, ErrNotStore)
					wantBytes(t, m, cut)
				}
			case int64(n) < safe && !opts.Plain:
				for _, o := range []Options{readOnly(), opts} {
					_, m, err := openBytes(t, cut, o)
					wantError(t, err, ErrCorrupt)
					wantText(t, err, fmt.Sprintf("offset %d", n))
					wantBytes(t, m, cut)
				}
				db, _, err := openBytes(t, cut, salvage())
				must(t, err)
				wantContent(t, db, r.at(int64(n)))
			default:
				wantRecovered(t, cut, opts, r.at(int64(n)))
			}
		}
	})
	t.Logf("%d truncations", cuts)
}

func wantRecoveredFromNothing(t *testing.T, opts Options) {
	t.Helper()
	_, m, err := openBytes(t, nil, readOnly())
	wantError(t, err, ErrNotStore)
	wantBytes(t, m, nil)
	db := mustOpen(t, memPath, opts.On(m))
	wantContent(t, db, content{})
	if db.Sealed() == opts.Plain {
		t.Fatal("the new store is of the other format")
	}
}

func wantBytes(t *testing.T, m *memfs.FS, want []byte) {
	t.Helper()
	if got := bytesIn(t, m); !bytes.Equal(got, want) {
		t.Fatalf("the file was changed: %d bytes, it had %d", len(got), len(want))
	}
}
