package textsearch_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/textsearch"
)

func TestC01_CommonTermsScoreAboveZero(t *testing.T) {
	pink := strings.TrimSpace(strings.Repeat("pink ", 10))
	for _, test := range []struct {
		docs  docs
		query string
		order []string // of the hits; equal letters of the key's name do not matter
	}{
		{docs{"a": "alpha"}, "alpha", []string{"a"}},
		{docs{"once": "alpha beta", "twice": "alpha alpha"}, "alpha", []string{"twice", "once"}},
		{docs{"a": "alpha", "b": "alpha", "c": "gamma", "d": "delta"}, "alpha", []string{"a", "b"}},
		{docs{"ten": pink, "two": "blue blue pink", "one": "red pink"}, "pink", []string{"ten", "one", "two"}},
	} {
		s := indexed(t, test.docs)
		for range 50 {
			for key, text := range test.docs {
				drop(t, s, key)
				put(t, s, key, text)
			}
		}
		if got := keys(find(t, s, test.query)); fmt.Sprint(got) != fmt.Sprint(test.order) {
			t.Errorf("%v: %q finds %v, want %v", test.docs, test.query, got, test.order)
		}
		wantFresh(t, s, test.docs)
	}
}

// At equal length more occurrences never score lower.
func TestC01_MoreIsNeverLess(t *testing.T) {
	s := memkv.New()
	for n := range 20 {
		put(t, s, fmt.Sprintf("%02d", n), strings.Repeat("alpha ", n)+strings.Repeat("beta ", 20-n))
	}
	hits := find(t, s, "alpha")
	if len(hits) != 19 {
		t.Fatalf("%d hits", len(hits))
	}
	for i, h := range hits {
		if want := fmt.Sprintf("%02d", 19-i); h.Key != want {
			t.Errorf("hit %d is %s, want %s", i, h.Key, want)
		}
	}
}

func TestC02_EmptyDocuments(t *testing.T) {
	s := memkv.New()
	wantKeys(t, s, "alpha")
	all := docs{"d1": "", "d2": "the of", "d3": "alpha"}
	for key, text := range all {
		put(t, s, key, text)
	}
	wantKeys(t, s, "alpha", "d3")
	drop(t, s, "d3")
	wantKeys(t, s, "alpha")
	drop(t, s, "d2")
	wantKeys(t, s, "alpha") // the only document is empty
	wantKeys(t, s, "")
	wantFresh(t, s, docs{"d1": ""})
	drop(t, s, "d1")
	if left := dump(t, s); left != "" {
		t.Errorf("an index without documents holds\n%s", left)
	}
}

// The figures of one search, by hand: two documents of 2 and 4 words, mean 3.
func TestScoreByHand(t *testing.T) {
	s := memkv.New()
	if err := textsearch.Put(ctx, s, ix, "short", "deployment done", 2); err != nil {
		t.Fatal(err)
	}
	put(t, s, "long", "deploying deploys every day")
	idf := math.Log(1 + 0.5/2.5) // both have the stem: (2-2+0.5)/(2+0.5)
	// k1 2, b 0.75: the norm of length 2 is 2*(0.25+0.75*2/3) = 1.5, of 4 2.5.
	short := 1 * 3 / (1 + 1.5)
	long := 1 * 3 / (1 + 2.5)
	want := map[string]float64{
		"short": 2 * idf * 1.3 * short, // the exact form, and weight 2
		"long":  idf * long,            // the better of two forms, each once
	}
	for _, h := range find(t, s, "deployment") {
		if math.Abs(h.Score-want[h.Key]) > 1e-12 {
			t.Errorf("%s has the score %v, want %v", h.Key, h.Score, want[h.Key])
		}
	}
}

func TestWeight(t *testing.T) {
	s := memkv.New()
	for key, w := range map[string]float64{"a": 1, "b": 1.5, "c": textsearch.MaxWeight, "d": textsearch.MinWeight} {
		if err := textsearch.Put(ctx, s, ix, key, "word", w); err != nil {
			t.Fatal(err)
		}
	}
	hits := find(t, s, "word")
	if got := keys(hits); fmt.Sprint(got) != "[c b a d]" {
		t.Errorf("hits by weight: %v", got)
	}
	if ratio := hits[1].Score / hits[2].Score; math.Abs(ratio-1.5) > 1e-12 {
		t.Errorf("weight 1.5 scores %v times as much as 1", ratio)
	}
	before := dump(t, s)
	for _, w := range []float64{0, -1, math.NaN(), math.Inf(1), 1e7, 1e-7, math.SmallestNonzeroFloat64} {
		if err := textsearch.Put(ctx, s, ix, "x", "word", w); !errors.Is(err, textsearch.ErrWeight) {
			t.Errorf("weight %v: %v", w, err)
		}
	}
	if dump(t, s) != before {
		t.Error("a refused weight changed the index")
	}
}

// tuned is a store with settings, the way a wrapper of a program would be.
type tuned struct {
	kv.KVStorage
	settings textsearch.Settings
}

func (s tuned) Unwrap() kv.KVStorage              { return s.KVStorage }
func (s tuned) TextSettings() textsearch.Settings { return s.settings }

func TestSettings(t *testing.T) {
	d := docs{"once": "alpha beta", "often": strings.Repeat("alpha ", 8), "long": "alpha " + strings.Repeat("beta ", 50)}
	// Without k1 only presence counts, and length does not.
	flat := tuned{indexed(t, d), textsearch.Settings{K1: -1, B: 0.5}}
	hits := find(t, flat, "alpha")
	if len(hits) != 3 || hits[0].Score != hits[2].Score {
		t.Errorf("k1 below zero: %v", hits)
	}
	// Without b the length does not count: once and long are equal.
	even := tuned{indexed(t, d), textsearch.Settings{B: -1}}
	hits = find(t, even, "alpha")
	if len(hits) != 3 || hits[0].Key != "often" || hits[1].Score != hits[2].Score {
		t.Errorf("b below zero: %v", hits)
	}
	for _, bad := range []textsearch.Settings{{K1: math.NaN()}, {K1: math.Inf(1)}, {B: math.NaN()}, {B: 1.1}, {Language: "klingon"}} {
		if _, err := textsearch.Search(ctx, tuned{memkv.New(), bad}, ix, textsearch.Query{Text: "x"}); !errors.Is(err, textsearch.ErrSettings) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// An index is searched in the language in which it was begun, and a rebuild turns
// it to the one that is set.
func TestLanguage(t *testing.T) {
	plain := memkv.New()
	german := tuned{plain, textsearch.Settings{Language: "german"}}
	if err := textsearch.Put(ctx, german, ix, "d", "die Häuser", 1); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, german, "haus", "d")
	wantKeys(t, plain, "haus", "d")
	rebuild(t, plain, docs{"d": "die Häuser"})
	wantKeys(t, plain, "haus")
	wantKeys(t, plain, "häuser", "d")
	wantFresh(t, plain, docs{"d": "die Häuser"})
}
