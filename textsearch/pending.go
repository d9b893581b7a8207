package textsearch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/crabstore/crabstore/textsearch/internal/analysis"
)

// maxPending is how many postings a batch holds back, give or take a document:
// some megabytes.
const maxPending = 1 << 16

// pending counts the terms of documents and holds their postings back, to give
// them out in the order of their keys, in which an ordered store takes them
// fastest.
type pending struct {
	numbers  map[string]int // of the terms, in terms
	terms    []pendingTerm
	docs     []pendingDoc
	held     map[string]bool // the keys of docs
	postings []pendingPosting

	serial int         // of the document at hand
	counts []termCount // of its terms
	order  []int       // the numbers of these
}

type pendingTerm struct {
	text   string
	serial int // of the last document that has it
	at     int // where it is in the counts of that document
}

type pendingDoc struct {
	key    string
	length uint64
	weight float64
}

type pendingPosting struct {
	term, doc int // in terms and docs
	frequency uint64
}

func newPending() pending {
	return pending{numbers: map[string]int{}, held: map[string]bool{}}
}

// begin makes an empty document the one at hand.
func (p *pending) begin() {
	p.serial++
	p.counts, p.order = p.counts[:0], p.order[:0]
}

// count adds occurrences of a term to the document at hand.
func (p *pending) count(term string, frequency uint64) {
	n, ok := p.numbers[term]
	if !ok {
		n = len(p.terms)
		term = strings.Clone(term) // the text that it is a part of is not kept
		p.numbers[term] = n
		p.terms = append(p.terms, pendingTerm{text: term})
	}
	t := &p.terms[n]
	if t.serial == p.serial {
		p.counts[t.at].frequency += frequency
		return
	}
	t.serial, t.at = p.serial, len(p.counts)
	p.counts, p.order = append(p.counts, termCount{t.text, frequency}), append(p.order, n)
}

// has tells whether the document at hand has a term.
func (p *pending) has(term string) bool {
	n, ok := p.numbers[term]
	return ok && p.terms[n].serial == p.serial
}

// record returns the record of a text, which becomes the document at hand. It is
// good until the next.
func (p *pending) record(tokens []analysis.Token, weight float64) *record {
	p.begin()
	for _, t := range tokens {
		p.count(t.Term, 1)
	}
	return &record{uint64(analysis.Length(tokens)), weight, p.counts}
}

// hold holds back the postings of the document at hand, whose record is d.
func (p *pending) hold(key string, d *record) {
	for i, n := range p.order {
		p.postings = append(p.postings, pendingPosting{n, len(p.docs), p.counts[i].frequency})
	}
	p.docs = append(p.docs, pendingDoc{key, d.length, d.weight})
	p.held[key] = true
}

func (p *pending) holds(key string) bool { return p.held[key] }
func (p *pending) full() bool            { return len(p.postings) >= maxPending }

// sorted returns the postings by term, and those of one term as they were held.
func (p *pending) sorted() []pendingPosting {
	byText := make([]int, len(p.terms))
	for n := range byText {
		byText[n] = n
	}
	slices.SortFunc(byText, func(a, b int) int { return cmp.Compare(p.terms[a].text, p.terms[b].text) })
	next := make([]int, len(p.terms)) // by term: where its next posting goes
	for _, q := range p.postings {
		next[q.term]++
	}
	at := 0
	for _, n := range byText {
		at, next[n] = at+next[n], at
	}
	out := make([]pendingPosting, len(p.postings))
	for _, q := range p.postings {
		out[next[q.term]] = q
		next[q.term]++
	}
	return out
}

// release forgets the postings that were held back, and the terms.
func (p *pending) release() {
	clear(p.numbers)
	clear(p.held)
	p.terms, p.docs, p.postings = p.terms[:0], p.docs[:0], p.postings[:0]
	p.begin()
}
