package pgkv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/pgkv"
	"github.com/crabstore/crabstore/kv/pgkv/pgtest"
)

func errorSays(err error, what string) bool {
	return err != nil && strings.Contains(err.Error(), what)
}

// B05: 33,000 keys at once, and all of them deleted at once.
func TestB05_33000KeysInOneUpdate(t *testing.T) {
	n := 33_000
	if testing.Short() {
		n = 3300
	}
	s := open(t, pgtest.Shared(t).URL(t), pgkv.Options{})
	fill(t, s, n)
	if got := len(keysIn(t, s, "")); got != n {
		t.Fatalf("%d keys, want %d", got, n)
	}
	err := s.Update(ctx, func(tx kv.KVStorage) error {
		i := 0
		for key, err := range tx.ScanKeys(ctx, col, nil) {
			if err != nil {
				return err
			}
			if i++; i%3 == 0 { // changed and deleted, in turn
				err = tx.Put(ctx, col, key, []byte("kept"))
			} else {
				_, err = tx.Delete(ctx, col, key)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if got := len(keysIn(t, s, "")); err != nil || got != n/3 {
		t.Errorf("%d keys, want %d; %v", got, n/3, err)
	}
}

// B05: values of every size at which they are read in another way, alone and among
// others.
func TestB05_LargeValues(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	s := open(t, pgtest.Shared(t).URL(t), pgkv.Options{})
	var want []kv.Entry
	for i, size := range []int{0, 1, 2 << 20, 10, pgkv.PageBytes, 0, pgkv.PageBytes + 1, pgkv.PieceBytes, pgkv.PieceBytes + 1,
		7, 2*pgkv.PieceBytes + 3, pgkv.PageBytes / 2, pgkv.PageBytes/2 + 1, 100} {
		e := kv.Entry{Key: fmt.Appendf(nil, "%02d", i), Value: make([]byte, size)}
		if i%2 == 0 { // what is compressed is cut in another way
			_, _ = source.Read(e.Value)
		}
		if err := s.Put(ctx, col, e.Key, e.Value); err != nil {
			t.Fatal(err)
		}
		want = append(want, e)
	}
	look := func(s kv.KVStorage) error {
		for _, e := range want {
			if got, err := s.Get(ctx, col, e.Key); err != nil || !bytes.Equal(got, e.Value) {
				t.Errorf("Get of %d bytes: %d, %v", len(e.Value), len(got), err)
			}
		}
		for _, reverse := range []bool{false, true} {
			var got []kv.Entry
			for e, err := range kv.ScanRange(ctx, s, col, kv.Range{Reverse: reverse}) {
				if err != nil {
					return err
				}
				got = append(got, e)
			}
			if reverse {
				slices.Reverse(got)
			}
			same := slices.EqualFunc(got, want, func(a, b kv.Entry) bool { return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) })
			if !same {
				t.Errorf("a scan, reverse %v, yields %d entries, or others than these %d", reverse, len(got), len(want))
			}
		}
		return nil
	}
	if err := look(s); err != nil {
		t.Error(err)
	}
	if err := s.View(ctx, look); err != nil {
		t.Error(err)
	}
	if s.Held() != 0 {
		t.Errorf("%d connections are held", s.Held())
	}
}

// A value is replaced by one of another size while its pieces are read: what is read is
// one or the other.
func TestPiecesAreOfOneMoment(t *testing.T) {
	s := open(t, pgtest.Shared(t).URL(t), pgkv.Options{})
	values := [][]byte{bytes.Repeat([]byte("a"), pgkv.PieceBytes+100), bytes.Repeat([]byte("b"), 2*pgkv.PieceBytes)}
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	mustPut(t, s, "k", string(values[0]))
	written := make(chan error, 1)
	go func() {
		for i := range rounds {
			if err := s.Put(ctx, col, []byte("k"), values[i%2]); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	for {
		got, err := s.Get(ctx, col, []byte("k"))
		if err != nil || !bytes.Equal(got, values[0]) && !bytes.Equal(got, values[1]) {
			t.Fatalf("Get of a value that is replaced: %d bytes, %v", len(got), err)
		}
		select {
		case err := <-written:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}

// B06: any bytes, in the order of bytes, in whatever way the driver speaks to the server
// and whatever language the database is in.
func TestB06_AnyBytesInEveryMode(t *testing.T) {
	address := pgtest.Shared(t).URL(t)
	t.Logf("the database sorts text as %s", sql(t, address, "select array_agg(x order by x)::text from unnest(array['a','B','b','Z','é']) x"))
	keys := []string{"\x00", "%", "A_b/1", "B", "Z", "a", "a\x00b", "a%/1", "a\\b/1", "aXb/1", "a_b/1", "b", "é", "\xed\xa0\x80", "\xff", "\xff\xfe", "\xff\xff"}
	slices.Sort(keys)
	values := []string{"\x00", "\xff\xfe", `{"json":"\u0000"}`, "", `\x41`, `\\`, "'", "NULL", "{}", `{"a","b"}`}
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			s := open(t, with(address, "default_query_exec_mode", mode), pgkv.Options{Table: mode})
			err := s.Update(ctx, func(tx kv.KVStorage) error {
				for i, key := range keys {
					if err := tx.Put(ctx, col, []byte(key), []byte(values[i%len(values)])); err != nil {
						return err
					}
				}
				return tx.Put(ctx, kv.Text, []byte("large"), bytes.Repeat([]byte{0, 0xFF, '\\'}, pgkv.PieceBytes/2))
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := keysIn(t, s, ""); !slices.Equal(got, keys) {
				t.Errorf("the order is %q, want %q", got, keys)
			}
			for i, key := range keys {
				wantValue(t, s, key, values[i%len(values)])
			}
			if v, err := s.Get(ctx, kv.Text, []byte("large")); err != nil || !bytes.Equal(v, bytes.Repeat([]byte{0, 0xFF, '\\'}, pgkv.PieceBytes/2)) {
				t.Errorf("a large value: %d bytes, %v", len(v), err)
			}
			// B02, B03: a prefix is one of bytes, whatever they are.
			for _, prefix := range []string{"a_b/", "a%/", "a\\", "a", "\xff", "\xff\xff", ""} {
				var want []string
				for _, key := range keys {
					if strings.HasPrefix(key, prefix) {
						want = append(want, key)
					}
				}
				if got := keysIn(t, s, prefix); !slices.Equal(got, want) {
					t.Errorf("prefix %q: %q, want %q", prefix, got, want)
				}
			}
			if existed, err := s.Delete(ctx, col, []byte("a_b/1")); !existed || err != nil {
				t.Errorf("Delete: %v, %v", existed, err)
			}
			if existed, err := s.Delete(ctx, col, []byte("a_b/1")); existed || err != nil {
				t.Errorf("Delete of what is gone: %v, %v", existed, err)
			}
			wantValue(t, s, "aXb/1", values[slices.Index(keys, "aXb/1")%len(values)])
		})
	}
}

// An Update that always meets another one ends, by its context or as ErrBusy.
func TestConflictsWithoutEnd(t *testing.T) {
	s := open(t, pgtest.Shared(t).URL(t), pgkv.Options{})
	mustPut(t, s, "k", "")
	s.Wait(100*time.Millisecond, time.Second)
	unlucky := func(ctx context.Context) (runs int, err error) {
		err = s.Update(ctx, func(tx kv.KVStorage) error {
			runs++
			if _, err := tx.Get(ctx, col, []byte("k")); err != nil {
				return err
			}
			mustPut(t, s, "k", "another's") // what transactions are not to do, and others do
			return tx.Put(ctx, col, []byte("k"), []byte("own"))
		})
		return runs, err
	}
	if runs, err := unlucky(ctx); !errors.Is(err, kv.ErrBusy) || runs < 2 {
		t.Errorf("%d runs, %v; want ErrBusy", runs, err)
	}
	s.Wait(time.Hour, time.Second)
	ending, stop := context.WithTimeout(ctx, 100*time.Millisecond)
	defer stop()
	if _, err := unlucky(ending); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v; want the error of the context", err)
	}
	wantValue(t, s, "k", "another's")
	if err := s.Put(ctx, col, []byte("k"), []byte("in the end")); err != nil || s.Held() != 0 {
		t.Errorf("%v, %d connections held", err, s.Held())
	}
}

// One Update reads x, which a Put then changes; another reads the new x and the old y;
// the first writes y. All three in an order is impossible, so the first runs again. Only
// a Put that is a serializable transaction itself is noticed.
func TestPutsAreSerializableToo(t *testing.T) {
	s := open(t, pgtest.Shared(t).URL(t), pgkv.Options{})
	mustPut(t, s, "x", "old")
	mustPut(t, s, "y", "old")
	runs := 0
	err := s.Update(ctx, func(tx kv.KVStorage) error {
		x, err := tx.Get(ctx, col, []byte("x"))
		if err != nil {
			return err
		}
		if runs++; runs == 1 {
			mustPut(t, s, "x", "new")
			err = s.Update(ctx, func(other kv.KVStorage) error {
				wantValue(t, other, "x", "new")
				wantValue(t, other, "y", "old")
				return nil
			})
		}
		return errors.Join(err, tx.Put(ctx, col, []byte("y"), x))
	})
	if err != nil || runs != 2 {
		t.Errorf("the first Update ran %d times, %v", runs, err)
	}
	wantValue(t, s, "y", "new")
}
