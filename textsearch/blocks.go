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
		e.offerOne(n, score, wordBit(look.clause), gone)
	}
	return nil
}
