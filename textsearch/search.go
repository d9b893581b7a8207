package textsearch

import (
	"context"
	"fmt"
	"slices"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch/internal/inverted"
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
	Hits []Hit // best first; equal ones by key

	// Total is how many documents match, whatever the limit; -1 when it is not known,
	// because the search did not look at those that cannot be among the best.
	// Query.Count makes it look.
	Total int

	// Partial tells that the query went beyond MaxWords or MaxExpansions, so that
	// more may match.
	Partial bool

	// Relaxed tells that no document has all the words that stand between quotation
	// marks, so that they were taken for alternatives like the others.
	Relaxed bool
}

// Search returns the best documents of an index for a query. An index that holds
// nothing, or was never written to, has no hits.
func Search(ctx context.Context, s kv.KVStorage, ix string, q Query) (Result, error) {
	set, err := SettingsOf(s)
	if err != nil {
		return Result{}, err
	}
	var result Result
	err = kv.View(ctx, s, func(tx kv.KVStorage) (err error) {
		result, err = search(ctx, tx, ix, q, set)
		return err
	})
	if err != nil {
		return Result{}, fmt.Errorf("search %q: %w", ix, err)
	}
	return result, nil
}

func search(ctx context.Context, tx kv.KVStorage, ix string, q Query, set Settings) (Result, error) {
	x := at(tx, ix)
	st, ok, err := x.Load(ctx, tx)
	if err != nil || !ok {
		return Result{}, err
	}
	a, err := analyzerOf(st.Config)
	if err != nil {
		return Result{}, err
	}
	clauses, cut := parse(a, q.Text)
	if len(clauses) == 0 || st.Documents == 0 {
		return Result{}, nil
	}
	snap, err := x.OpenAt(ctx, tx, st)
	if err != nil {
		return Result{}, err
	}
	defer snap.Close()
	sr := &searcher{ctx: ctx, query: q, clauses: clauses, scorer: newScorer(set, st), stem: a.Stem, partial: cut}
	if err := sr.gather(snap.Sources); err != nil {
		return Result{}, err
	}
	return sr.run()
}

// searcher carries out one search.
type searcher struct {
	ctx     context.Context
	query   Query
	clauses []clause
	scorer  *scorer
	stem    func(string) string
	parts   []part
	partial bool
	relaxed bool
}

// part is what a search has of one source.
type part struct {
	source inverted.Source
	lists  [][]lookupLists // by clause and lookup
	admitted
}

// admitted is which documents of a source a query admits.
type admitted struct {
	from, to uint32
	admit    func(uint32) bool // nil admits all of these
}

func (sr *searcher) run() (Result, error) {
	if err := sr.relax(); err != nil {
		return Result{}, err
	}
	for i := range sr.parts {
		p := &sr.parts[i]
		var err error
		if p.from, p.to, p.admit, err = p.source.Under(sr.ctx, sr.query.KeyPrefix); err != nil {
			return Result{}, err
		}
	}
	limit := sr.query.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	if sr.query.After != nil {
		return sr.after(sr.query.After, limit)
	}
	t := newTop(limit, sr.query.Count)
	list, err := sr.evaluate(t)
	if err != nil {
		return Result{}, err
	}
	return sr.result(t, list)
}

// relax takes quoted words for alternatives when no document of the index has all
// of them, and there are others.
func (sr *searcher) relax() error {
	required, others := false, false
	for _, c := range sr.clauses {
		required, others = required || c.required, others || !c.required
	}
	if !required || !others {
		return nil
	}
	for i := range sr.parts {
		p := &sr.parts[i]
		p.admitted = admitted{to: p.source.Size()}
	}
	t := newTop(1, false)
	if _, err := sr.evaluate(t); err != nil || t.any() {
		return err
	}
	for i := range sr.clauses {
		sr.clauses[i].required = false
	}
	sr.relaxed = true
	return nil
}

// after returns the hits behind a cursor.
func (sr *searcher) after(cursor *Cursor, limit int) (Result, error) {
	at, ok, err := sr.locate(cursor.Key)
	if err != nil {
		return Result{}, err
	}
	if !ok { // it is no hit any longer
		before := max(cursor.Rank-1, 0)
		t := newTop(-1, true)
		if limit >= 0 {
			t = newTop(before+limit, true)
		}
		list, err := sr.evaluate(t)
		if err != nil {
			return Result{}, err
		}
		t.before = min(before, len(list))
		return sr.result(t, list[t.before:])
	}
	t := newTop(limit, true)
	t.behind = &at
	list, err := sr.evaluate(t)
	if err != nil {
		return Result{}, err
	}
	return sr.result(t, list)
}

// locate returns the match of a key, if it is one that the query admits.
func (sr *searcher) locate(key string) (m found, ok bool, err error) {
	for i := range sr.parts {
		p := sr.parts[i]
		n, ok, err := p.source.Number(sr.ctx, key)
		if err != nil {
			return found{}, false, err
		}
		if !ok || n < p.from || n >= p.to || p.admit != nil && !p.admit(n) {
			continue
		}
		p.admitted = admitted{from: n, to: n + 1}
		t := newTop(-1, true)
		if err := t.enter(sr.ctx, p.source); err != nil {
			return found{}, false, err
		}
		e := newEvaluator(sr, &p, i, t)
		defer e.release()
		if err := e.run(); err != nil || !t.any() {
			return found{}, false, err
		}
		return found{t.matches[0], key}, true, nil
	}
	return found{}, false, nil
}

// evaluate offers t what matches, and returns the best in order.
func (sr *searcher) evaluate(t *top) (list []found, err error) {
	for i := range sr.parts {
		if err := sr.evaluatePart(i, t); err != nil {
			return nil, err
		}
	}
	for _, m := range t.best() {
		key, err := sr.parts[m.part].source.Key(sr.ctx, m.number)
		if err != nil {
			return nil, err
		}
		list = append(list, found{m, key})
	}
	slices.SortFunc(list, byRank)
	if t.limit >= 0 && len(list) > t.limit {
		list = list[:t.limit]
	}
	return list, nil
}

func (sr *searcher) evaluatePart(i int, t *top) error {
	p := &sr.parts[i]
	if p.from >= p.to {
		return nil
	}
	if err := t.enter(sr.ctx, p.source); err != nil {
		return err
	}
	e := newEvaluator(sr, p, i, t)
	defer e.release()
	return e.run()
}

// result returns matches in order as hits.
func (sr *searcher) result(t *top, list []found) (Result, error) {
	r := Result{Total: -1, Partial: sr.partial, Relaxed: sr.relaxed}
	if t.counted {
		r.Total = t.total
	}
	for i, m := range list {
		words, err := sr.matched(m.match)
		if err != nil {
			return Result{}, err
		}
		r.Hits = append(r.Hits, Hit{m.key, float64(m.score) / sr.scorer.scale, t.before + i + 1, words})
	}
	return r, nil
}

// matched returns the words of the query that a match has.
func (sr *searcher) matched(m match) ([]string, error) {
	var words []string
	for i, c := range sr.clauses {
		has := m.words&wordBit(i) != 0
		for _, l := range sr.parts[m.part].lists[i] {
			if has || wordBit(i) != 0 {
				break
			}
			var err error
			if has, err = l.has(sr.ctx, m.number); err != nil {
				return nil, err
			}
		}
		if has {
			words = append(words, c.word)
		}
	}
	return words, nil
}
