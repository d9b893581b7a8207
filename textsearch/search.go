package textsearch

import (
	"bytes"
	"context"
	"fmt"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch/internal/analysis"
)

// Hit is a document that a search found.
type Hit struct {
	Key   string
	Score float64 // above zero, and comparable within one result only
	Rank  int     // 1 for the best
	// Words are the words of the query that the document has, as they stand there
	// and in their order.
	Words []string
}

// Cursor returns the place behind the hit.
func (h Hit) Cursor() *Cursor { return &Cursor{h.Key, h.Rank} }

// Cursor is a place in the order of hits: behind one of them.
type Cursor struct {
	Key  string // of the hit
	Rank int    // of the hit, for when it is none any longer
}

// Result is what a search found.
type Result struct {
	Hits  []Hit // best first; equal ones by key
	Total int   // how many documents match, whatever the limit
	// Partial tells that the query went beyond MaxWords or MaxExpansions, so that
	// more may match.
	Partial bool
}

// Search returns the best documents of an index for a query. An index that holds
// nothing, or was never written to, has no hits.
func Search(ctx context.Context, s kv.KVStorage, ix string, q Query) (Result, error) {
	set, err := SettingsOf(s)
	if err != nil {
		return Result{}, err
	}
	var result Result
	err = kv.View(ctx, s, func(tx kv.KVStorage) error {
		l := newLayout(tx, ix)
		st, err := loadStats(ctx, tx, &l, set.Language)
		if err != nil {
			return err
		}
		a, err := newAnalyzer(st.Language)
		if err != nil {
			return err
		}
		sr := searcher{ctx: ctx, tx: tx, layout: l, analyzer: a, scorer: newScorer(set, st)}
		result, err = sr.run(q)
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("search %q: %w", ix, err)
	}
	return result, nil
}

// searcher carries out one search.
type searcher struct {
	ctx      context.Context
	tx       kv.KVStorage
	layout   layout
	analyzer *analysis.Analyzer
	scorer   scorer
	partial  bool
}

func (sr *searcher) run(q Query) (Result, error) {
	clauses, cut := parse(sr.analyzer, q.Text)
	sr.partial = cut
	lists := make([][]match, len(clauses))
	for i, c := range clauses {
		list, err := sr.clause(c)
		if err != nil {
			return Result{}, err
		}
		lists[i] = list
	}
	matches := union(lists)
	for i, c := range clauses {
		if c.required {
			matches = intersection(matches, lists[i])
		}
	}
	matches = withPrefix(matches, kv.AppendPart(nil, q.KeyPrefix))
	result := Result{Total: len(matches), Partial: sr.partial}
	hits, before := page(matches, q)
	for i, m := range hits {
		key, err := part(m.key, nil)
		if err != nil {
			return Result{}, err
		}
		result.Hits = append(result.Hits, Hit{key, m.score, before + i + 1, matched(clauses, lists, m.key)})
	}
	return result, nil
}

// clause returns the documents that match a word, scored.
func (sr *searcher) clause(c clause) ([]match, error) {
	lists := make([][]match, 0, len(c.lookups))
	for _, look := range c.lookups {
		list, err := sr.lookup(look)
		if err != nil {
			return nil, err
		}
		lists = append(lists, sr.scorer.score(list, look.weight*c.count))
	}
	return union(lists), nil
}

// lookup returns the documents that a lookup finds.
func (sr *searcher) lookup(look lookup) ([]occurrence, error) {
	switch look.how {
	case inflected:
		return sr.family(look.term)
	case prefixed:
		return sr.expand(look.term, MaxExpansions)
	case character:
		return sr.expand(look.term, 0)
	}
	return sr.list(look.term, true)
}

// list returns the documents that have a term. exact tells whether that is the
// very form that was asked for.
func (sr *searcher) list(term string, exact bool) ([]occurrence, error) {
	prefix := sr.layout.appendList(nil, term)
	var list []occurrence
	for e, err := range sr.tx.Scan(sr.ctx, kv.Text, prefix) {
		if err != nil {
			return nil, err
		}
		found, err := newOccurrence(e.Key[len(prefix):], e.Value, exact)
		if err != nil {
			return nil, fmt.Errorf("%w at %q", err, e.Key)
		}
		list = append(list, found)
	}
	return list, nil
}

// family returns the documents that have a term or one of the same stem.
func (sr *searcher) family(term string) ([]occurrence, error) {
	stem := sr.analyzer.Stem(term)
	terms := []string{stem}
	prefix := sr.layout.appendFamily(nil, stem)
	for key, err := range sr.tx.ScanKeys(sr.ctx, kv.Text, prefix) {
		if err != nil {
			return nil, err
		}
		member, err := part(key, prefix)
		if err != nil {
			return nil, err
		}
		terms = append(terms, member)
	}
	lists := make([][]occurrence, 0, len(terms))
	for _, member := range terms {
		// A stem may be a word of another family: that of dimensional is dimension,
		// and that of dimension is dimens.
		if member == stem && sr.analyzer.Stem(member) != stem {
			continue
		}
		list, err := sr.list(member, member == term)
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	return union(lists), nil
}

// expand returns the documents that have a term that begins with prefix, with at
// most limit different terms; 0 is no limit.
func (sr *searcher) expand(prefix string, limit int) ([]occurrence, error) {
	var lists [][]occurrence
	var last []byte // term of the last list
	start := sr.layout.appendBeginning(nil, prefix)
	itself := start[len(sr.layout.term):]
	for e, err := range sr.tx.Scan(sr.ctx, kv.Text, start) {
		if err != nil {
			return nil, err
		}
		term, key, err := sr.layout.cutPosting(e.Key)
		if err != nil {
			return nil, err
		}
		if len(lists) == 0 || !bytes.Equal(term, last) {
			if limit > 0 && len(lists) == limit {
				sr.partial = true
				break
			}
			last, lists = term, append(lists, nil)
		}
		found, err := newOccurrence(key, e.Value, bytes.Equal(term, itself))
		if err != nil {
			return nil, fmt.Errorf("%w at %q", err, e.Key)
		}
		list := &lists[len(lists)-1]
		*list = append(*list, found)
	}
	return union(lists), nil
}

// matched returns the words of the clauses whose lists have a document.
func matched(clauses []clause, lists [][]match, key []byte) []string {
	var words []string
	for i, c := range clauses {
		if _, ok := find(lists[i], key); ok {
			words = append(words, c.word)
		}
	}
	return words
}
