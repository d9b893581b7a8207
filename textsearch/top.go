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
	part   int // which of searcher.parts it is of
	number uint32
	key    string // when it is known
}

// byRank is the order of hits: by score, and by key where scores are equal. No two
// documents are equal.
func byRank(a, b match) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.key, b.key))
}

// top holds the best matches. It holds more than are wanted and sorts those now and
// then. Documents of a source that is not ordered by key have theirs at once; of
// others the number tells which of two equal ones comes first.
type top struct {
	limit   int // below zero: all
	counted bool
	behind  *match // only matches behind this one
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

func newTop(limit int, counted bool) *top {
	return &top{limit: limit, counted: counted || limit < 0}
}

func (t *top) counts() bool { return t.counted }
func (t *top) found() bool  { return t.total > 0 }

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
func (t *top) offer(m match) error {
	t.total++
	if t.behind == nil && m.score < t.least || t.limit == 0 {
		return nil
	}
	if !t.ordered {
		var err error
		if m.key, err = t.source.Key(context.Background(), m.number); err != nil {
			return err
		}
	}
	if t.behind != nil {
		if !t.isBehind(m) {
			t.before++
			return nil
		}
		if m.score < t.least {
			return nil
		}
	}
	t.matches = append(t.matches, m)
	if t.limit >= 0 && len(t.matches)-t.begin >= 2*t.limit+32 {
		t.shrink()
	}
	return nil
}

func (t *top) isBehind(m match) bool {
	switch {
	case m.score != t.behind.score:
		return m.score < t.behind.score
	case t.ordered:
		return m.number >= t.at && !(m.part == t.behind.part && m.number == t.behind.number)
	}
	return m.key > t.behind.key
}

// inSource is the order of matches of the source at hand.
func (t *top) inSource(a, b match) int {
	if t.ordered {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.number, b.number))
	}
	return byRank(a, b)
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
	if t.limit > 0 && len(own) == t.limit && own[t.limit-1].score >= t.least {
		t.least, t.last = own[t.limit-1].score, own[t.limit-1].number
		if !t.ordered {
			t.last = math.MaxUint32
		}
	}
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

// cutTies leaves out what cannot be among the best of all sources.
func (t *top) cutTies() {
	if t.limit < 0 || len(t.matches) <= t.limit {
		return
	}
	if t.limit == 0 {
		t.matches = nil
		return
	}
	slices.SortStableFunc(t.matches, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	n := t.limit
	for n < len(t.matches) && t.matches[n].score == t.matches[t.limit-1].score {
		n++
	}
	t.matches = t.matches[:n]
}

// order puts the matches in order, which have their keys now.
func (t *top) order() {
	slices.SortFunc(t.matches, byRank)
	if t.limit >= 0 && len(t.matches) > t.limit {
		t.matches = t.matches[:t.limit]
	}
}
