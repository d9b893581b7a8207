package textsearch

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// match is a document with its score.
type match struct {
	score  int64
	words  uint64 // bits of the clauses that it has, as far as there are bits
	number uint32
	part   uint32 // which of searcher.parts it is of
}

// found is a match with its key.
type found struct {
	match
	key string
}

// byRank is the order of hits: by score, and by key where scores are equal. No two
// documents are equal.
func byRank(a, b found) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.key, b.key))
}

// top holds the best matches. Of equal ones of a source that is in order of the keys
// the number tells which comes first; of another their keys are asked for.
type top struct {
	limit   int // below zero: all
	counted bool
	behind  *found // only matches behind this one
	total   int    // matches seen
	before  int    // of these, before behind and with it

	least   int64 // matches with less are not wanted
	matches []match
	begin   int // where in matches those of the source at hand begin

	source  inverted.Source
	ordered bool
	repeats bool   // a document of it may be offered more than once: its best score counts
	last    uint32 // the number of the last one that is wanted of it
	at      uint32 // in a source that is ordered, where the key of behind would be
}

// fewWanted is how many matches are kept in order all the time. More are sorted now
// and then.
const fewWanted = 64

func newTop(limit int, counted bool) *top {
	return &top{limit: limit, counted: counted || limit < 0}
}

func (t *top) any() bool { return t.total > 0 }

// enter begins with the matches of another source.
func (t *top) enter(ctx context.Context, s inverted.Source) (err error) {
	t.leave()
	t.source, t.ordered, t.begin = s, s.Ordered(), len(t.matches)
	t.repeats, t.last = false, math.MaxUint32
	if t.behind != nil && t.ordered {
		t.at, err = inverted.Before(ctx, s, t.behind.key)
	}
	return err
}

// offer takes a match. Those of one source come in any order.
func (t *top) offer(m match) {
	t.total++
	if t.behind != nil && !t.isBehind(m) {
		t.before++
		return
	}
	switch {
	case t.limit == 0 || m.score < t.least:
	case t.limit > 0 && t.limit <= fewWanted:
		t.insert(m)
	default:
		t.matches = append(t.matches, m)
		if t.limit > 0 && len(t.matches)-t.begin >= 2*t.limit {
			t.shrink()
		}
	}
}

// insert takes a match into those at hand, which are in order.
func (t *top) insert(m match) {
	own := t.matches[t.begin:]
	if t.repeats {
		for i, o := range own {
			if o.number != m.number {
				continue
			}
			if o.score >= m.score {
				return
			}
			t.matches = slices.Delete(t.matches, t.begin+i, t.begin+i+1)
			own = t.matches[t.begin:]
			break
		}
	}
	i, _ := slices.BinarySearchFunc(own, m, t.inSource)
	if i == t.limit {
		return
	}
	t.matches = slices.Insert(t.matches, t.begin+i, m)
	if len(own)+1 > t.limit {
		t.matches = t.matches[:t.begin+t.limit]
	}
	t.raise()
}

// raise sets what is wanted by what there is.
func (t *top) raise() {
	own := t.matches[t.begin:]
	if t.limit <= 0 || len(own) < t.limit {
		return
	}
	if last := own[t.limit-1]; last.score >= t.least {
		t.least = last.score
		if t.ordered {
			t.last = last.number
		}
	}
}

func (t *top) isBehind(m match) bool {
	switch {
	case m.score != t.behind.score:
		return m.score < t.behind.score
	case t.ordered:
		return m.number >= t.at && !(m.part == t.behind.part && m.number == t.behind.number)
	}
	return t.key(m) > t.behind.key
}

// key returns that of a match of a source that is not in order, which has it at hand.
func (t *top) key(m match) string {
	key, _ := t.source.Key(context.Background(), m.number)
	return key
}

// inSource is the order of matches of the source at hand.
func (t *top) inSource(a, b match) int {
	switch {
	case a.score != b.score:
		return cmp.Compare(b.score, a.score)
	case t.ordered:
		return cmp.Compare(a.number, b.number)
	}
	return cmp.Compare(t.key(a), t.key(b))
}

// shrink leaves the best matches of the source at hand.
func (t *top) shrink() {
	own := t.matches[t.begin:]
	if t.repeats {
		slices.SortFunc(own, func(a, b match) int {
			return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(b.score, a.score))
		})
		own = slices.CompactFunc(own, func(a, b match) bool { return a.number == b.number })
	}
	slices.SortFunc(own, t.inSource)
	if t.limit >= 0 && len(own) > t.limit {
		own = own[:t.limit]
	}
	t.matches = t.matches[:t.begin+len(own)]
	t.raise()
}

// worst returns the least score that is wanted, and, of documents of the source at
// hand that have just that, the last number.
func (t *top) worst() (score int64, number uint32) { return t.least, t.last }

// leave ends with the source at hand.
func (t *top) leave() {
	if t.source != nil {
		t.shrink()
		t.source = nil
	}
}

// best returns the matches without what cannot be among the best of all sources.
func (t *top) best() []match {
	t.leave()
	if t.limit < 0 || len(t.matches) <= t.limit {
		return t.matches
	}
	if t.limit == 0 {
		return nil
	}
	slices.SortStableFunc(t.matches, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	n := t.limit
	for n < len(t.matches) && t.matches[n].score == t.matches[t.limit-1].score {
		n++
	}
	return t.matches[:n]
}
