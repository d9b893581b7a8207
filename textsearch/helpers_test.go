package textsearch_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/textsearch"
)

const ix = "test"

var ctx = context.Background()

// docs is what an index holds: texts by key, all of weight 1.
type docs map[string]string

// indexed returns a store with an index of d.
func indexed(tb testing.TB, d docs) kv.KVStorage {
	tb.Helper()
	s := memkv.New()
	for key, text := range d {
		put(tb, s, key, text)
	}
	return s
}

func put(tb testing.TB, s kv.KVStorage, key, text string) {
	tb.Helper()
	if err := textsearch.Put(ctx, s, ix, key, text, 1); err != nil {
		tb.Fatalf("put %.40q: %v", key, err)
	}
}

func drop(tb testing.TB, s kv.KVStorage, key string) {
	tb.Helper()
	if existed, err := textsearch.Drop(ctx, s, ix, key); err != nil || !existed {
		tb.Fatalf("drop %q: %t, %v", key, existed, err)
	}
}

// find returns all hits of a query, and checks what holds of every result.
func find(tb testing.TB, s kv.KVStorage, query string) []textsearch.Hit {
	tb.Helper()
	return search(tb, s, textsearch.Query{Text: query, Limit: -1}).Hits
}

func search(tb testing.TB, s kv.KVStorage, q textsearch.Query) textsearch.Result {
	tb.Helper()
	r, err := textsearch.Search(ctx, s, ix, q)
	if err != nil {
		tb.Fatalf("search %q: %v", q.Text, err)
	}
	for i, h := range r.Hits {
		if !(h.Score > 0) || h.Score > 1e12 {
			tb.Fatalf("search %q: %q has the score %v", q.Text, h.Key, h.Score)
		}
		if len(h.Words) == 0 {
			tb.Fatalf("search %q: %q matches no word", q.Text, h.Key)
		}
		if i == 0 {
			continue
		}
		if last := r.Hits[i-1]; last.Score < h.Score || last.Score == h.Score && last.Key >= h.Key {
			tb.Fatalf("search %q: %v comes before %v", q.Text, last, h)
		}
	}
	return r
}

// keys returns the keys of hits, in order.
func keys(hits []textsearch.Hit) []string {
	var k []string
	for _, h := range hits {
		k = append(k, h.Key)
	}
	return k
}

// wantKeys checks that a query finds these documents, in any order.
func wantKeys(tb testing.TB, s kv.KVStorage, query string, want ...string) {
	tb.Helper()
	got := keys(find(tb, s, query))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		tb.Errorf("%q finds %q, want %q", query, got, want)
	}
}

// wantFirst checks that a query finds this document before all others.
func wantFirst(tb testing.TB, s kv.KVStorage, query, want string) {
	tb.Helper()
	hits := find(tb, s, query)
	if len(hits) == 0 || hits[0].Key != want || len(hits) > 1 && hits[1].Score == hits[0].Score {
		tb.Errorf("%q finds %v, want %q alone in front", query, hits, want)
	}
}

// dump is the whole text column, a line a key.
func dump(tb testing.TB, s kv.KVStorage) string {
	tb.Helper()
	var b strings.Builder
	for e, err := range s.Scan(ctx, kv.Text, nil) {
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(&b, "%q %q\n", e.Key, e.Value)
	}
	return b.String()
}

// seq yields what an index of d has to hold.
func (d docs) seq() iter.Seq2[textsearch.Document, error] {
	return func(yield func(textsearch.Document, error) bool) {
		for key, text := range d {
			if !yield(textsearch.Document{Key: key, Text: text, Weight: 1}, nil) {
				return
			}
		}
	}
}

// rebuild makes the index anew from d.
func rebuild(tb testing.TB, s kv.KVStorage, d docs) {
	tb.Helper()
	r, err := textsearch.BeginRebuild(ctx, s, ix)
	if err == nil {
		err = kv.Update(ctx, s, func(tx kv.KVStorage) error {
			b, err := r.Batch(ctx, tx)
			for key, text := range d {
				if err == nil {
					err = b.Put(ctx, key, text, 1)
				}
			}
			if err != nil {
				return err
			}
			return b.Flush(ctx)
		})
	}
	if err == nil {
		err = r.Finish(ctx, s)
	}
	if err != nil {
		tb.Fatalf("rebuild: %v", err)
	}
}

// wantFresh checks that a store holds what a fresh index of d holds, and nothing
// else.
func wantFresh(tb testing.TB, s kv.KVStorage, d docs) {
	tb.Helper()
	wantSound(tb, s, d.seq())
	fresh, err := textsearch.Check(ctx, indexed(tb, d), ix, "", nil)
	if err != nil {
		tb.Fatal(err)
	}
	got, err := textsearch.Check(ctx, s, ix, "", nil)
	if err != nil {
		tb.Fatal(err)
	}
	if got.Documents != fresh.Documents || got.Length != fresh.Length {
		tb.Errorf("the index has %d documents of %d words, a fresh one %d of %d", got.Documents, got.Length, fresh.Documents, fresh.Length)
	}
}

// wantSound checks that Check finds nothing wrong.
func wantSound(tb testing.TB, s kv.KVStorage, d iter.Seq2[textsearch.Document, error]) {
	tb.Helper()
	r, err := textsearch.Check(ctx, s, ix, "", d)
	if err != nil {
		tb.Fatal(err)
	}
	for _, fault := range r.Faults {
		tb.Errorf("check: %s", fault)
	}
	if r.Stray > 0 {
		tb.Errorf("check: %d values that nothing leads to", r.Stray)
	}
}
