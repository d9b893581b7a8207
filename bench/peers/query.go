package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/go-porterstemmer"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/crabstore/crabstore/textsearch"
	"golang.org/x/text/unicode/norm"
)

// query asks for documents that have one of the words at least.
type query struct {
	Kind  string // the id of its queryKind
	Words []string

	// Certain tells that every engine must find the same documents, since the word has
	// one form alone and stands between spaces wherever it does.
	Certain bool
}

// text joins the words, each in a format.
func (q query) text(separator, format string) string {
	var all []string
	for _, w := range q.Words {
		all = append(all, fmt.Sprintf(format, w))
	}
	return strings.Join(all, separator)
}

// queryKind is what the lines of the table tell queries apart by.
type queryKind struct{ id, title string }

const (
	rare        = "rare"
	middling    = "middling"
	common      = "common"
	mixed       = "mixed"
	threeCommon = "three-common"
	prefix      = "prefix"
	literal     = "literal"
)

var queryKinds = []queryKind{
	{rare, "rare word (2 to 20 messages)"},
	{middling, "middling word (100 to 1,000)"},
	{common, "common word (3 % and more)"},
	{mixed, "three words: rare, middling, common"},
	{threeCommon, "three common words"},
	{prefix, "prefix of four letters"},
	{literal, "literal of 10 to 20 characters"},
}

// vocabulary is what queries are drawn from.
type vocabulary struct {
	messages []string
	counts   map[string]int // of messages that have a word: a run of letters and digits
	bare     map[string]int // the same for words between spaces and punctuation
	parts    map[string]int // the same for parts of identifiers, accents taken off
	porter   map[string]int // of words that have a stem
	snowball map[string]int
	families map[string]int // by Snowball's stem, the sum of the counts
}

func newVocabulary(messages []string) *vocabulary {
	v := &vocabulary{messages, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}}
	for _, m := range messages {
		lower := strings.ToLower(m)
		countOnce(v.counts, strings.FieldsFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
		bare := strings.Fields(lower)
		for i := range bare {
			bare[i] = strings.Trim(bare[i], `.,;:!?()"`)
		}
		countOnce(v.bare, bare)
		countOnce(v.parts, partsOf(m))
	}
	for w, n := range v.counts {
		v.families[snowballOf(w)] += n
		v.addStems(w)
	}
	for w := range v.parts {
		if v.counts[w] == 0 { // it is in identifiers alone, in which some engines look
			v.addStems(w)
		}
	}
	return v
}

func (v *vocabulary) addStems(word string) {
	v.porter[porterstemmer.StemString(word)]++
	v.snowball[snowballOf(word)]++
}

func snowballOf(word string) string {
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}

// countOnce counts each word of a message once.
func countOnce(counts map[string]int, words []string) {
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		counts[w]++
	}
}

// partsOf returns the runs of letters of one case or digits, as in parseHTMLTwice2,
// in lower case.
func partsOf(text string) []string {
	var parts []string
	var part []rune
	flush := func() {
		if len(part) > 0 {
			parts = append(parts, strings.ToLower(string(part)))
		}
		part = part[:0]
	}
	for _, r := range norm.NFKD.String(text) {
		switch {
		case unicode.Is(unicode.Mn, r):
			continue
		case !unicode.IsLetter(r):
			flush()
			continue
		case unicode.IsUpper(r) && len(part) > 0 && !unicode.IsUpper(part[len(part)-1]):
			flush()
		}
		part = append(part, r)
	}
	flush()
	return parts
}

// certain tells whether analysis cannot matter for a word.
func (v *vocabulary) certain(word string) bool {
	n := v.counts[word]
	return v.bare[word] == n && v.parts[word] == n &&
		v.porter[porterstemmer.StemString(word)] == 1 && v.snowball[snowballOf(word)] == 1
}

// between returns the words that at least so many messages have, and with their
// inflections at most so many, and that queries are made of.
func (v *vocabulary) between(least, most int) ([]string, error) {
	stopwords := analysis.NewTokenMap()
	if err := stopwords.LoadBytes(en.EnglishStopWords); err != nil {
		return nil, err
	}
	var all []string
	for _, w := range slices.Sorted(maps.Keys(v.counts)) {
		if n := v.counts[w]; n >= least && isQueryWord(w) && v.families[snowballOf(w)] <= most && !stopwords[w] && !isOurStopword(w) {
			all = append(all, w)
		}
	}
	if len(all) < 3 {
		return nil, fmt.Errorf("%d words are in %d messages and more, with inflections in %d at most, of %d: too few to draw queries from", len(all), least, most, len(v.messages))
	}
	return all, nil
}

// isQueryWord tells a word of 4 to 12 letters from a to z.
func isQueryWord(w string) bool {
	return len(w) >= 4 && len(w) <= 12 && strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") == ""
}

// isOurStopword tells whether textsearch leaves a word out beside another, which
// bleve may not and FTS5 does not do.
func isOurStopword(w string) bool { return len(textsearch.Highlight(w, w+" another")) == 0 }

// drawQueries draws so many queries of every kind, the same each time.
func drawQueries(messages []string, each int) ([]query, error) {
	v := newVocabulary(messages)
	var lists [4][]string
	for i, bounds := range [][2]int{{2, 20}, {100, 1000}, {max(1, len(messages)*3/100), math.MaxInt}, {2, math.MaxInt}} {
		var err error
		if lists[i], err = v.between(bounds[0], bounds[1]); err != nil {
			return nil, err
		}
	}
	random := rand.New(rand.NewPCG(2, 2))
	from := func(list []string) string { return list[random.IntN(len(list))] }
	draw := map[string]func() []string{
		rare:        func() []string { return []string{from(lists[0])} },
		middling:    func() []string { return []string{from(lists[1])} },
		common:      func() []string { return []string{from(lists[2])} },
		mixed:       func() []string { return []string{from(lists[0]), from(lists[1]), from(lists[2])} },
		threeCommon: func() []string { return threeOf(lists[2], random) },
		prefix:      func() []string { return []string{from(lists[3])[:4]} },
		literal:     func() []string { return []string{drawLiteral(messages, random)} },
	}
	var all []query
	for _, kind := range queryKinds {
		for range each {
			q := query{Kind: kind.id, Words: draw[kind.id]()}
			q.Certain = kind.id == rare && v.certain(q.Words[0])
			all = append(all, q)
		}
	}
	return all, nil
}

// threeOf draws three words that differ.
func threeOf(list []string, random *rand.Rand) []string {
	var words []string
	for len(words) < 3 {
		if w := list[random.IntN(len(list))]; !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

// drawLiteral cuts 10 to 20 characters of ASCII, neither of the ends a space, out of
// a message.
func drawLiteral(messages []string, random *rand.Rand) string {
	for {
		m, size := messages[random.IntN(len(messages))], 10+random.IntN(11)
		if len(m) < size {
			continue
		}
		start := random.IntN(len(m) - size + 1)
		text := m[start : start+size]
		if strings.TrimSpace(text) == text && strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
			return text
		}
	}
}
