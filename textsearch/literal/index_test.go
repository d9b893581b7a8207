package literal

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

const ix = "test"

var ctx = context.Background()

// docs is what an index holds: texts by key.
type docs map[string]string

// contentKey is where a text lies that the tests index.
func contentKey(s kv.KVStorage, key string) []byte { return kv.Key(s, "content", key) }

// stored is the Source of the tests.
func stored(ctx context.Context, tx kv.KVStorage, key string) (string, error) {
	text, err := tx.Get(ctx, kv.Archive, contentKey(tx, key))
	return string(text), err
}

// put stores a text and indexes it.
func put(s kv.KVStorage, key, text string) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		if err := tx.Put(ctx, kv.Archive, contentKey(tx, key), []byte(text)); err != nil {
			return err
		}
		return Put(ctx, tx, ix, key, text)
	})
}

func mustPut(tb testing.TB, s kv.KVStorage, key, text string) {
	tb.Helper()
	if err := put(s, key, text); err != nil {
		tb.Fatalf("put %.40q: %v", key, err)
	}
}

func indexed(tb testing.TB, d docs) kv.KVStorage {
	tb.Helper()
	s := memkv.New()
	for key, text := range d {
		mustPut(tb, s, key, text)
	}
	return s
}

func (d docs) seq() iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for key, text := range d {
			if !yield(Document{key, text}, nil) {
				return
			}
		}
	}
}

func mustSearch(tb testing.TB, s kv.KVStorage, q Query) Result {
	tb.Helper()
	r, err := Search(ctx, s, ix, q, stored)
	if err != nil {
		tb.Fatalf("search %+q: %v", q.Text, err)
	}
	return r
}

// wantFound checks that a search finds what is in the texts, with all matches.
func (d docs) wantFound(tb testing.TB, s kv.KVStorage, needle, prefix string) {
	tb.Helper()
	var want, got []string
	for _, key := range slices.Sorted(maps.Keys(d)) {
		if spans := findByModel(d[key], needle); len(spans) > 0 && strings.HasPrefix(key, prefix) {
			want = append(want, fmt.Sprint(key, spans))
		}
	}
	for _, h := range mustSearch(tb, s, Query{Text: needle, KeyPrefix: prefix, Limit: -1, Matches: -1}).Hits {
		got = append(got, fmt.Sprint(h.Key, h.Matches))
	}
	if !slices.Equal(got, want) {
		tb.Errorf("%+q below %q is in %.200q, want %.200q", needle, prefix, fmt.Sprint(got), fmt.Sprint(want))
	}
}

// wantSound checks that the index is that of d.
func (d docs) wantSound(tb testing.TB, s kv.KVStorage) {
	tb.Helper()
	r, err := Check(ctx, s, ix, "", d.seq())
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range r.Faults {
		tb.Errorf("check: %s", f)
	}
	if r.Stray > 0 || r.Documents != uint64(len(d)) {
		tb.Errorf("check: %d texts, want %d; %d values that nothing leads to", r.Documents, len(d), r.Stray)
	}
}

func TestC20_ShortNeedles(t *testing.T) {
	all := docs{
		"1": "quick check says ok to proceed", "2": "the quick brown fox", "3": "quick OK", "4": "修复了一个错误",
		"5": "line a\nb line", "6": "k", "7": "",
	}
	s := indexed(t, all)
	for _, c := range []struct {
		needle string
		keys   string
	}{
		{"ok", "[1]"}, {"OK", "[3]"}, {"k", "[1 2 3 6]"}, {"", "[]"}, {"修复", "[4]"}, {"quick ok", "[3]"}, {"ok to", "[1]"}, {"OK TO", "[1]"},
		{"a\nb", "[5]"}, {all["2"], "[2]"}, {all["2"] + "x", "[]"}, {"THE quick brown fox", "[2]"}, {"\n", "[5]"}, {"zz", "[]"}, {"zzz", "[]"},
	} {
		keys := []string{}
		for _, h := range mustSearch(t, s, Query{Text: c.needle}).Hits {
			keys = append(keys, h.Key)
		}
		if got := fmt.Sprint(keys); got != c.keys {
			t.Errorf("%q is in %s, want %s", c.needle, got, c.keys)
		}
		all.wantFound(t, s, c.needle, "")
	}
	all.wantSound(t, s)
}
