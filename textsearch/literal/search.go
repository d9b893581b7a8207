package literal

import (
	"context"
	"errors"
	"fmt"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch"
	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// Query asks an index for the texts in which a literal stands.
type Query struct {
	// Text is the literal: any string, as NewMatcher takes it. One that folds to fewer
	// than three code points is found byte for byte, and takes a look at every text.
	Text string

	// KeyPrefix leaves out texts whose keys do not begin with it.
	KeyPrefix string

	// After is where an earlier search for the same ended: its Result.Next. Only
	// texts with greater keys are found. "" begins with the first.
	After string

	// Limit is the most hits that are wanted. 0 means DefaultLimit; below zero, all.
	Limit int

	// Matches is the most matches that are wanted of each text. 0 means
	// DefaultMatches; below zero, all.
	Matches int

	// Preview is how many bytes a preview has at most. 0 means DefaultPreview; below
	// zero, there are none.
	Preview int
}

// What a query has that does not say.
const (
	DefaultLimit   = 10
	DefaultMatches = 100
	DefaultPreview = 200
)

// MaxRead bounds what one search reads, in bytes of texts, where each counts at
// least minRead: some 32,000 messages, or a few long texts. A search that comes so
// far is Partial, and one from Next goes on.
const (
	MaxRead = 32 << 20
	minRead = 1 << 10
)

// Source returns the text that was indexed under a key, as tx has it. When there is
// none any longer it returns an error that is kv.ErrNotFound, and the search goes on
// as if it had been dropped.
type Source func(ctx context.Context, tx kv.KVStorage, key string) (text string, err error)

// Hit is a text in which the literal stands.
type Hit struct {
	Key     string
	Matches []textsearch.Span // in bytes of the text as it is; at least one
	More    bool              // there are more than Query.Matches
	Preview textsearch.Window // as Preview makes it
}

// Result is what a search found.
type Result struct {
	Hits []Hit // by key, ascending

	// Next is for Query.After, to go on; "" when there is nothing behind. Read in this
	// way to the end, hits neither repeat nor are skipped.
	Next string

	// Partial tells that the search ended since it had read MaxRead, before it had all
	// hits that were asked for, or any.
	Partial bool
}

// Search returns the texts of an index in which a literal stands, in the order of
// their keys, at one moment of the store. An index that holds nothing, or was never
// written to, has no hits, and the empty literal is nowhere.
func Search(ctx context.Context, s kv.KVStorage, ix string, q Query, source Source) (Result, error) {
	sr := &searcher{ctx: ctx, query: q, matcher: NewMatcher(q.Text), source: source}
	sr.query.Limit = withDefault(q.Limit, DefaultLimit)
	sr.query.Matches = withDefault(q.Matches, DefaultMatches)
	sr.query.Preview = withDefault(q.Preview, DefaultPreview)
	if q.Text == "" {
		return Result{}, nil
	}
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		sr.result, sr.read = Result{}, 0
		return sr.run(tx, ix)
	})
	if err != nil {
		return Result{}, fmt.Errorf("search %q: %w", ix, err)
	}
	return sr.result, nil
}

// withDefault returns n, or other for 0.
func withDefault(n, other int) int {
	if n == 0 {
		return other
	}
	return n
}

// searcher carries out one search.
type searcher struct {
	ctx     context.Context
	query   Query
	matcher *Matcher
	source  Source
	result  Result
	read    int // what texts have counted so far
}

func (sr *searcher) run(tx kv.KVStorage, ix string) error {
	x := at(tx, ix)
	st, ok, err := x.Load(sr.ctx, tx)
	if err != nil || !ok {
		return err
	}
	snap, err := x.OpenAt(sr.ctx, tx, st)
	if err != nil {
		return err
	}
	m, err := sr.open(snap.Sources)
	snap.Close() // the candidates that it has in memory are known, and it is locked
	if err != nil {
		return err
	}
	return sr.verify(tx, m)
}

// open returns the candidates of all sources.
func (sr *searcher) open(sources []inverted.Source) (merged, error) {
	terms := termsOf(sr.matcher)
	var m merged
	for _, s := range sources {
		c, err := open(sr.ctx, s, terms, &sr.query)
		if err != nil {
			return nil, err
		}
		m = append(m, c)
	}
	return m, nil
}

// verify looks for the literal in candidates until there are enough hits.
func (sr *searcher) verify(tx kv.KVStorage, m merged) error {
	last := sr.query.After
	for {
		key := m.key()
		switch {
		case key == "":
			return nil
		case len(sr.result.Hits) == sr.query.Limit:
			sr.result.Next = last
			return nil
		case sr.read >= MaxRead:
			sr.result.Next, sr.result.Partial = last, true
			return nil
		}
		if err := sr.look(tx, key); err != nil {
			return err
		}
		if err := m.move(key); err != nil {
			return err
		}
		last = key
	}
}

// look looks for the literal in the text of a key.
func (sr *searcher) look(tx kv.KVStorage, key string) error {
	if err := sr.ctx.Err(); err != nil {
		return err
	}
	text, err := sr.source(sr.ctx, tx, key)
	sr.read += max(len(text), minRead)
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	h := Hit{Key: key}
	for span := range sr.matcher.Find(text) {
		if h.More = len(h.Matches) == sr.query.Matches; h.More {
			break
		}
		h.Matches = append(h.Matches, span)
	}
	if len(h.Matches) == 0 {
		return nil
	}
	if sr.query.Preview > 0 {
		h.Preview = Preview(text, h.Matches, sr.query.Preview)
	}
	sr.result.Hits = append(sr.result.Hits, h)
	return nil
}

// merged is the candidates of several sources, by key.
type merged []*candidates

// key returns the least; "" behind the last.
func (m merged) key() (least string) {
	for _, c := range m {
		if c.key != "" && (least == "" || c.key < least) {
			least = c.key
		}
	}
	return least
}

// move goes on behind the candidates of a key. That there are two is left by a crash.
func (m merged) move(key string) error {
	for _, c := range m {
		if c.key == key {
			if err := c.move(); err != nil {
				return err
			}
		}
	}
	return nil
}
