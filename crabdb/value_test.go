package crabdb

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// An empty value is there and is not nil, an absent key is not, through everything
// that happens to a store.
func TestA25_EmptyValues(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		path := newPath(t)
		db := mustOpen(t, path, opts)
		must(t, db.Put(ctx, 1, []byte("empty"), []byte{}))
		must(t, db.Put(ctx, 1, []byte("nil"), nil))
		must(t, db.Put(ctx, 1, []byte("emptied"), []byte("not yet")))
		must(t, db.Put(ctx, 1, []byte("emptied"), nil))
		in(t, db, func(tx *Tx) {
			must(t, tx.Put(1, []byte("batch"), nil))
			must(t, tx.Put(2, []byte("batch"), []byte{}))
			got, err := tx.Get(1, []byte("batch"))
			if err != nil || got == nil || len(got) != 0 {
				t.Errorf("in the transaction: %v, %v", got, err)
			}
		})
		want := keys("empty", "nil", "emptied", "batch")
		want[id{2, "batch"}] = ""
		check := func(when string) {
			wantContent(t, db, want)
			for k := range want {
				got, err := db.Get(ctx, k.col, []byte(k.key))
				if err != nil || got == nil {
					t.Errorf("%s: %q is %v, %v", when, k, got, err)
				}
				if ok, err := db.Has(ctx, k.col, []byte(k.key)); !ok || err != nil {
					t.Errorf("%s: Has %q: %v, %v", when, k, ok, err)
				}
			}
			for e, err := range db.Scan(ctx, 1, Range{}) {
				must(t, err)
				if e.Value == nil {
					t.Errorf("%s: a scan yields nil for %q", when, e.Key)
				}
			}
			for e, err := range db.Scan(ctx, 1, Range{KeysOnly: true}) {
				must(t, err)
				if e.Value != nil {
					t.Errorf("%s: a scan of keys yields a value for %q", when, e.Key)
				}
			}
			wantAbsent(t, db, "absent", "emp", "empty ")
			if ok, err := db.Has(ctx, 1, []byte("absent")); ok || err != nil {
				t.Errorf("%s: Has: %v, %v", when, ok, err)
			}
		}
		check("at first")
		for _, step := range []string{"checkpoint", "reopen", "compact", "reopen"} {
			switch step {
			case "checkpoint":
				must(t, db.Checkpoint(ctx))
			case "compact":
				must(t, db.Compact(ctx))
			default:
				mustClose(t, db)
				db = mustOpen(t, path, opts)
			}
			check("after " + step)
		}
	})
}

// Keys and values of every size around the borders come back as they were, and what
// is over a limit is refused before anything is written.
func TestSizesAndLimits(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		path := newPath(t)
		db := mustOpen(t, path, opts)
		want := content{}
		add := func(key, value string) {
			putIn(t, db, 1, key, value)
			want[id{1, key}] = value
		}
		overhead := db.size(4, 0)
		for _, n := range []int{0, 1, 127, 128, 1023, 1024, 1025, 4095, 65535 - overhead - 1, 65535 - overhead, 65535 - overhead + 1, 1 << 16, windowSize - 1, windowSize, windowSize + 1} {
			add(fmt.Sprintf("%04x", n)[:4], strings.Repeat("v", n))
		}
		for _, n := range []int{1, 2, 255, 256, 1024, 1025, 4096, MaxKey - 1, MaxKey} {
			add(strings.Repeat("k", n), fmt.Sprint(n))
		}
		check := func() {
			wantContent(t, db, want)
			wantSound(t, db)
		}
		check()
		before := stats(t, db).File
		long := make([]byte, MaxKey+1)
		for _, k := range []byte{0, 1} {
			wantError(t, db.Put(ctx, k, long, nil), ErrKeyTooLarge)
		}
		wantError(t, db.Put(ctx, 1, []byte("k"), make([]byte, MaxValue+1)), ErrValueTooLarge)
		wantError(t, db.Update(ctx, func(tx *Tx) error { return tx.Put(1, long, nil) }), ErrKeyTooLarge)
		if existed, err := db.Delete(ctx, 1, long); existed || err != nil {
			t.Errorf("a delete of a key too long: %v, %v", existed, err)
		}
		if _, err := db.Get(ctx, 1, long); err != ErrNotFound {
			t.Errorf("a get of a key too long: %v", err)
		}
		if after := stats(t, db).File; after != before {
			t.Errorf("%d bytes were written", after-before)
		}
		must(t, db.Compact(ctx))
		check()
		for _, n := range []int{65535, 1 << 16} { // replace long ones: their sizes are not in the index
			add(fmt.Sprintf("%04x", n)[:4], "short")
		}
		check()
		mustClose(t, db)
		db = mustOpen(t, path, opts)
		check()
	})
}

// What goes in and what comes out belongs to the caller, who may change it.
func TestSlicesAreTheCallers(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		db := mustOpen(t, newPath(t), opts)
		key, value := []byte("key"), []byte("value")
		must(t, db.Put(ctx, 1, key, value))
		in(t, db, func(tx *Tx) {
			k2, v2 := []byte("other"), []byte("one")
			must(t, tx.Put(1, k2, v2))
			copy(k2, "XXXXX")
			copy(v2, "YYY")
			got, err := tx.Get(1, []byte("other"))
			must(t, err)
			spoilAll(got)
		})
		copy(key, "XXX")
		copy(value, "YYYYY")
		want := keys("key=value", "other=one")
		for range 2 {
			got, err := db.Get(ctx, 1, []byte("key"))
			must(t, err)
			spoilAll(got)
			var kept []Entry
			for e, err := range db.Scan(ctx, 1, Range{}) {
				must(t, err)
				kept = append(kept, Entry{append(e.Key, "more"...), append(e.Value, "more"...)})
			}
			if len(kept) != 2 || string(kept[0].Key) != "keymore" || string(kept[1].Key) != "othermore" || string(kept[0].Value) != "valuemore" {
				t.Fatalf("kept: %q", kept)
			}
			for _, e := range kept {
				spoilAll(e.Key)
				spoilAll(e.Value)
			}
			wantContent(t, db, want)
		}
	})
}

func spoilAll(b []byte) {
	for i := range b {
		b[i] = '!'
	}
}

// Columns are apart, keys come in the order of their bytes, and ranges are what they
// say, both ways: compared with a sorted list.
func TestRanges(t *testing.T) {
	all := []string{
		"", "\x00", "\x00\x00", "A_b/1", "a", "a%/1", "a\\b/1", "a_b/", "a_b/1", "a_b/1\x00", "a_b/2", "aXb/1", "ab", "abc/1", "b",
		"\x03\xAA\xFF", "\x03\xAA\xFF\x00", "\x03\xAB", "\x03\xFF\xFF", "\x03\xFF\xFF\xFF", "\x04", "\xC3\xA9", "\xFE", "\xFF", "\xFF\x00", "\xFF\xFF", "\xFF\xFF\xFF", "\xFF\xFF\x01",
	}
	slices.Sort(all)
	bounds := append([]string{"a_", "c", "\x03\xAA", "\xFF\xFF\xFF\xFF", "a_b"}, all...)
	db := mustOpen(t, newPath(t), quiet())
	for _, col := range []byte{0, 7, 255} {
		for _, k := range all {
			putIn(t, db, col, k, "value of "+k)
		}
	}
	for _, col := range []byte{0, 7, 254, 255} {
		for _, prefix := range bounds {
			for _, after := range append([]string{"none"}, bounds...) {
				for _, reverse := range []bool{false, true} {
					r := Range{Prefix: []byte(prefix), Reverse: reverse, KeysOnly: true}
					var want []string
					for _, k := range all {
						if col == 254 || !strings.HasPrefix(k, prefix) || after != "none" && (k == after || (k > after) == reverse) {
							continue
						}
						want = append(want, k)
					}
					if after != "none" {
						r.After = []byte(after)
					}
					if reverse {
						slices.Reverse(want)
					}
					var got []string
					for e, err := range db.Scan(ctx, col, r) {
						must(t, err)
						got = append(got, string(e.Key))
					}
					if !slices.Equal(got, want) {
						t.Fatalf("column %d, %+v: %q, want %q", col, r, got, want)
					}
				}
			}
		}
	}
}

// A scan that is left early costs nothing and holds nothing.
func TestScanLeftEarly(t *testing.T) {
	db := mustOpen(t, newPath(t), quiet())
	for i := range 100 {
		put(t, db, fmt.Sprint(i), "v")
	}
	scan := db.Scan(ctx, 1, Range{})
	for range 3 {
		for e, err := range scan { // and begun anew
			must(t, err)
			if !bytes.Equal(e.Key, []byte("0")) {
				t.Fatalf("it begins with %q", e.Key)
			}
			break
		}
	}
	if n := db.log.refs.Load(); n != 1 {
		t.Errorf("%d references to the file are held", n)
	}
}
