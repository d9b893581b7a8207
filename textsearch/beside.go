package textsearch

import (
	"cmp"
	"slices"

	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// Lists that are in memory, and few, are gone through side by side, document by
// document, and those of the other lookups are asked for these documents alone.

// Up to so many lists with so many postings together are gone through side by side.
const (
	fewLists    = 16
	fewPostings = 8192
	// firstPostings is how many postings there are at most of the lookups by which a
	// search begins, to know early what is wanted.
	firstPostings = 256
)

// held tells whether all lists of some lookups are in memory, and few.
func held(looks []*evaluated, most int) bool {
	lists, postings := 0, 0
	for _, look := range looks {
		for i := range look.lists {
			if look.lists[i].numbers == nil {
				return false
			}
		}
		lists += len(look.lists)
		postings += look.count
	}
	return lists <= fewLists && postings <= most
}

// rarest goes through the shortest lookups, if any are very short.
func (e *evaluator) rarest() error {
	n := len(e.longest)
	for n > 0 && held(e.longest[n-1:], firstPostings) {
		n--
	}
	if n == len(e.longest) {
		return nil
	}
	return e.beside(e.longest[:n])
}

// rest goes through the shortest lookups when the others together cannot make a
// document wanted, and tells whether it did: then all is done.
func (e *evaluator) rest() (done bool, err error) {
	n, most := 0, int64(0)
	for n < len(e.longest) && most+e.longest[n].greatest < e.top.least {
		most += e.longest[n].greatest
		n++
	}
	if n == 0 || !held(e.longest[n:], fewPostings) {
		return false, nil
	}
	return true, e.beside(e.longest[:n])
}

// beside goes through all lookups but some, which are asked.
func (e *evaluator) beside(asked []*evaluated) error {
	for i := range e.lookups {
		look := &e.lookups[i]
		look.asked = slices.Contains(asked, look)
		for j := range look.lists {
			l := &look.lists[j]
			if l.at = 0; !look.asked {
				l.at, _ = slices.BinarySearch(l.numbers, e.part.from)
			}
		}
	}
	for {
		n := e.part.to
		for i := range e.lookups {
			look := &e.lookups[i]
			for j := range look.lists {
				if l := &look.lists[j]; !look.asked && l.at < len(l.numbers) && l.numbers[l.at] < n {
					n = l.numbers[l.at]
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

// document offers the document that is the next of some lists, and moves these on.
func (e *evaluator) document(n uint32) error {
	w, at := n/inverted.Window, n%inverted.Window
	norms, err := e.window(w)
	if err != nil {
		return err
	}
	weight, length := norms.Weight(at), norms.Lengths[at]
	score := int64(0)
	for i := range e.lookups {
		if look := &e.lookups[i]; look.asked {
			score += look.most[w-e.first]
		} else {
			look.points = e.next(look, n, weight, length)
			score += look.points
		}
	}
	if !e.every && score < e.top.least || e.done != nil && e.done[w-e.first] {
		return nil
	}
	for i := range e.lookups {
		look := &e.lookups[i]
		if !look.asked {
			continue
		}
		if look.points, err = e.ask(look, n, weight, length); err != nil {
			return err
		}
		if score += look.points - look.most[w-e.first]; score < e.top.least {
			return nil
		}
	}
	return e.offerDocument(n)
}

// offerDocument offers a document of which all lookups have their points.
func (e *evaluator) offerDocument(n uint32) error {
	score, words := int64(0), uint64(0)
	for i := 0; i < len(e.lookups); {
		c := e.lookups[i].clause
		before := score
		for ; i < len(e.lookups) && e.lookups[i].clause == c; i++ {
			score += e.lookups[i].points
		}
		switch {
		case score > before:
			words |= wordBit(c)
		case e.sr.clauses[c].required:
			return nil
		}
	}
	if !e.every && score < e.top.least {
		return nil
	}
	gone, err := e.part.source.Gone(e.sr.ctx, n/inverted.Window)
	if err != nil {
		return err
	}
	e.offerOne(n, score, words, gone)
	return nil
}

// next returns what a lookup counts in a document, and moves its lists behind that.
func (e *evaluator) next(look *evaluated, n uint32, weight float64, length byte) (p int64) {
	for j := range look.lists {
		l := &look.lists[j]
		if l.at < len(l.numbers) && l.numbers[l.at] == n {
			p = max(p, e.count(look.factor*weight, l.frequencies[l.at], length, l.exact))
			l.at++
		}
	}
	return p
}

// ask returns what a lookup counts in a document, behind those it was asked for
// before.
func (e *evaluator) ask(look *evaluated, n uint32, weight float64, length byte) (p int64, err error) {
	for j := range look.lists {
		f, err := e.frequency(&look.lists[j], n)
		if err != nil {
			return 0, err
		}
		if f > 0 {
			p = max(p, e.count(look.factor*weight, f, length, look.lists[j].exact))
		}
	}
	return p, nil
}

// frequency returns how often a document has a term, which is behind those that it was
// asked for before. at is where it was found in a list in memory, and of another the
// block that its buffers hold, from 1.
func (e *evaluator) frequency(l *evaluatedList, n uint32) (uint32, error) {
	numbers, frequencies := l.numbers, l.frequencies
	if numbers != nil {
		if l.at += ahead(numbers[l.at:], n); l.at < len(numbers) && numbers[l.at] == n {
			return frequencies[l.at], nil
		}
		return 0, nil
	}
	from := max(l.at-1, 0)
	i, _ := slices.BinarySearchFunc(l.Blocks[from:], n, func(b inverted.Block, n uint32) int { return cmp.Compare(b.Last, n) })
	i += from
	if i == len(l.Blocks) || l.Blocks[i].First > n {
		return 0, nil
	}
	if l.buffers == nil {
		l.buffers = new(inverted.Buffers)
	}
	if l.at == i+1 {
		numbers, frequencies = l.buffers.All()
		numbers, frequencies = numbers[:l.Blocks[i].Count], frequencies[:l.Blocks[i].Count]
	} else {
		var err error
		if numbers, frequencies, err = l.Read(e.sr.ctx, i, l.buffers); err != nil {
			return 0, err
		}
		l.at = i + 1
	}
	if i, has := slices.BinarySearch(numbers, n); has {
		return frequencies[i], nil
	}
	return 0, nil
}

// ahead returns how many numbers come before n, of which most often few do.
func ahead(numbers []uint32, n uint32) int {
	step := 1
	for step < len(numbers) && numbers[step] < n {
		step *= 2
	}
	from := step / 2
	i, _ := slices.BinarySearch(numbers[from:min(step+1, len(numbers))], n)
	return from + i
}
