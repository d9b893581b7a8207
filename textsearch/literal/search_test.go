package literal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/textsearch"
	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

func TestC13_RangesOfTheOriginal(t *testing.T) {
	all := docs{
		"1": "İİ error here", "2": "ȺȺ ERROR here", "3": "in İstanbul", "4": "ISPARTA/ısparta", "5": "\u212Aelvin, elKELVIN",
		"6": "bytes \xff\xfe error\xff", "7": "Straße", "8": "e\u0301rror, érror",
	}
	s := indexed(t, all)
	for _, c := range []struct{ needle, want string }{
		{"error", "1[{5 10}] 2[{5 10}] 6[{9 14}]"}, {"istanbul", "3[{3 12}]"}, {"ısparta", "4[{0 7} {8 16}]"},
		{"kelvin", "5[{0 8} {12 18}]"}, {"strasse", "7[{0 7}]"}, {"ÉRROR", "8[{0 7} {9 15}]"}, {"\xfe error", "6[{7 14}]"},
	} {
		var got []string
		for _, h := range mustSearch(t, s, Query{Text: c.needle}).Hits {
			got = append(got, fmt.Sprint(h.Key, h.Matches))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+q is at %v, want %s", c.needle, got, c.want)
		}
		all.wantFound(t, s, c.needle, "")
	}
}

// Pages, however small, are together what one large one is.
func TestPagesNeitherRepeatNorSkip(t *testing.T) {
	all, s := docs{}, memkv.New()
	putMany(t, s, all, 700, func(i int) (string, string) {
		return fmt.Sprintf("k%03d", i), strings.Repeat("x", i%3) + " the word that is meant"
	})
	for i := range 20 { // in the log, between the others
		key := fmt.Sprintf("k%03d+", 37*i)
		all[key] = "meant too"
		mustPut(t, s, key, all[key])
	}
	mustDrop(t, s, "k005")
	delete(all, "k005")
	for _, needle := range []string{"meant", "xx the", "m"} {
		want := keysOf(mustSearch(t, s, Query{Text: needle, Limit: -1}).Hits)
		for _, limit := range []int{1, 7, 100, 719, 720} {
			var got []string
			q := Query{Text: needle, Limit: limit}
			for pages := 0; ; pages++ {
				r := mustSearch(t, s, q)
				if r.Partial || len(r.Hits) > limit || pages > len(want) {
					t.Fatalf("%q, limit %d: page %d: %d hits, partial %t", needle, limit, pages, len(r.Hits), r.Partial)
				}
				got = append(got, keysOf(r.Hits)...)
				if q.After = r.Next; r.Next == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q, limit %d: pages have %d hits, all at once %d", needle, limit, len(got), len(want))
			}
		}
		all.wantFound(t, s, needle, "k1")
		all.wantFound(t, s, needle, "k037+")
	}
	if r := mustSearch(t, s, Query{Text: "meant", KeyPrefix: "k03", After: "k038", Limit: -1}); fmt.Sprint(keysOf(r.Hits)) != "[k039]" {
		t.Errorf("behind k038: %v", keysOf(r.Hits))
	}
	if r := mustSearch(t, s, Query{Text: "meant", KeyPrefix: "k69", After: "k1", Limit: 10}); len(r.Hits) != 10 || r.Next != "" {
		t.Errorf("the last page: %v, next %q", keysOf(r.Hits), r.Next)
	}
}

func keysOf(hits []Hit) (keys []string) {
	for _, h := range hits {
		keys = append(keys, h.Key)
	}
	return keys
}

// A search that would read too much says where it ended, and goes on from there.
func TestSearchIsBounded(t *testing.T) {
	all, s := docs{}, memkv.New()
	long := strings.Repeat("some words, ", 1<<20/12)
	for i := range 40 {
		key := fmt.Sprintf("k%02d", i)
		all[key] = long
		if i == 35 {
			all[key] += "Q"
		}
		mustPut(t, s, key, all[key])
	}
	for needle, limit := range map[string]int{"Q": 1, "words, some words, so": -1} {
		r := mustSearch(t, s, Query{Text: needle, Limit: limit, Matches: 1})
		if !r.Partial || r.Next != "k32" {
			t.Errorf("%q: partial %t, next %q", needle, r.Partial, r.Next)
		}
		found := len(r.Hits)
		r = mustSearch(t, s, Query{Text: needle, Limit: limit, Matches: 1, After: r.Next})
		found += len(r.Hits)
		if want := map[int]int{1: 1, -1: 40}[limit]; found != want || r.Partial {
			t.Errorf("%q: %d hits, want %d; partial %t", needle, found, want, r.Partial)
		}
	}
}

func TestMatchesAndPreviewAreBounded(t *testing.T) {
	s := indexed(t, docs{"a": strings.Repeat("needle and ", 300), "b": "one needle \xff"})
	for _, c := range []struct {
		q             Query
		matches       int
		more          bool
		preview, many int
	}{
		{Query{Text: "needle"}, DefaultMatches, true, DefaultPreview, 100},
		{Query{Text: "needle", Matches: 299, Preview: 50}, 299, true, 50, 100},
		{Query{Text: "needle", Matches: 300, Preview: -1}, 300, false, 0, 0},
		{Query{Text: "needle", Matches: -1, Preview: 5000}, 300, false, 5000, 300},
	} {
		hits := mustSearch(t, s, c.q).Hits
		h := hits[0]
		if len(h.Matches) != c.matches || h.More != c.more || len(h.Preview.Text) > c.preview || len(h.Preview.Spans) > c.many ||
			(c.preview == 0) != (h.Preview.Text == "") {
			t.Errorf("%+v: %d matches, more %t, a preview of %d bytes with %d", c.q, len(h.Matches), h.More, len(h.Preview.Text), len(h.Preview.Spans))
		}
		if fmt.Sprint(hits[1].Matches) != "[{4 10}]" || hits[1].More || c.preview > 0 && hits[1].Preview.Text != "one needle \uFFFD" {
			t.Errorf("%+v: %+v", c.q, hits[1])
		}
	}
	if got := mustSearch(t, s, Query{Text: "needle", Preview: 20}).Hits[0].Preview; !slices.Contains(got.Spans, textsearch.Span{Start: 0, End: 6}) &&
		len(got.Spans) == 0 {
		t.Errorf("a preview without a match: %+v", got)
	}
}

// What is indexed and not there, or not as it was, is no hit, and no error.
func TestGoneContentIsSkipped(t *testing.T) {
	all := docs{"a": "the words meant", "b": "the words meant", "c": "the words meant"}
	s := indexed(t, all)
	if _, err := s.Delete(ctx, kv.Archive, contentKey(s, "a")); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, kv.Archive, contentKey(s, "b"), []byte("others")); err != nil {
		t.Fatal(err)
	}
	delete(all, "a")
	all["b"] = "others"
	all.wantFound(t, s, "meant", "")
	all.wantFound(t, s, "s", "")
	failed := errors.New("failed")
	_, err := Search(ctx, s, ix, Query{Text: "meant"}, func(context.Context, kv.KVStorage, string) (string, error) { return "", failed })
	if !errors.Is(err, failed) {
		t.Errorf("a source that fails: %v", err)
	}
}

func TestSearchIsCancelled(t *testing.T) {
	s := indexed(t, docs{"a": "words", "b": "words", "c": "words"})
	for _, needle := range []string{"words", "w"} {
		ctx, cancel := context.WithCancel(context.Background())
		read := 0
		_, err := Search(ctx, s, ix, Query{Text: needle}, func(ctx context.Context, tx kv.KVStorage, key string) (string, error) {
			read++
			cancel()
			return "words", nil
		})
		if !errors.Is(err, context.Canceled) || read != 1 {
			t.Errorf("%q: %v, after %d texts", needle, err, read)
		}
	}
}

func TestNothingToFind(t *testing.T) {
	s := memkv.New()
	for _, needle := range []string{"", "a", "words"} {
		if r := mustSearch(t, s, Query{Text: needle}); len(r.Hits) > 0 || r.Next != "" {
			t.Errorf("%q in nothing: %+v", needle, r)
		}
	}
	docs{}.wantSound(t, s)
}

// TestConcurrently searches while texts come and go. Every text has its own number in
// words, so that a search which mixed two moments would be seen.
func TestConcurrently(t *testing.T) {
	s := memkv.New()
	text := func(key string, n int) string { return fmt.Sprintf("%s is number %04d of them", key, n) }
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				r, err := Search(ctx, s, ix, Query{Text: "is number", Limit: -1}, stored)
				if err != nil {
					t.Error(err)
					return
				}
				first := ""
				for i, h := range r.Hits {
					number := h.Preview.Text[len(h.Key):]
					if i == 0 {
						first = number
					}
					if number != first || i > 0 && r.Hits[i-1].Key >= h.Key || len(r.Hits) != 5 {
						t.Errorf("two moments in one: %v", r.Hits)
						return
					}
				}
			}
		})
	}
	all := docs{}
	for n := range 120 {
		err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
			for i := range 5 {
				key := fmt.Sprintf("k%d", i)
				all[key] = text(key, n)
				if err := put(tx, key, all[key]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	readers.Wait()
	all.wantSound(t, s)
}

// No text is looked at that has not all trigrams of the needle, wherever these are.
func TestOnlyCandidatesAreRead(t *testing.T) {
	all, s := docs{}, memkv.New()
	putMany(t, s, all, 3000, func(i int) (string, string) {
		return fmt.Sprintf("k%04d", i), []string{"abcd", "bcde", "cdef and abc", "abcde"}[i%4]
	})
	for needle, want := range map[string]int{"abcd": 1500, "abcde": 750, "abcdef": 0, "cdef": 750, "xyz": 0, "ab": 3000} {
		read := 0
		_, err := Search(ctx, s, ix, Query{Text: needle, Limit: -1}, func(ctx context.Context, tx kv.KVStorage, key string) (string, error) {
			read++
			return stored(ctx, tx, key)
		})
		if err != nil || read != want {
			t.Errorf("%q: %d texts are read, want %d; %v", needle, read, want, err)
		}
		all.wantFound(t, s, needle, "")
	}
}

// Texts that are short count for more than their bytes, since reading one costs.
func TestManyShortTextsAreBounded(t *testing.T) {
	all, s := docs{}, memkv.New()
	putMany(t, s, all, MaxRead/minRead+1, func(i int) (string, string) { return fmt.Sprintf("k%06d", i), "" })
	r := mustSearch(t, s, Query{Text: "x"})
	if !r.Partial || r.Next != "k032767" {
		t.Errorf("partial %t, next %q", r.Partial, r.Next)
	}
	if r = mustSearch(t, s, Query{Text: "x", After: r.Next}); r.Partial || r.Next != "" {
		t.Errorf("the rest: partial %t, next %q", r.Partial, r.Next)
	}
}

// unordered is a source of which nothing else is asked.
type unordered struct{ inverted.Source }

func (unordered) Ordered() bool { return false }

// A text that a crash left in two sources is one.
func TestOneTextInTwoSources(t *testing.T) {
	var m merged
	for _, keys := range [][]string{{"a", "c"}, {"b", "c", "d"}, {}} {
		c := &candidates{source: unordered{}, sorted: keys}
		if err := c.move(); err != nil {
			t.Fatal(err)
		}
		m = append(m, c)
	}
	var got []string
	for key := m.key(); key != ""; key = m.key() {
		got = append(got, key)
		if err := m.move(key); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(got) != "[a b c d]" {
		t.Errorf("%v", got)
	}
}

// Whatever is asked for is no error.
func TestAnyBytesAreAQuery(t *testing.T) {
	rng := random(t)
	all, s := everyPart(t)
	all["bytes"] = "\xff\x00common\xc3 7"
	mustPut(t, s, "bytes", all["bytes"])
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	for range n {
		needle := make([]byte, rng.IntN(12))
		for i := range needle {
			needle[i] = byte(rng.Uint32())
		}
		q := Query{Text: string(needle), Limit: rng.IntN(5) - 1, Matches: rng.IntN(5) - 1, Preview: rng.IntN(60) - 1, After: "k3"}
		if rng.IntN(3) == 0 {
			q.Text = "common" + q.Text[:min(1, len(q.Text))]
		}
		mustSearch(t, s, q)
	}
}
