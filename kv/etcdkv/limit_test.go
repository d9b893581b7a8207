package etcdkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

// The server has its default limits: 128 operations and 1.5 MiB a request.
func TestB05_UpdatesBeyondEtcdsLimits(t *testing.T) {
	for _, c := range []struct{ puts, size int }{{1, 0}, {63, 10}, {64, 10}, {127, 10}, {128, 10}, {129, 10}, {10_000, 40}, {40, 60_000}, {200, 60_000}} {
		s := openWith(t, place(t), nil)
		value := bytes.Repeat([]byte("v"), c.size)
		err := s.Update(ctx, func(tx kv.KVStorage) error {
			for i := range c.puts {
				if err := tx.Put(ctx, col, fmt.Appendf(nil, "%05d", i), value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%d puts of %d bytes: %v", c.puts, c.size, err)
		}
		n := 0
		for e, err := range s.Scan(ctx, col, nil) {
			if err != nil || string(e.Key) != fmt.Sprintf("%05d", n) || !bytes.Equal(e.Value, value) {
				t.Fatalf("%d puts of %d bytes: entry %d is %.20q, %v", c.puts, c.size, n, e.Key, err)
			}
			n++
		}
		if n != c.puts {
			t.Errorf("%d puts of %d bytes: %d are there", c.puts, c.size, n)
		}
		wantNoLitter(t, s)
	}
}

func TestB05_LargeValues(t *testing.T) {
	s := openWith(t, place(t), nil)
	key := []byte("k")
	random := rand.NewChaCha8([32]byte{})
	for _, size := range []int{inlineLimit, inlineLimit + 1, chunkSize, chunkSize + 1, 2 << 20, 3*chunkSize - 1, 1, MaxValue, 0} {
		value := make([]byte, size)
		_, _ = random.Read(value)
		if err := s.Put(ctx, col, key, value); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		got, err := s.Get(ctx, col, key)
		if err != nil || got == nil || !bytes.Equal(got, value) {
			t.Fatalf("%d bytes come back as %d others, %v", size, len(got), err)
		}
		last, err := kv.Last(ctx, s, col, nil)
		if err != nil || !bytes.Equal(last.Value, value) {
			t.Fatalf("%d bytes come back from a scan as %d others, %v", size, len(last.Value), err)
		}
		wantNoLitter(t, s)
	}
}

// What is beyond our own limits is refused before anything is written.
func TestB05_BeyondTheLimitsNothingIsWritten(t *testing.T) {
	s := openWith(t, place(t), nil)
	put(t, s, "k", "v")
	var writes atomic.Int64
	s.wire = func(ctx context.Context, r request, send sender) (*answer, error) {
		if r.then[0].IsPut() {
			writes.Add(1)
		}
		return send(ctx)
	}
	large, half := make([]byte, MaxValue+1), make([]byte, MaxValue)
	puts := func(values ...[]byte) error {
		return s.Update(ctx, func(tx kv.KVStorage) error {
			for i, value := range values {
				if err := tx.Put(ctx, col, fmt.Append(nil, i), value); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := s.Put(ctx, col, []byte("k"), large); !errors.Is(err, kv.ErrValueTooLarge) {
		t.Errorf("Put: %v", err)
	}
	if err := puts(nil, large); !errors.Is(err, kv.ErrValueTooLarge) {
		t.Errorf("Update with a large value: %v", err)
	}
	if err := puts(half, half, half, half, nil); !errors.Is(err, kv.ErrTxTooLarge) {
		t.Errorf("Update with many values: %v", err)
	}
	if n := writes.Load(); n > 0 {
		t.Errorf("%d requests wrote something", n)
	}
	if got := content(t, s); len(got) != 1 || got["k"] != "v" {
		t.Errorf("there is %v", got)
	}
}

// Keys that look like the adapter's own, or like the beginning of another's chunks.
func TestB03_KeysDoNotReachIntoOthers(t *testing.T) {
	long := bytes.Repeat([]byte("long "), 20_000)
	keys := []string{"\xff", "\xff\xff", "\xff\xff\xff", "\x03\xaa\xff", "\x03\xaa\xff\x00", "\x03\xab", "\x04", "/", "d/", "v/", "\x00", "\x00\x01", "\x00\x02\x02"}
	columns := []kv.Column{0, 1, kv.Memory, '/', 254, 255}
	s := openWith(t, place(t), nil)
	for _, column := range columns {
		for _, key := range keys {
			if err := s.Put(ctx, column, []byte(key), long); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := len(columns) * len(keys)
	for _, column := range columns {
		for _, key := range keys {
			if existed, err := s.Delete(ctx, column, []byte(key)); err != nil || !existed {
				t.Fatalf("Delete of %q in %s: %v, %v", key, column, existed, err)
			}
			left--
			if st, err := s.Stats(ctx); err != nil || st.Keys != int64(left) {
				t.Fatalf("when %q in %s is deleted there are %d keys, %v; want %d", key, column, st.Keys, err, left)
			}
			if n := len(keysBelow(t, s, "v/")); n != left {
				t.Fatalf("when %q in %s is deleted there are chunks of %d values; want %d", key, column, n, left)
			}
		}
	}
}

// A scan's pages: their borders fall everywhere, in both directions.
func TestB03_PagesNeitherSkipNorRepeat(t *testing.T) {
	s := openWith(t, place(t), nil)
	const n = 3*maxPage + 7
	err := s.Update(ctx, func(tx kv.KVStorage) error {
		for i := range n {
			if err := tx.Put(ctx, col, fmt.Appendf(nil, "%05d", i), fmt.Append(nil, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []kv.Range{{}, {Reverse: true}, {KeysOnly: true}, {Reverse: true, KeysOnly: true}} {
		i := 0
		for e, err := range s.ScanRange(ctx, col, r) {
			want := i
			if r.Reverse {
				want = n - 1 - i
			}
			if err != nil || string(e.Key) != fmt.Sprintf("%05d", want) || !r.KeysOnly && string(e.Value) != fmt.Sprint(want) {
				t.Fatalf("%+v: entry %d is %q = %q, %v", r, i, e.Key, e.Value, err)
			}
			i++
		}
		if i != n {
			t.Errorf("%+v: %d entries, want %d", r, i, n)
		}
	}
}

// Pages shrink where values are large, and grow again: one page at most is taken by
// surprise.
func TestPagesAreBounded(t *testing.T) {
	s := openWith(t, place(t), nil)
	small, large := []byte("small"), make([]byte, inlineLimit)
	for i, value := range [][]byte{small, large, small} {
		err := s.Update(ctx, func(tx kv.KVStorage) error {
			for j := range 900 {
				if err := tx.Put(ctx, col, fmt.Appendf(nil, "%d%03d", i, j), value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	m, _, err := s.now(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var keys, sizes []int
	for page, err := range s.pages(ctx, m.rev, s.spanOf(col, kv.Range{}), nil) {
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, e := range page {
			size += len(e.Value)
		}
		keys, sizes = append(keys, len(page)), append(sizes, size)
	}
	surprises := 0
	for _, size := range sizes {
		if size > 2*pageBytes {
			surprises++
		}
	}
	if surprises != 1 || len(keys) > 60 || slices.Max(keys[:4]) != maxPage || slices.Max(keys[len(keys)-3:]) < maxPage/2 {
		t.Errorf("pages of %d keys and %d bytes", keys, sizes)
	}
}
