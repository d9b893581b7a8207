package textsearch_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/textsearch"
)

// The model is BM25 computed from the texts themselves, document by document. Its
// words are made from regular verbs, so that it knows their families without a
// stemmer.
type model struct {
	k1, b   float64
	texts   map[string]string
	weights map[string]float64
}

var (
	verbs   = []string{"deploy", "jump", "crash", "fix", "limp", "walk", "talk", "park", "mark", "work"}
	endings = []string{"", "s", "ed", "ing"}
)

// verbOf returns the verb of a word, or the word itself.
func verbOf(word string) string {
	for _, v := range verbs {
		for _, e := range endings {
			if word == v+e {
				return v
			}
		}
	}
	return word
}

func randomWord(rng *rand.Rand) string {
	// The first verbs are common, the last ones rare.
	return verbs[min(rng.IntN(len(verbs)), rng.IntN(len(verbs)))] + endings[rng.IntN(len(endings))]
}

func randomText(rng *rand.Rand) string {
	words := make([]string, rng.IntN(30))
	for i := range words {
		words[i] = randomWord(rng)
	}
	return strings.Join(words, " ")
}

// scores returns the score of every document that matches a query of words, of
// prefixes with *, and of words between quotation marks that must be there.
func (m *model) scores(query []string) map[string]float64 {
	scores := map[string]float64{}
	counts := map[string]float64{}
	for _, q := range query {
		counts[strings.Trim(q, `"`)]++
	}
	for q, count := range counts {
		for key, s := range m.scoreWord(q) {
			scores[key] += count * s
		}
	}
	if m.relaxed(query) {
		return scores
	}
	for _, q := range query {
		if !strings.HasPrefix(q, `"`) {
			continue
		}
		has := m.scoreWord(strings.Trim(q, `"`))
		for key := range scores {
			if _, ok := has[key]; !ok {
				delete(scores, key)
			}
		}
	}
	return scores
}

// relaxed tells whether no document has all that is between quotation marks, and
// there are other words.
func (m *model) relaxed(query []string) bool {
	quoted := map[string]bool{}
	for _, q := range query {
		if strings.HasPrefix(q, `"`) {
			quoted[strings.Trim(q, `"`)] = true
		}
	}
	others := slices.ContainsFunc(query, func(q string) bool { return !quoted[strings.Trim(q, `"`)] })
	left := map[string]int{}
	for q := range quoted {
		for key := range m.scoreWord(q) {
			left[key]++
		}
	}
	for _, n := range left {
		if n == len(quoted) {
			return false
		}
	}
	return others
}

func (m *model) scoreWord(q string) map[string]float64 {
	prefix, isPrefix := strings.CutSuffix(q, "*")
	frequency, exact, length := map[string]float64{}, map[string]float64{}, map[string]float64{}
	most := map[string]float64{} // by document, of one form
	total, forms := 0.0, 0
	for key, text := range m.texts {
		counts := map[string]float64{}
		for _, word := range strings.Fields(text) {
			length[key]++
			total++
			if isPrefix && strings.HasPrefix(word, prefix) || !isPrefix && verbOf(word) == verbOf(q) {
				frequency[key]++
				counts[word]++
			}
			if word == prefix {
				exact[key]++
			}
		}
		forms += len(counts)
		for _, n := range counts {
			most[key] = max(most[key], n)
		}
	}
	// Each form has its own documents: one that has two counts twice.
	n, df := float64(len(m.texts)), math.Min(float64(forms), float64(len(m.texts)))
	idf := math.Log(1 + (n-df+0.5)/(df+0.5))
	scores := map[string]float64{}
	for key := range frequency {
		norm := m.k1 * (1 - m.b + m.b*length[key]*n/total)
		saturation := func(f float64) float64 { return f * (m.k1 + 1) / (f + norm) }
		s := max(saturation(most[key]), 1.3*saturation(exact[key])) // the best of its forms
		scores[key] = m.weights[key] * idf * s
	}
	return scores
}

func randomQuery(rng *rand.Rand) []string {
	query := make([]string, 1+rng.IntN(4))
	for i := range query {
		word := randomWord(rng)
		switch rng.IntN(6) {
		case 0:
			word = word[:1+rng.IntN(len(word))] + "*"
			if len(word) == 2 && word[0] == 'a' {
				word = "w*"
			}
		case 1:
			word = `"` + word + `"`
		}
		query[i] = word
	}
	return query
}

// TestModel puts and drops documents at random, asks at random, and compares with
// the model; in the end with a fresh index.
func TestModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		set := textsearch.Settings{K1: 0.5 + rng.Float64()*2, B: rng.Float64()}
		m := &model{set.K1, set.B, map[string]string{}, map[string]float64{}}
		s := tuned{memkv.New(), set}
		for range 1 + rng.IntN(60) {
			m.change(t, s, rng)
			if rng.IntN(20) == 0 { // into a segment; what comes then is in the log
				if err := textsearch.Optimize(ctx, s, ix); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 20 {
			m.compare(t, s, randomQuery(rng))
		}
		m.wantFresh(t, s)
		if t.Failed() {
			t.Fatalf("in round %d of seed %d", round, seed)
		}
	}
}

// change makes one to three changes in one transaction.
func (m *model) change(t *testing.T, s kv.KVStorage, rng *rand.Rand) {
	t.Helper()
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		for range 1 + rng.IntN(3) {
			key := kv.Join(fmt.Sprint("h", rng.IntN(4)), fmt.Sprint(rng.IntN(20)))
			switch rng.IntN(10) {
			case 0:
				handle := key[:2]
				n, err := textsearch.DropPrefix(ctx, tx, ix, handle)
				if want := m.dropPrefix(handle); n != want || err != nil {
					return fmt.Errorf("DropPrefix(%q) = %d, %v, not %d", handle, n, err, want)
				}
			case 1, 2:
				_, want := m.texts[key]
				existed, err := textsearch.Drop(ctx, tx, ix, key)
				if existed != want || err != nil {
					return fmt.Errorf("Drop(%q) = %t, %v, not %t", key, existed, err, want)
				}
				delete(m.texts, key)
			default:
				m.texts[key], m.weights[key] = randomText(rng), []float64{1, 1.3, 1.5, 3}[rng.IntN(4)]
				if err := textsearch.Put(ctx, tx, ix, key, m.texts[key], m.weights[key]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (m *model) dropPrefix(prefix string) (n int) {
	for key := range m.texts {
		if strings.HasPrefix(key, prefix) {
			delete(m.texts, key)
			n++
		}
	}
	return n
}

// compare asks both, and checks that a smaller limit and a key prefix give a part
// of the same.
func (m *model) compare(t *testing.T, s kv.KVStorage, query []string) {
	t.Helper()
	text := strings.Join(query, " ")
	want := m.scores(query)
	all := search(t, s, textsearch.Query{Text: text, Limit: -1})
	if len(all.Hits) != len(want) || all.Total != len(want) && len(want) > 0 || all.Partial {
		t.Errorf("%s finds %d of %d, want %d", text, len(all.Hits), all.Total, len(want))
	}
	var ofOne []string
	for i, h := range all.Hits {
		if w, ok := want[h.Key]; !ok || math.Abs(h.Score-w) > 1e-9*w {
			t.Errorf("%s: %s has the score %v, want %v", text, h.Key, h.Score, w)
		}
		if h.Rank != i+1 {
			t.Errorf("%s: hit %d has the rank %d", text, i, h.Rank)
		}
		if strings.HasPrefix(h.Key, "h1/") {
			ofOne = append(ofOne, h.Key)
		}
	}
	three := search(t, s, textsearch.Query{Text: text, Limit: 3})
	if got := keys(three.Hits); !slices.Equal(got, keys(all.Hits)[:min(3, len(want))]) {
		t.Errorf("%s: limit 3 finds %q of %q", text, got, keys(all.Hits))
	}
	one := search(t, s, textsearch.Query{Text: text, KeyPrefix: "h1/", Limit: -1})
	if got := keys(one.Hits); !slices.Equal(got, ofOne) {
		t.Errorf("%s: below h1/ %q, want %q", text, got, ofOne)
	}
}

func (m *model) wantFresh(t *testing.T, s kv.KVStorage) {
	t.Helper()
	wantSound(t, s, func(yield func(textsearch.Document, error) bool) {
		for key, text := range m.texts {
			if !yield(textsearch.Document{Key: key, Text: text, Weight: m.weights[key]}, nil) {
				return
			}
		}
	})
}
