package dump

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
)

func open(t testing.TB, opts crabdb.Options) kv.KVStorage {
	t.Helper()
	s, err := crabkv.Open(filepath.Join(t.TempDir(), "s.crmem"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.Whole()
}

func dumped(t testing.TB, db kv.KVStorage) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(context.Background(), db, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The form, by hand: empty keys and values are empty fields, columns come in the
// order of their numbers and not of their digits.
func TestForm(t *testing.T) {
	for _, plain := range []bool{false, true} {
		db := open(t, crabdb.Options{Plain: plain})
		want := "0 61 \n0 62 00ff\n2  78\n10 7a 31\n255 ff 32\n"
		n, err := Load(context.Background(), db, strings.NewReader("255 ff 32\n10 7a 31\r\n2  78\n0 62 00FF\n0 61 \n"))
		if err != nil || n != 5 {
			t.Fatalf("loaded %d, %v", n, err)
		}
		if got := dumped(t, db); got != want {
			t.Errorf("plain %v: %q, want %q", plain, got, want)
		}
	}
}

func TestLinesThatAreNone(t *testing.T) {
	for _, line := range []string{"\n", "1 61\n", "1 61 62 63\n", "256 61 62\n", "-1 61 62\n", "x 61 62\n", "1 6 62\n", "1 61 6g\n", "1 61 62", "1  61 62\n"} {
		db := open(t, crabdb.Options{})
		n, err := Load(context.Background(), db, strings.NewReader("1 6b 76\n"+line))
		if !errors.Is(err, ErrLine) || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%q: %v, want ErrLine of line 2", line, err)
		}
		if n != 1 || dumped(t, db) != "1 6b 76\n" {
			t.Errorf("%q: %d keys loaded before it", line, n)
		}
	}
}

// What a store holds, a dump of it holds, whatever the sizes of batches.
func TestRoundTrip(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	db := open(t, crabdb.Options{})
	bytesOf := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	ctx := context.Background()
	err := kv.Update(ctx, db, func(tx kv.KVStorage) error {
		for range batchKeys + 100 {
			if err := tx.Put(ctx, kv.Column(r.IntN(256)), bytesOf(1+r.IntN(6)), bytesOf(r.IntN(30))); err != nil {
				return err
			}
		}
		return tx.Put(ctx, 3, []byte("large"), bytesOf(batchBytes+1))
	})
	if err != nil {
		t.Fatal(err)
	}
	text := dumped(t, db)
	second := open(t, crabdb.Options{})
	if _, err := Load(context.Background(), second, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if dumped(t, second) != text {
		t.Error("the copy has another dump")
	}
}

// FuzzLine: what is taken for a line encodes back to it, but for the case of digits
// and what stands before a column's number.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"0 61 62", "2  ", "255 ff 00FF", "07 61 ", "1 6", "é 61 62", "1 61 62 "} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := parse(line)
		if err != nil {
			if !errors.Is(err, ErrLine) {
				t.Errorf("%q: %v", line, err)
			}
			return
		}
		again := appendLine(nil, byte(e.col), kv.Entry{Key: e.key, Value: e.value})
		if got := bytes.TrimLeft(bytes.ToLower(line), "0+"); !bytes.Equal(bytes.TrimLeft(again[:len(again)-1], "0"), got) {
			t.Errorf("%q encodes back to %q", line, again)
		}
		in := &reader{in: bufio.NewReader(bytes.NewReader(again))}
		if back, err := in.line(); err != nil || back.col != e.col || !bytes.Equal(back.key, e.key) || !bytes.Equal(back.value, e.value) {
			t.Errorf("%q reads back as %v, %v", again, back, err)
		}
	})
}
