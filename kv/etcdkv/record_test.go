package etcdkv

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

// Three records as they stand in a piece of a stage, written out by hand.
const piece = "\x03\x02ab" + "\x05" + "\x00val" + // column 2, "ab" = "val"
	"\x02\x00\x00" + "\x00" + // column 0, a NUL, deleted
	"\x02\xff\xff" + "\x02" + "\x00" // column 255, FF = an empty value

func TestRecordsInAStage(t *testing.T) {
	want := []record{{"\x02ab", []byte("\x00val")}, {"\x00\x00", nil}, {"\xff\xff", []byte{0}}}
	got, err := parseRecords([]byte(piece))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("parsed %q, %v; want %q", got, err, want)
	}
	var b []byte
	for _, r := range want {
		b = appendRecord(b, r)
	}
	if string(b) != piece {
		t.Errorf("wrote %q, want %q", b, piece)
	}
	for n := range len(piece) {
		switch _, err := parseRecords([]byte(piece[:n])); {
		case n == 0 || n == 9 || n == 13: // whole records
		case !errors.Is(err, kv.ErrCorrupt):
			t.Errorf("cut after %d bytes: %v; want ErrCorrupt", n, err)
		}
	}
}

// Bytes that are no records are refused; what is taken is written again as records
// that are the same.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(piece))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("\x82\x00ab\x80\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := parseRecords(bytes.Clone(b))
		if err != nil {
			if !errors.Is(err, kv.ErrCorrupt) {
				t.Fatalf("%v is not ErrCorrupt", err)
			}
			return
		}
		var again []byte
		for _, r := range records {
			again = appendRecord(again, r)
		}
		same, err := parseRecords(again)
		if err != nil || !reflect.DeepEqual(same, records) {
			t.Fatalf("%q became %q, %v", records, same, err)
		}
	})
}

// A stored value, or the chunks of one, that are not what was written.
func TestCorruptValues(t *testing.T) {
	s := openWith(t, place(t), nil)
	put(t, s, "k", string(make([]byte, 2*chunkSize)))
	chunks := keysBelow(t, s, "v/")
	if len(chunks) != 2 {
		t.Fatalf("%d chunks", len(chunks))
	}
	good, err := s.client.Get(ctx, s.dataKey("\x02k"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, key, value string }{
		{"a flipped byte", chunks[0], string(make([]byte, chunkSize-1)) + "\x01"},
		{"a short chunk", chunks[1], "short"},
		{"no value", s.dataKey("\x02k"), ""},
		{"a tag that is none", s.dataKey("\x02k"), "\x02abc"},
		{"a cut reference", s.dataKey("\x02k"), string(good.Kvs[0].Value[:30])},
	} {
		if _, err := s.client.Put(ctx, c.key, c.value); err != nil {
			t.Fatal(err)
		}
		_, err := s.Get(ctx, col, []byte("k"))
		if !errors.Is(err, kv.ErrCorrupt) || !bytes.Contains([]byte(err.Error()), []byte(`"k"`)) {
			t.Errorf("%s: %v; want ErrCorrupt, and the key", c.name, err)
		}
		for _, scanned := range s.Scan(ctx, col, nil) {
			if !errors.Is(scanned, kv.ErrCorrupt) {
				t.Errorf("%s: a scan yields %v; want ErrCorrupt", c.name, scanned)
			}
		}
	}
}
