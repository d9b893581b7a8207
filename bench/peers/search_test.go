package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tinyMessages are made of words that no analyzer changes, few of them frequent: what
// finds them can be told without an engine.
func tinyMessages(n int) []string {
	random := rand.New(rand.NewPCG(3, 3))
	frequent := rand.NewZipf(random, 1.1, 4, 1999)
	syllables := strings.Fields("ka bo du mi zo ru pa lo vi nu")
	word := func() string {
		i := int(frequent.Uint64())
		return syllables[i%10] + syllables[i/10%10] + syllables[i/100%10] + syllables[i/1000] + "k"
	}
	var all []string
	for range n {
		var words []string
		for range shortestMessage + random.IntN(20) {
			words = append(words, word())
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

// modelKeys finds documents by reading all.
func modelKeys(docs []document, q query) []string {
	var keys []string
	for _, d := range docs {
		words := strings.Fields(d.text)
		found := slices.ContainsFunc(q.Words, func(w string) bool {
			switch q.Kind {
			case literal:
				return strings.Contains(d.text, w)
			case prefix:
				return slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, w) })
			}
			return slices.Contains(words, w)
		})
		if found {
			keys = append(keys, d.key)
		}
	}
	return keys
}

const tinySize = 600

// tinyCorpus writes the tiny messages to a file.
func tinyCorpus(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "corpus.txt")
	check(t, writeMessages(path, tinyMessages(tinySize)))
	return path
}

// Every engine must find what reading all finds: as loaded in either way, after
// closing and after optimizing.
func TestIndexers(t *testing.T) {
	docs, err := readDocuments(&searchJob{Corpus: tinyCorpus(t), Messages: tinySize})
	check(t, err)
	queries, err := drawQueries(tinyMessages(tinySize), 10)
	check(t, err)
	for _, e := range indexers() {
		t.Run(e.name, func(t *testing.T) {
			dir := t.TempDir()
			x, err := e.open(dir, true)
			check(t, err)
			for i := range 20 {
				check(t, x.add(docs[i:i+1]))
			}
			check(t, x.add(docs[20:]))
			checkIndex(t, e, x, docs, queries)
			check(t, x.optimize())
			check(t, x.close())
			x, err = e.open(dir, false)
			check(t, err)
			checkIndex(t, e, x, docs, queries)
			check(t, x.close())
		})
	}
}

func checkIndex(t *testing.T, e indexer, x index, docs []document, queries []query) {
	t.Helper()
	for _, q := range queries {
		if !e.answers(queryKind{id: q.Kind}) {
			continue
		}
		want := modelKeys(docs, q)
		n, err := x.count(q)
		check(t, err)
		if n != len(want) {
			t.Errorf("%s %q: %d documents, want %d", q.Kind, q.Words, n, len(want))
		}
		keys, err := x.top(q)
		check(t, err)
		if len(keys) != min(topHits, len(want)) {
			t.Errorf("%s %q: %d hits, want %d", q.Kind, q.Words, len(keys), min(topHits, len(want)))
		}
		for _, key := range keys {
			if !slices.Contains(want, key) {
				t.Errorf("%s %q: %s is no hit", q.Kind, q.Words, key)
			}
		}
	}
}

func TestLiteralsWithQuotes(t *testing.T) {
	e, err := indexerNamed("trigram")
	check(t, err)
	x, err := e.open(t.TempDir(), false)
	check(t, err)
	check(t, x.add([]document{{"1", `He said "wait for me" OR* twice.`}, {"2", "He said wait for me or twice."}}))
	for _, text := range []string{`"WAIT for me"`, `me" OR* twi`} {
		if keys, err := x.top(query{Kind: literal, Words: []string{text}}); err != nil || fmt.Sprint(keys) != "[1]" {
			t.Errorf("%s: %q, %v", text, keys, err)
		}
	}
	check(t, x.close())
}

// Every engine must have a figure on every line that it has an answer for, and no
// other. That they agree, run checks.
func TestEverySearchLineOnEveryEngine(t *testing.T) {
	b := searchBench{indexers: indexers(), corpus: tinyCorpus(t), messages: tinySize, commits: 50, queries: 10, rounds: 1, progress: io.Discard}
	found, err := b.run(t.Context(), t.TempDir())
	check(t, err)
	for _, e := range b.indexers {
		for _, l := range searchLines() {
			value, ok := found.figures.median(e.name, l.id)
			if want := answersLine(e, l); ok != want {
				t.Errorf("%s: %s: measured is %v, want %v", e.name, l.id, ok, want)
			}
			if mayBeZero := l.unit == "MiB"; ok && !mayBeZero && value <= 0 {
				t.Errorf("%s: %s is %v", e.name, l.id, value)
			}
		}
	}
	if a := found.answers["words that analysis leaves alone"]; a.Count < 20 {
		t.Errorf("the engines agree on %d documents only", a.Count)
	}
	text := string(b.report(machine{}, found.figures, time.Now(), nil).markdown())
	for _, l := range searchLines() {
		if !strings.Contains(text, "\n| "+l.title+" | "+l.unit+" |") {
			t.Errorf("the table lacks %q", l.title)
		}
	}
	for row := range strings.Lines(text) {
		if columns := 4 + len(b.indexers); strings.HasPrefix(row, "|") && strings.Count(row, "|") != columns {
			t.Errorf("a row of other than %d columns: %s", columns-1, row)
		}
	}
}

// answersLine tells whether an engine has a figure on a line.
func answersLine(e indexer, l line) bool {
	for _, k := range queryKinds {
		if l.id == k.id+"-median" || l.id == k.id+"-99" || l.id == k.id+"-hits" {
			return e.answers(k)
		}
	}
	return true
}

func TestQueriesAreTheSameEachTime(t *testing.T) {
	messages := tinyMessages(tinySize)
	first, err := drawQueries(messages, 5)
	check(t, err)
	again, err := drawQueries(messages, 5)
	check(t, err)
	if fmt.Sprint(first) != fmt.Sprint(again) || len(first) != 5*len(queryKinds) {
		t.Errorf("%v and %v", first, again)
	}
	for _, q := range first {
		if words := map[string]int{mixed: 3, threeCommon: 3}[q.Kind]; len(q.Words) != max(1, words) {
			t.Errorf("%s: %q", q.Kind, q.Words)
		}
		if size := len(q.Words[0]); q.Kind == prefix && size != 4 || q.Kind == literal && (size < 10 || size > 20) {
			t.Errorf("%s: %q", q.Kind, q.Words)
		}
	}
	if _, err := drawQueries(messages[:10], 1); err == nil {
		t.Error("queries are drawn from ten messages")
	}
}

func TestWordsThatAnalysisLeavesAlone(t *testing.T) {
	v := newVocabulary([]string{
		"The kabok ran, the dog runs (lobok).", `a dog's file zukok.txt and "mizok"`, "parseDuvok is the Vibok of nuruk_x", "pavik", "pávik",
	})
	for word, want := range map[string]bool{
		"kabok": true, "lobok": true, "mizok": true, "vibok": true,
		"dog":   false, // dog's
		"zukok": false, // in zukok.txt
		"duvok": false, // in parseDuvok
		"nuruk": false, // in nuruk_x
		"pavik": false, // pávik without its accent
		"runs":  true,  // ran has another stem
	} {
		if v.certain(word) != want {
			t.Errorf("%s: %v", word, !want)
		}
	}
	if newVocabulary([]string{"run runs"}).certain("run") {
		t.Error("run and runs are one word to some")
	}
}

func TestStopwordsAreNoQueries(t *testing.T) {
	v := newVocabulary([]string{"also which kabok must lobok", "also which mizok must", "just"})
	if got, err := v.between(1, 2); err != nil || fmt.Sprint(got) != "[kabok lobok mizok]" {
		t.Errorf("%v, %v", got, err)
	}
}

// A rare form of a frequent word is not rare to who finds inflections.
func TestRareWordsAreRareInEveryForm(t *testing.T) {
	v := newVocabulary([]string{"walk kabok", "walks lobok", "walked mizok", "walking"})
	if got, err := v.between(1, 3); err != nil || fmt.Sprint(got) != "[kabok lobok mizok]" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := v.between(1, 4); err != nil || len(got) != 7 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestSearchFlags(t *testing.T) {
	b, dir, out, err := parseSearchFlags([]string{"-engines", "bleve,crabdb", "-n", "5000", "-dir", "d", "-out", "o"}, io.Discard)
	if err != nil || len(b.indexers) != 2 || b.indexers[0].name != "bleve" || b.messages != 5000 || dir != "d" || out != "o" {
		t.Fatalf("%+v, %v", b, err)
	}
	for _, args := range [][]string{{"-engines", "oracle"}, {"-n", "1"}, {"-queries", "0"}, {"-commits", "0"}, {"-rounds", "0"}, {"more"}} {
		if _, _, _, err := parseSearchFlags(args, io.Discard); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
	b.corpus = filepath.Join(t.TempDir(), "none")
	if _, err := b.run(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "go run . corpus") {
		t.Errorf("without a corpus: %v", err)
	}
}
