package textsearch

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// windows evaluates window by window.
func (e *evaluator) windows() error {
	first, last := e.part.from/inverted.Window, (e.part.to-1)/inverted.Window
	e.have = make([]set, len(e.clauses))
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
	e.top.repeats = true
	if err := e.rarest(); err != nil {
		return err
	}
	e.done = make([]bool, len(limits))
	for _, l := range limits {
		if done, err := e.rest(); done || err != nil {
			return err
		}
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
		e.done[l.window-first] = true
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
	e.first = first
	for i := range e.lookups {
		look := &e.lookups[i]
		look.most = make([]int64, len(limits))
		for j := range look.lists {
			if err := e.listLimits(&look.lists[j], look.factor, first, last, look.most); err != nil {
				return nil, err
			}
		}
		for w, most := range look.most {
			limits[w].most += most
		}
		look.greatest = slices.Max(look.most)
	}
	slices.SortFunc(limits, func(a, b windowLimit) int {
		return cmp.Or(cmp.Compare(b.most, a.most), cmp.Compare(a.window, b.window))
	})
	return limits, nil
}

// listLimits raises most to what a list has at best in each window.
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
		most[w-first] = max(most[w-first], e.count(factor*norms.Weight(at), l.frequencies[i], norms.Lengths[at], l.exact))
	}
	return nil
}

// evaluate offers the matches of a window. The longest lookups that together cannot
// make a document wanted come last, and are asked for those alone that others leave
// (MaxScore: Turtle and Flood, Query evaluation: strategies and optimizations, 1995).
func (e *evaluator) evaluate(w uint32) error {
	if err := e.sr.ctx.Err(); err != nil {
		return err
	}
	norms, err := e.window(w)
	if err != nil {
		return err
	}
	e.seen = set{}
	clear(e.have)
	e.late = e.late[:0]
	rest := int64(0)
	for _, look := range e.longest {
		if !e.every {
			most := look.most[w-e.first]
			if most == 0 {
				continue
			}
			if rest+most < e.top.least {
				rest += most
				e.late = append(e.late, look)
				continue
			}
		}
		if err := e.lookup(look, w, norms, false); err != nil {
			return err
		}
		for i, word := range e.own {
			e.have[look.group][i] |= word
			e.seen[i] |= word
		}
	}
	for _, look := range slices.Backward(e.late) {
		if !e.leave(rest) {
			return nil
		}
		rest -= look.most[w-e.first]
		if err := e.lookup(look, w, norms, true); err != nil {
			return err
		}
		for i, word := range e.own {
			e.have[look.group][i] |= word
		}
	}
	return e.offer(w)
}

// leave leaves of what was seen the documents that can be wanted when they get rest
// more, and tells whether there are any.
func (e *evaluator) leave(rest int64) (some bool) {
	for i, word := range e.seen {
		for ; word != 0; word &= word - 1 {
			bit := bits.TrailingZeros64(word)
			if at := i*64 + bit; e.scores[at]+rest < e.top.least {
				e.seen[i] &^= 1 << bit
				e.scores[at] = 0
			}
		}
		some = some || e.seen[i] != 0
	}
	return some
}

// lookup adds what a lookup counts to the scores of a window, and sets own.
func (e *evaluator) lookup(look *evaluated, w uint32, norms *inverted.Norms, some bool) error {
	e.own = set{}
	for i := range look.lists {
		l := &look.lists[i]
		err := e.postings(l, w, some, func(numbers, frequencies []uint32) {
			e.add(look, l, norms, numbers, frequencies)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds what postings count to the scores, and of a document that the lookup has
// already, what they count more.
func (e *evaluator) add(look *evaluated, l *evaluatedList, norms *inverted.Norms, numbers, frequencies []uint32) {
	sc, lengths := e.sr.scorer, norms.Lengths
	weight, uniform := norms.Uniform()
	scaled := look.factor * weight
	bonus := 1.0
	if l.exact {
		bonus = 1 + exactBonus
	}
	frequencies = frequencies[:len(numbers)]
	for i, n := range numbers {
		at := n % inverted.Window
		if !uniform {
			scaled = look.factor * norms.Weight(at)
		}
		p := points(scaled * (sc.saturation(frequencies[i], lengths[at]) * bonus))
		word, bit := &e.own[at/64], uint64(1)<<(at%64)
		switch {
		case *word&bit == 0:
			*word |= bit
			e.scores[at] += p
			e.bests[at] = p
		case p > e.bests[at]:
			e.scores[at] += p - e.bests[at]
			e.bests[at] = p
		}
	}
}

// postings calls fn with the postings that a list has in a window: with some of those
// of documents seen alone.
func (e *evaluator) postings(l *evaluatedList, w uint32, some bool, fn func(numbers, frequencies []uint32)) error {
	from := w * inverted.Window
	if l.numbers != nil {
		numbers, frequencies := within(l.numbers, l.frequencies, from)
		if some {
			for len(numbers) > 0 {
				n := min(len(numbers), e.spare.Cap())
				e.passOn(numbers[:n], frequencies[:n], fn)
				numbers, frequencies = numbers[n:], frequencies[n:]
			}
		} else if len(numbers) > 0 {
			fn(numbers, frequencies)
		}
		return nil
	}
	i, _ := slices.BinarySearchFunc(l.Blocks, from, func(b inverted.Block, from uint32) int { return cmp.Compare(b.Last, from) })
	for ; i < len(l.Blocks) && l.Blocks[i].First < from+inverted.Window; i++ {
		b := &l.Blocks[i]
		if some && !e.seen.any(max(b.First, from)-from, min(b.Last, from+inverted.Window-1)-from) {
			continue
		}
		numbers, frequencies, err := l.Read(e.sr.ctx, i, &e.buffers)
		if err != nil {
			return err
		}
		if numbers, frequencies = within(numbers, frequencies, from); len(numbers) == 0 {
			continue
		}
		if some {
			e.passOn(numbers, frequencies, fn)
		} else {
			fn(numbers, frequencies)
		}
	}
	return nil
}

// passOn calls fn with those of a block of postings whose documents are seen.
func (e *evaluator) passOn(numbers, frequencies []uint32, fn func(numbers, frequencies []uint32)) {
	n, f := e.spare.All()
	count := 0
	for i, number := range numbers {
		if at := number % inverted.Window; e.seen[at/64]&(1<<(at%64)) != 0 {
			n[count], f[count] = number, frequencies[i]
			count++
		}
	}
	if count > 0 {
		fn(n[:count], f[:count])
	}
}

// any tells whether a set has a document from first to last.
func (s *set) any(first, last uint32) bool {
	i, j := first/64, last/64
	low, high := ^uint64(0)<<(first%64), ^uint64(0)>>(63-last%64)
	if i == j {
		return s[i]&low&high != 0
	}
	if s[i]&low != 0 || s[j]&high != 0 {
		return true
	}
	for i++; i < j; i++ {
		if s[i] != 0 {
			return true
		}
	}
	return false
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

// offer offers what was seen of a window, and forgets the scores.
func (e *evaluator) offer(w uint32) error {
	gone, err := e.part.source.Gone(e.sr.ctx, w)
	if err != nil {
		return err
	}
	for i, word := range e.seen {
		for ; word != 0; word &= word - 1 {
			at := uint32(i*64 + bits.TrailingZeros64(word))
			score := e.scores[at]
			e.scores[at] = 0
			if !e.every && score < e.top.least {
				continue
			}
			if words, ok := e.words(at); ok {
				e.offerOne(w*inverted.Window+at, score, words, gone)
			}
		}
	}
	return nil
}

// words tells which words of the query a document of the window at hand has, and
// whether it has all that are required.
func (e *evaluator) words(at uint32) (words uint64, ok bool) {
	for i, clause := range e.clauses {
		switch {
		case e.have[i][at/64]&(1<<(at%64)) != 0:
			words |= wordBit(clause)
		case e.sr.clauses[clause].required:
			return 0, false
		}
	}
	return words, true
}

// wordBit is the bit of a clause in match.words; beyond the first ones there is none.
func wordBit(clause int) uint64 { return 1 << clause }

func (e *evaluator) offerOne(number uint32, score int64, words uint64, gone *inverted.Gone) {
	p := e.part
	if gone.Has(number%inverted.Window) || number < p.from || number >= p.to || p.admit != nil && !p.admit(number) {
		return
	}
	e.top.offer(match{score: score, words: words, part: e.index, number: number})
}
