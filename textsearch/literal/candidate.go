package literal

import (
	"cmp"
	"context"
	"slices"

	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

const (
	// maxTerms is how many trigrams of a needle are looked up, evenly spread over them:
	// the text has all others that a longer one has, or is looked at in vain.
	maxTerms = 64
	// maxLists is how many lists are intersected: the rarest. With fewer the slowest
	// searches are slower, since more texts are looked at in vain; more change nothing.
	maxLists = 12
)

// termsOf returns the terms to look up of a needle.
func termsOf(m *Matcher) []string {
	all := m.Trigrams()
	n := min(len(all), maxTerms)
	terms := make([]string, 0, n)
	for i := range n {
		terms = append(terms, string(all[i*len(all)/n].append(nil)))
	}
	return terms
}

// candidates are the texts of one source in which a needle may be, in the order of
// their keys.
type candidates struct {
	ctx    context.Context
	source inverted.Source
	walks  []*walk // the rarest first; none takes all texts
	next   uint32  // numbers below are done
	to     uint32  // numbers from here on are none

	window uint32 // which gone is of
	gone   *inverted.Gone
	sorted []string // what is left of a source that is not in order
	key    string   // of the candidate at hand; "" behind the last
}

// open returns the candidates of a source for a needle with these terms, on the first
// of those that the query admits by their keys.
func open(ctx context.Context, source inverted.Source, terms []string, q *Query) (*candidates, error) {
	c := &candidates{ctx: ctx, source: source, window: end}
	if found, err := c.find(terms); !found || err != nil {
		return c, err
	}
	var admit func(uint32) bool
	var err error
	if c.next, c.to, admit, err = source.Under(ctx, q.KeyPrefix); err != nil {
		return nil, err
	}
	if !source.Ordered() {
		return c, c.sort(admit, q.After)
	}
	if q.After != "" {
		behind, err := inverted.Before(ctx, source, q.After+"\x00")
		if err != nil {
			return nil, err
		}
		c.next = max(c.next, behind)
	}
	return c, c.move()
}

// find looks up the lists and tells whether there can be a candidate.
func (c *candidates) find(terms []string) (bool, error) {
	for _, term := range terms {
		l, err := c.source.Find(c.ctx, term)
		if l == nil || err != nil {
			return false, err
		}
		c.walks = append(c.walks, newWalk(l))
	}
	slices.SortFunc(c.walks, func(a, b *walk) int { return cmp.Compare(a.list.Count, b.list.Count) })
	c.walks = c.walks[:min(len(c.walks), maxLists)]
	return true, nil
}

// number returns the next candidate; end when there is none.
func (c *candidates) number() (uint32, error) {
	for c.next < c.to {
		n, err := c.meet(c.next)
		if n >= c.to || err != nil {
			c.next = c.to
			return end, err
		}
		c.next = n + 1
		if n/inverted.Window != c.window {
			c.window = n / inverted.Window
			if c.gone, err = c.source.Gone(c.ctx, c.window); err != nil {
				return end, err
			}
		}
		if !c.gone.Has(n % inverted.Window) {
			return n, nil
		}
	}
	return end, nil
}

// meet returns the first number at or above n that all lists have.
func (c *candidates) meet(n uint32) (uint32, error) {
	for i := 0; i < len(c.walks); i++ {
		has, err := c.walks[i].to(c.ctx, n)
		if err != nil || has == end {
			return end, err
		}
		if has > n && i > 0 {
			i = -1 // again, from the rarest
		}
		n = has
	}
	return n, nil
}

// sort takes all candidates of a source that is not in order, which is a small one
// and good no longer than its snapshot.
func (c *candidates) sort(admit func(uint32) bool, after string) error {
	for {
		n, err := c.number()
		if err != nil {
			return err
		}
		if n == end {
			break
		}
		if admit != nil && !admit(n) {
			continue
		}
		key, err := c.source.Key(c.ctx, n)
		if err != nil {
			return err
		}
		if key > after {
			c.sorted = append(c.sorted, key)
		}
	}
	slices.Sort(c.sorted)
	return c.move()
}

// move goes on to the next candidate.
func (c *candidates) move() error {
	c.key = ""
	if !c.source.Ordered() {
		if len(c.sorted) > 0 {
			c.key, c.sorted = c.sorted[0], c.sorted[1:]
		}
		return nil
	}
	n, err := c.number()
	if n == end || err != nil {
		return err
	}
	c.key, err = c.source.Key(c.ctx, n)
	return err
}
