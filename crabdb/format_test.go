package crabdb

import (
	"bytes"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
)

// example returns the bytes of a file that FORMAT.md spells out.
func example(t *testing.T, kind string) []byte {
	t.Helper()
	doc, err := os.ReadFile("FORMAT.md")
	must(t, err)
	_, block, ok := strings.Cut(string(doc), "```hex "+kind+"\n")
	block, _, ok2 := strings.Cut(block, "```")
	if !ok || !ok2 {
		t.Fatalf("FORMAT.md has no example of a %s file", kind)
	}
	bytesOfLine := regexp.MustCompile(`^([0-9a-f]{2} )*[0-9a-f]{2}`)
	var b []byte
	for line := range strings.Lines(block) {
		b = append(b, unhex(t, strings.ReplaceAll(bytesOfLine.FindString(line), " ", ""))...)
	}
	return b
}

// The files that FORMAT.md spells out are what these operations write, and hold what
// it says.
func TestExampleOfTheFormat(t *testing.T) {
	for kind, size := range map[string]int{"sealed": 142, "plain": 85} {
		t.Run(kind, func(t *testing.T) {
			data := example(t, kind)
			if len(data) != size {
				t.Fatalf("the example has %d bytes, want %d", len(data), size)
			}
			opts := quiet()
			opts.Plain = kind == "plain"
			for _, o := range []Options{readOnly(), opts, salvage()} {
				db, m, err := openBytes(t, data, o)
				must(t, err)
				wantContent(t, db, content{{2, "b"}: ""})
				if st := stats(t, db); !st.Recovery.Snapshot && kind == "sealed" || st.Recovery.Torn != 0 || st.Recovery.Distrust != "" {
					t.Errorf("recovery: %+v", st.Recovery)
				}
				wantSound(t, db)
				mustClose(t, db)
				wantBytes(t, m, data)
			}
			got := killed(t, opts, func(db *DB) {
				putIn(t, db, 2, "a", "hi")
				in(t, db, func(tx *Tx) {
					must(t, tx.Put(2, []byte("b"), nil))
					_, err := tx.Delete(2, []byte("a"))
					must(t, err)
				})
				must(t, db.Checkpoint(ctx))
			})
			if !bytes.Equal(got, data) {
				t.Errorf("the operations write\n%s\nwant\n%s", hex.Dump(got), hex.Dump(data))
			}
		})
	}
}

// A checksum is that of RFC 3720, over the bytes and the offset; the second of these
// is computed another way.
func TestRecordSum(t *testing.T) {
	if got, want := recordSum([]byte("12345678"), 0), crc32c([]byte("12345678\x00\x00\x00\x00\x00\x00\x00\x00")); got != want {
		t.Errorf("%#x, want %#x", got, want)
	}
	if got := crc32c([]byte("123456789")); got != 0xE3069283 {
		t.Fatalf("the test's own sum is %#x", got)
	}
	for _, offset := range []int64{0, 1, 255, 256, 1 << 16, 1 << 24, 1 << 32, 0x0123456789, MaxFile} {
		var at [8]byte
		for i := range at {
			at[i] = byte(offset >> (8 * i))
		}
		if got, want := recordSum([]byte("record"), offset), crc32c(append([]byte("record"), at[:]...)); got != want {
			t.Errorf("offset %d: %#x, want %#x", offset, got, want)
		}
	}
}

// crc32c is CRC-32C bit by bit.
func crc32c(b []byte) uint32 {
	sum := ^uint32(0)
	for _, c := range b {
		sum ^= uint32(c)
		for range 8 {
			sum = sum>>1 ^ 0x82F63B78&-(sum&1)
		}
	}
	return ^sum
}
