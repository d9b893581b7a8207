package textsearch

import (
	"cmp"
	"slices"

	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// blocks evaluates a lookup of which each posting stands for itself: the block that
// can have the best match first.
func (e *evaluator) blocks(look *evaluated) error {
	e.top.repeats = len(look.lists) > 1
	type ranked struct {
		limit       int64
		list, block int
	}
	var order []ranked
	for i := range look.lists {
		l := &look.lists[i]
		if l.Blocks == nil {
			if err := e.block(look, l, l.numbers, l.frequencies); err != nil {
				return err
			}
			continue
		}
		for j := range l.Blocks {
			order = append(order, ranked{e.limit(&l.Blocks[j], look.factor, l.exact), i, j})
		}
	}
	slices.SortFunc(order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.limit, a.limit), cmp.Compare(a.block, b.block))
	})
	for _, r := range order {
		l := &look.lists[r.list]
		least, number := e.top.worst()
		switch {
		case r.limit < least:
			return nil
		case r.limit == least && l.Blocks[r.block].First > number:
			continue
		}
		if err := e.sr.ctx.Err(); err != nil {
			return err
		}
		numbers, frequencies, err := l.Read(e.sr.ctx, r.block, &e.buffers)
		if err != nil {
			return err
		}
		if err := e.block(look, l, numbers, frequencies); err != nil {
			return err
		}
	}
	return nil
}

// block offers postings.
func (e *evaluator) block(look *evaluated, l *evaluatedList, numbers, frequencies []uint32) error {
	window := ^uint32(0)
	var norms *inverted.Norms
	var gone *inverted.Gone
	for i, n := range numbers {
		if w := n / inverted.Window; w != window {
			var err error
			window = w
			if norms, err = e.window(w); err != nil {
				return err
			}
			if gone, err = e.part.source.Gone(e.sr.ctx, w); err != nil {
				return err
			}
		}
		at := n % inverted.Window
		score := e.count(look.factor*norms.Weight(at), frequencies[i], norms.Lengths[at], l.exact)
		if score < e.top.least {
			continue
		}
		e.offerOne(n, score, gone)
	}
	return nil
}

// Up to so many lists with so many postings together are gone through side by side.
const (
	fewLists    = 16
	fewPostings = 8192
)

// few tells whether all is in memory, and little.
func (e *evaluator) few(lists int) bool {
	postings := 0
	for i := range e.lookups {
		for j := range e.lookups[i].lists {
			l := &e.lookups[i].lists[j]
			if l.numbers == nil {
				return false
			}
			postings += len(l.numbers)
		}
	}
	return lists <= fewLists && postings <= fewPostings
}

// together goes through all lists side by side, document by document.
func (e *evaluator) together() error {
	for {
		n := e.part.to
		for i := range e.lookups {
			for j := range e.lookups[i].lists {
				if l := &e.lookups[i].lists[j]; len(l.numbers) > 0 && l.numbers[0] < n {
					n = l.numbers[0]
				}
			}
		}
		if n == e.part.to {
			return nil
		}
		if err := e.document(n); err != nil {
			return err
		}
	}
}

// document offers the document that is the first of some lists, and takes it off
// these.
func (e *evaluator) document(n uint32) error {
	w, at := n/inverted.Window, n%inverted.Window
	norms, err := e.window(w)
	if err != nil {
		return err
	}
	score, complete := int64(0), true
	for i := 0; i < len(e.lookups); {
		c := e.lookups[i].clause
		before := score
		for ; i < len(e.lookups) && e.lookups[i].clause == c; i++ {
			score += e.pop(&e.lookups[i], n, norms.Weight(at), norms.Lengths[at])
		}
		complete = complete && (score > before || !e.sr.clauses[c].required)
	}
	if !complete || !e.every && score < e.top.least {
		return nil
	}
	gone, err := e.part.source.Gone(e.sr.ctx, w)
	if err != nil {
		return err
	}
	e.offerOne(n, score, gone)
	return nil
}

// pop returns what a lookup counts in a document, and takes that off its lists.
func (e *evaluator) pop(look *evaluated, n uint32, weight float64, length byte) (p int64) {
	for j := range look.lists {
		l := &look.lists[j]
		if len(l.numbers) > 0 && l.numbers[0] == n {
			p = max(p, e.count(look.factor*weight, l.frequencies[0], length, l.exact))
			l.numbers, l.frequencies = l.numbers[1:], l.frequencies[1:]
		}
	}
	return p
}
