package textsearch

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// evaluator finds the best matches of one source, window by window: the window that
// can have the best match first, until none can have one that is wanted.
type evaluator struct {
	sr    *searcher
	part  *part
	index int // of part
	top   *top
	every bool // all matches are wanted

	lookups []evaluated
	norms   []*inverted.Norms // by window; nil until asked for
	*scratch
}

// evaluated is a lookup at work.
type evaluated struct {
	clause int
	best   bool
	factor float64
	lists  []evaluatedList
}

type evaluatedList struct {
	*inverted.List
	exact                bool
	numbers, frequencies []uint32 // of all of it, when it is in memory
}

// scratch is memory that evaluators use one after the other.
type scratch struct {
	buffers inverted.Buffers
	scores  [inverted.Window]int64
	counts  [inverted.Window]uint32 // of a lookup that sums up several terms
	bests   [inverted.Window]int64  // of a lookup that takes the best of several
	seen    set                     // which scores are set
	own     set                     // by the lookup or the clause at hand
	needed  set                     // have all that is required
	read    []uint32
}

// set is documents of a window.
type set [inverted.Window / 64]uint64

func (s *set) add(i uint32) { s[i/64] |= 1 << (i % 64) }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func newEvaluator(sr *searcher, p *part, index int, t *top) *evaluator {
	e := &evaluator{
		sr: sr, part: p, index: index, top: t, every: t.counts() || t.behind != nil,
		norms: make([]*inverted.Norms, (p.source.Size()+inverted.Window-1)/inverted.Window),
	}
	e.scratch = scratches.Get().(*scratch)
	e.read = e.read[:0]
	return e
}

func (e *evaluator) release() { scratches.Put(e.scratch) }

func (e *evaluator) run() error {
	lists := 0
	for c, looks := range e.part.lists {
		for _, l := range looks {
			ev := evaluated{clause: c, best: l.best, factor: l.factor}
			for _, list := range l.lists {
				ev.lists = append(ev.lists, evaluatedList{List: list.List, exact: list.exact})
			}
			lists += len(ev.lists)
			e.lookups = append(e.lookups, ev)
		}
	}
	if lists == 0 {
		return nil
	}
	for i := range e.lookups {
		for j := range e.lookups[i].lists {
			if err := e.hold(&e.lookups[i].lists[j]); err != nil {
				return err
			}
		}
	}
	if only := e.lookups[0]; len(e.lookups) == 1 && !e.every && (only.best || len(only.lists) == 1) {
		return e.blocks(only)
	}
	return e.windows()
}

// heldBlocks is how many blocks a list has at most that is read at once: those of
// fewer documents lie in many windows each.
const heldBlocks = 16

// hold reads a list that is short.
func (e *evaluator) hold(l *evaluatedList) error {
	if numbers, frequencies, ok := l.InMemory(); ok {
		l.numbers, l.frequencies = numbers, frequencies
		return nil
	}
	if len(l.Blocks) > heldBlocks {
		return nil
	}
	n := int(l.Count)
	if cap(e.read)-len(e.read) < 2*n {
		e.read = make([]uint32, 0, max(2*n, 1<<13)) // what was read before keeps its memory
	}
	at := len(e.read)
	e.read = e.read[:at+2*n]
	l.numbers, l.frequencies = e.read[at:at:at+n], e.read[at+n:at+n:at+2*n]
	for i := range l.Parts() {
		numbers, frequencies, err := l.Read(e.sr.ctx, i, &e.buffers)
		if err != nil {
			return err
		}
		l.numbers, l.frequencies = append(l.numbers, numbers...), append(l.frequencies, frequencies...)
	}
	return nil
}

// window returns the norms of a window.
func (e *evaluator) window(w uint32) (*inverted.Norms, error) {
	if n := e.norms[w]; n != nil {
		return n, nil
	}
	n, err := e.part.source.Norms(e.sr.ctx, w)
	e.norms[w] = n
	return n, err
}

// count is what a posting counts.
func (e *evaluator) count(scaled, saturation float64, exact bool) int64 {
	p := points(scaled * saturation)
	if exact {
		p += points(scaled * exactBonus * saturation)
	}
	return p
}

// limit is an upper bound of count over a block of which that is known.
func (e *evaluator) limit(b *inverted.Block, factor float64, exact bool) int64 {
	most := 0.0
	for _, p := range b.Best {
		most = max(most, e.sr.scorer.saturation(p.Frequency, p.Length))
	}
	if exact {
		most *= 1 + exactBonus
	}
	return bound(factor * b.Weight * most)
}

// windows evaluates window by window.
func (e *evaluator) windows() error {
	first, last := e.part.from/inverted.Window, (e.part.to-1)/inverted.Window
	if e.every {
		for w := first; w <= last; w++ {
			if err := e.evaluate(w); err != nil {
				return err
			}
		}
		return nil
	}
	limits, err := e.limits(first, last)
	if err != nil {
		return err
	}
	for _, l := range limits {
		least, number := e.top.worst()
		switch {
		case l.most < least || l.most == 0:
			return nil
		case l.most == least && l.window*inverted.Window > number:
			continue
		}
		if err := e.evaluate(l.window); err != nil {
			return err
		}
	}
	return nil
}

// windowLimit is the most that a document of a window can have.
type windowLimit struct {
	window uint32
	most   int64
}

// limits returns those of the windows from first to last, the greatest first.
func (e *evaluator) limits(first, last uint32) ([]windowLimit, error) {
	limits := make([]windowLimit, last-first+1)
	for i := range limits {
		limits[i].window = first + uint32(i)
	}
	ofLookup, ofList := make([]int64, len(limits)), make([]int64, len(limits))
	for i := range e.lookups {
		look := &e.lookups[i]
		clear(ofLookup)
		for j := range look.lists {
			clear(ofList)
			if err := e.listLimits(&look.lists[j], look.factor, first, last, ofList); err != nil {
				return nil, err
			}
			for w, most := range ofList {
				if look.best {
					ofLookup[w] = max(ofLookup[w], most)
				} else {
					ofLookup[w] += most
				}
			}
		}
		for w, most := range ofLookup {
			limits[w].most += most
		}
	}
	slices.SortFunc(limits, func(a, b windowLimit) int {
		return cmp.Or(cmp.Compare(b.most, a.most), cmp.Compare(a.window, b.window))
	})
	return limits, nil
}

// listLimits sets in most what a list has at best in each window.
func (e *evaluator) listLimits(l *evaluatedList, factor float64, first, last uint32, most []int64) error {
	if l.Blocks != nil {
		for i := range l.Blocks {
			b := &l.Blocks[i]
			from, to := max(b.First/inverted.Window, first), min(b.Last/inverted.Window, last)
			if from > to {
				continue
			}
			limit := e.limit(b, factor, l.exact)
			for w := from; w <= to; w++ {
				most[w-first] = max(most[w-first], limit)
			}
		}
		return nil
	}
	for i, n := range l.numbers {
		w := n / inverted.Window
		if w < first || w > last {
			continue
		}
		norms, err := e.window(w)
		if err != nil {
			return err
		}
		at := n % inverted.Window
		s := e.sr.scorer.saturation(l.frequencies[i], norms.Lengths[at])
		if l.exact {
			s *= 1 + exactBonus
		}
		most[w-first] = max(most[w-first], bound(factor*norms.Weight(at)*s))
	}
	return nil
}

// evaluate offers the matches of a window.
func (e *evaluator) evaluate(w uint32) error {
	if err := e.sr.ctx.Err(); err != nil {
		return err
	}
	norms, err := e.window(w)
	if err != nil {
		return err
	}
	e.seen = set{}
	all := true
	for i := 0; i < len(e.lookups); {
		c := e.lookups[i].clause
		required := e.sr.clauses[c].required
		have := set{}
		for ; i < len(e.lookups) && e.lookups[i].clause == c; i++ {
			e.own = set{}
			if err := e.lookup(&e.lookups[i], w, norms); err != nil {
				return err
			}
			for j, word := range e.own {
				have[j] |= word
			}
		}
		for j, word := range have {
			e.seen[j] |= word
		}
		if required {
			if all {
				e.needed = have
			} else {
				for j, word := range have {
					e.needed[j] &= word
				}
			}
			all = false
		}
	}
	return e.offer(w, all)
}

// lookup adds what a lookup counts to the scores of a window.
func (e *evaluator) lookup(look *evaluated, w uint32, norms *inverted.Norms) error {
	several := len(look.lists) > 1
	for i := range look.lists {
		l := &look.lists[i]
		err := e.postings(l, w, func(numbers, frequencies []uint32) {
			switch {
			case several && look.best:
				e.addBest(look, l, norms, numbers, frequencies)
			case several:
				e.addCounts(look, l, norms, numbers, frequencies)
			default:
				e.addScores(look, l, norms, numbers, frequencies)
			}
		})
		if err != nil {
			return err
		}
	}
	if !several {
		return nil
	}
	for i, word := range e.own {
		for ; word != 0; word &= word - 1 {
			at := uint32(i*64 + bits.TrailingZeros64(word))
			p := e.bests[at]
			if e.bests[at] = 0; !look.best {
				p = e.count(look.factor*norms.Weight(at), e.sr.scorer.saturation(e.counts[at], norms.Lengths[at]), false)
				e.counts[at] = 0
			}
			e.add(at, p)
		}
	}
	return nil
}

// postings calls fn with the postings that a list has in a window.
func (e *evaluator) postings(l *evaluatedList, w uint32, fn func(numbers, frequencies []uint32)) error {
	from := w * inverted.Window
	if l.numbers != nil {
		if numbers, frequencies := within(l.numbers, l.frequencies, from); len(numbers) > 0 {
			fn(numbers, frequencies)
		}
		return nil
	}
	i, _ := slices.BinarySearchFunc(l.Blocks, from, func(b inverted.Block, from uint32) int { return cmp.Compare(b.Last, from) })
	for ; i < len(l.Blocks) && l.Blocks[i].First < from+inverted.Window; i++ {
		numbers, frequencies, err := l.Read(e.sr.ctx, i, &e.buffers)
		if err != nil {
			return err
		}
		if numbers, frequencies = within(numbers, frequencies, from); len(numbers) > 0 {
			fn(numbers, frequencies)
		}
	}
	return nil
}

// within returns the postings of the window that begins with the document from.
func within(numbers, frequencies []uint32, from uint32) (n, f []uint32) {
	begin, end := 0, len(numbers)
	if numbers[0] < from {
		begin, _ = slices.BinarySearch(numbers, from)
	}
	if end > begin && numbers[end-1] >= from+inverted.Window {
		end, _ = slices.BinarySearch(numbers, from+inverted.Window)
	}
	return numbers[begin:end], frequencies[begin:end]
}

func (e *evaluator) addScores(look *evaluated, l *evaluatedList, norms *inverted.Norms, numbers, frequencies []uint32) {
	sc := e.sr.scorer
	uniform, one := norms.Uniform()
	scaled := look.factor * uniform
	for i, n := range numbers {
		at := n % inverted.Window
		if !one {
			scaled = look.factor * norms.Weight(at)
		}
		e.own.add(at)
		e.add(at, e.count(scaled, sc.saturation(frequencies[i], norms.Lengths[at]), l.exact))
	}
}

func (e *evaluator) addCounts(look *evaluated, l *evaluatedList, norms *inverted.Norms, numbers, frequencies []uint32) {
	for i, n := range numbers {
		at := n % inverted.Window
		e.own.add(at)
		e.counts[at] += frequencies[i]
		if l.exact {
			s := e.sr.scorer.saturation(frequencies[i], norms.Lengths[at])
			e.add(at, points(look.factor*norms.Weight(at)*exactBonus*s))
		}
	}
}

func (e *evaluator) addBest(look *evaluated, l *evaluatedList, norms *inverted.Norms, numbers, frequencies []uint32) {
	for i, n := range numbers {
		at := n % inverted.Window
		e.own.add(at)
		s := e.sr.scorer.saturation(frequencies[i], norms.Lengths[at])
		e.bests[at] = max(e.bests[at], e.count(look.factor*norms.Weight(at), s, l.exact))
	}
}

// add adds to the score of a document of the window. Those of documents not seen
// are zero.
func (e *evaluator) add(at uint32, p int64) { e.scores[at] += p }

// offer offers what was seen of a window, and forgets the scores.
func (e *evaluator) offer(w uint32, all bool) error {
	gone, err := e.part.source.Gone(e.sr.ctx, w)
	if err != nil {
		return err
	}
	for i, word := range e.seen {
		for ; word != 0; word &= word - 1 {
			at := uint32(i*64 + bits.TrailingZeros64(word))
			score := e.scores[at]
			e.scores[at] = 0
			if !e.every && score < e.top.least || !all && e.needed[i]&(1<<(at%64)) == 0 {
				continue
			}
			if err := e.offerOne(w*inverted.Window+at, score, gone); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *evaluator) offerOne(number uint32, score int64, gone *inverted.Gone) error {
	p := e.part
	if gone.Has(number%inverted.Window) || number < p.from || number >= p.to || p.admit != nil && !p.admit(number) {
		return nil
	}
	return e.top.offer(match{score: score, part: e.index, number: number})
}

// blocks evaluates a lookup of which each posting stands for itself: the block that
// can have the best match first.
func (e *evaluator) blocks(look evaluated) error {
	e.top.repeats = len(look.lists) > 1
	type ranked struct {
		limit       int64
		list, block int
	}
	var order []ranked
	for i := range look.lists {
		l := &look.lists[i]
		if l.Blocks == nil {
			if err := e.block(&look, l, l.numbers, l.frequencies); err != nil {
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
		if err := e.block(&look, l, numbers, frequencies); err != nil {
			return err
		}
	}
	return nil
}

// block offers postings.
func (e *evaluator) block(look *evaluated, l *evaluatedList, numbers, frequencies []uint32) error {
	at := ^uint32(0)
	var norms *inverted.Norms
	var gone *inverted.Gone
	for i, n := range numbers {
		if w := n / inverted.Window; w != at {
			var err error
			at = w
			if norms, err = e.window(w); err != nil {
				return err
			}
			if gone, err = e.part.source.Gone(e.sr.ctx, w); err != nil {
				return err
			}
		}
		s := e.sr.scorer.saturation(frequencies[i], norms.Lengths[n%inverted.Window])
		score := e.count(look.factor*norms.Weight(n%inverted.Window), s, l.exact)
		if score < e.top.least {
			continue
		}
		if err := e.offerOne(n, score, gone); err != nil {
			return err
		}
	}
	return nil
}
