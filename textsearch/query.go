package textsearch

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/crabstore/crabstore/textsearch/internal/analysis"
)

// Query asks an index for documents. Its text is data: whatever a person or a
// program puts there is searched for by the words in it, and never an error.
//
// Several words are alternatives whose scores add up. A word finds its
// inflections, and its exact form counts more. Two things are more than words:
//
//	word*             the words that begin so, as written: deploy* finds
//	                  deployment and deploys, not redeploy
//	"several words"   a document without every one of them is no hit; when none has
//	                  them all and the query has other words, they are alternatives
//	                  too, and Result.Relaxed says so
//
// An identifier or a path is one word: it counts most where it stands whole, and
// a little where its parts do; between quotation marks it must stand whole.
// Stopwords are left out, unless the query has nothing else; then they are words
// like others, and what has none of them is no hit. The query without any word
// finds nothing.
type Query struct {
	Text string

	// KeyPrefix leaves out documents whose keys do not begin with it. Scores are
	// those of the whole index.
	KeyPrefix string

	// Limit is the most hits that are wanted. 0 means DefaultLimit; below zero, all.
	Limit int

	// Count asks how many documents match, which means looking at all of them.
	Count bool

	// After continues behind a hit of an earlier search with the same text. Where
	// that is now is found by its key, since every document that comes or goes moves
	// all scores; when it is no hit any longer, by its rank.
	After *Cursor
}

// DefaultLimit is how many hits a Search returns that does not say.
const DefaultLimit = 10

// The bounds of what one query looks up. Beyond them a result is Partial.
const (
	// MaxWords is how many different words of a query are looked up: the first ones.
	MaxWords = 256
	// MaxExpansions is how many different terms one word* stands for: the first ones
	// in byte order.
	MaxExpansions = 1024
)

// How a query scores, beyond BM25.
const (
	// exactBonus is what an occurrence of the very form that was asked for counts
	// more than one of an inflection.
	exactBonus = 0.3
	// partsWeight is what the parts of a compound count together, against 1 for the
	// whole, so that the whole ranks first wherever it is.
	partsWeight = 0.5
)

// way is how a term is looked up.
type way uint8

const (
	exactly   way = iota // the term
	inflected            // and those of the same stem
	prefixed             // those that begin with it, at most MaxExpansions
	character            // those that begin with it: one character of a script in pairs
)

type lookup struct {
	how    way
	term   string
	weight float64
}

// clause is one word of a query. Its first lookup is the word, the others are its
// parts.
type clause struct {
	word     string // as it stands in the query
	lookups  []lookup
	count    float64 // how often it stands there
	required bool
	stop     bool
}

// parse returns the clauses of a query, and whether it has more than MaxWords.
func parse(a *analysis.Analyzer, text string) (clauses []clause, cut bool) {
	p := parser{text: text, quoted: quotedRuns(text), seen: map[lookup]int{}}
	tokens := a.Tokens(text)
	for len(tokens) > 0 {
		n := 1
		for n < len(tokens) && tokens[n].Kind == analysis.Part {
			n++
		}
		p.add(a, tokens[0], tokens[1:n])
		tokens = tokens[n:]
	}
	for i, c := range p.clauses {
		if c.required {
			p.clauses[i].lookups = c.lookups[:1] // whole
		}
	}
	clauses = withoutStops(p.clauses)
	if len(clauses) > MaxWords {
		return clauses[:MaxWords], true
	}
	return clauses, false
}

type parser struct {
	text    string
	quoted  []Span
	clauses []clause
	seen    map[lookup]int // by first lookup, which of clauses it is
}

// add appends the clause of one written word, or counts it where it was before.
func (p *parser) add(a *analysis.Analyzer, t analysis.Token, parts []analysis.Token) {
	c := clause{word: p.text[t.Start:t.End], count: 1, required: p.isQuoted(t)}
	first := lookup{term: t.Term, weight: 1}
	switch {
	case t.Kind == analysis.Tail:
		return // the pair before it says more
	case t.Kind == analysis.Pair:
	case t.Kind == analysis.Single:
		first.how = character
	case p.isPrefix(t):
		first.how = prefixed
		parts = nil
	default:
		first.how = inflected
		c.stop = len(parts) == 0 && a.IsStop(t.Term)
	}
	if i, ok := p.seen[first]; ok {
		p.clauses[i].count++
		p.clauses[i].required = p.clauses[i].required || c.required
		return
	}
	p.seen[first] = len(p.clauses)
	c.lookups = append(c.lookups, first)
	for _, part := range parts {
		if !a.IsStop(part.Term) {
			c.lookups = append(c.lookups, lookup{inflected, part.Term, partsWeight / float64(len(parts))})
		}
	}
	p.clauses = append(p.clauses, c)
}

// isPrefix tells whether a word is followed by *, and is not between two of them,
// as *emphasis* is.
func (p *parser) isPrefix(t analysis.Token) bool {
	if !strings.HasPrefix(p.text[t.End:], "*") || strings.HasSuffix(p.text[:t.Start], "*") {
		return false
	}
	next, _ := utf8.DecodeRuneInString(p.text[t.End+1:])
	return !analysis.InWord(next)
}

func (p *parser) isQuoted(t analysis.Token) bool {
	behind, _ := slices.BinarySearchFunc(p.quoted, t.Start, func(q Span, at int) int { return q.Start - at - 1 })
	return behind > 0 && t.End <= p.quoted[behind-1].End
}

// quotedRuns returns what stands between quotation marks, straight or curved. The
// last of an odd number of marks is punctuation.
func quotedRuns(text string) []Span {
	var runs []Span
	open := -1
	for i, r := range text {
		if r != '"' && r != '“' && r != '”' && r != '„' {
			continue
		}
		if open < 0 {
			open = i + utf8.RuneLen(r)
			continue
		}
		runs = append(runs, Span{open, i})
		open = -1
	}
	return runs
}

// withoutStops leaves out stopwords, unless there is nothing else.
func withoutStops(clauses []clause) []clause {
	var kept []clause
	for _, c := range clauses {
		if !c.stop {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return clauses
	}
	return kept
}
