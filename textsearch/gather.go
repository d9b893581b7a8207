package textsearch

import (
	"context"
	"slices"
	"strings"

	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// lookupLists is what a lookup finds in one source.
type lookupLists struct {
	lists  []termList
	factor float64 // of a saturation: idf, weights and scale
}

type termList struct {
	*inverted.List
	term  string
	exact bool // the very form that was asked for
}

// has tells whether a document has one of the terms.
func (l *lookupLists) has(ctx context.Context, number uint32) (bool, error) {
	for i := range l.lists {
		if has, err := l.lists[i].Has(ctx, number); has || err != nil {
			return has, err
		}
	}
	return false, nil
}

// gather looks up what the query asks for, in all sources, and weighs it.
func (sr *searcher) gather(sources []inverted.Source) error {
	for _, s := range sources {
		sr.parts = append(sr.parts, part{source: s, lists: make([][]lookupLists, len(sr.clauses))})
	}
	// The largest first: what is found there leaves little to look at in others.
	slices.SortStableFunc(sr.parts, func(a, b part) int { return int(b.source.Size()) - int(a.source.Size()) })
	most := 0.0
	for c := range sr.clauses {
		for _, look := range sr.clauses[c].lookups {
			df, err := sr.lookup(c, look)
			if err != nil {
				return err
			}
			factor := sr.scorer.idf(df) * look.weight * sr.clauses[c].count
			most += factor * (sr.scorer.k1 + 1) * (1 + exactBonus) * MaxWeight
			for i := range sr.parts {
				lists := sr.parts[i].lists[c]
				lists[len(lists)-1].factor = factor
			}
		}
	}
	sr.scorer.setScale(most)
	for i := range sr.parts {
		for _, lists := range sr.parts[i].lists {
			for j := range lists {
				lists[j].factor *= sr.scorer.scale
			}
		}
	}
	return nil
}

// lookup appends what a lookup finds in each source to the lists of its clause, and
// returns how many documents have it: at most, since one that has several forms of
// a word counts for each.
func (sr *searcher) lookup(clause int, look lookup) (df uint64, err error) {
	found := make([][]termList, len(sr.parts))
	for i := range sr.parts {
		if found[i], err = sr.terms(sr.parts[i].source, look); err != nil {
			return 0, err
		}
	}
	if look.how == prefixed {
		sr.cutExpansions(found)
	}
	for i := range sr.parts {
		for _, l := range found[i] {
			live, err := sr.parts[i].source.Live(sr.ctx, l.List)
			if err != nil {
				return 0, err
			}
			df += uint64(live)
		}
		sr.parts[i].lists[clause] = append(sr.parts[i].lists[clause], lookupLists{lists: found[i]})
	}
	return min(df, uint64(sr.scorer.documents)), nil
}

// terms returns the terms of a source that a lookup means.
func (sr *searcher) terms(s inverted.Source, look lookup) ([]termList, error) {
	switch look.how {
	case inflected:
		return sr.family(s, look.term)
	case prefixed, character:
		return sr.expand(s, look)
	}
	l, err := s.Find(sr.ctx, look.term)
	if l == nil || err != nil {
		return nil, err
	}
	return []termList{{l, look.term, true}}, nil
}

// family returns a term and those of the same stem.
func (sr *searcher) family(s inverted.Source, term string) (lists []termList, err error) {
	stem := sr.stem(term)
	members := []string{}
	// A stem may be a word of another family: that of dimensional is dimension, and
	// that of dimension is dimens.
	if sr.stem(stem) == stem {
		members = append(members, stem)
	}
	if err := s.Members(sr.ctx, stem, func(member string) { members = append(members, member) }); err != nil {
		return nil, err
	}
	for _, member := range members {
		l, err := s.Find(sr.ctx, member)
		if err != nil {
			return nil, err
		}
		if l != nil {
			lists = append(lists, termList{l, member, member == term})
		}
	}
	return lists, nil
}

// expand returns the terms that begin with what is looked up: of a word*, of one
// source that is in order, at most one more than MaxExpansions.
func (sr *searcher) expand(s inverted.Source, look lookup) (lists []termList, err error) {
	limited := look.how == prefixed && s.Ordered()
	var failed error
	err = s.Expand(sr.ctx, look.term, func(term string, l *inverted.List) bool {
		var live uint32
		// Terms of which all documents are gone are none.
		if live, failed = s.Live(sr.ctx, l); failed != nil {
			return false
		}
		if live > 0 {
			lists = append(lists, termList{l, term, term == look.term})
		}
		return !limited || len(lists) <= MaxExpansions
	})
	if failed != nil {
		err = failed
	}
	return lists, err
}

// cutExpansions leaves the first MaxExpansions different terms.
func (sr *searcher) cutExpansions(found [][]termList) {
	total := 0
	for _, lists := range found {
		total += len(lists)
	}
	if total <= MaxExpansions {
		return
	}
	terms := make([]string, 0, total)
	for _, lists := range found {
		for _, l := range lists {
			terms = append(terms, l.term)
		}
	}
	slices.Sort(terms)
	terms = slices.Compact(terms)
	if len(terms) <= MaxExpansions {
		return
	}
	sr.partial = true
	last := terms[MaxExpansions-1]
	for i := range found {
		found[i] = slices.DeleteFunc(found[i], func(l termList) bool { return strings.Compare(l.term, last) > 0 })
	}
}
