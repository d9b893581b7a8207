package textsearch

import (
	"slices"
	"sync"

	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// evaluator finds the best matches of one source, window by window: the window that
// can have the best match first, until none can have one that is wanted.
type evaluator struct {
	sr    *searcher
	part  *part
	index uint32 // of part
	top   *top
	every bool   // all matches are wanted
	done  []bool // windows that are evaluated, from first on

	lookups []evaluated
	longest []*evaluated      // the same, the longest first
	late    []*evaluated      // of a window: those that come last
	clauses []int             // that lookups are of
	have    []set             // by these, the documents of a window that have one
	first   uint32            // window that the first of evaluated.most is of
	norms   []*inverted.Norms // by window; nil until asked for
	*scratch
}

// evaluated is a lookup at work. A document counts by its best term.
type evaluated struct {
	clause   int
	group    int // which of evaluator.clauses that is
	factor   float64
	lists    []evaluatedList
	count    int     // of postings
	most     []int64 // what it counts at most, by window; nil when all matches are wanted
	greatest int64   // of most

	// Of a way side by side: whether it is asked, and what it counts in the document
	// at hand.
	asked  bool
	points int64
}

type evaluatedList struct {
	*inverted.List
	exact                bool
	numbers, frequencies []uint32 // of all of it, when it is in memory
	at                   int      // see beside.go
	buffers              *inverted.Buffers
}

// scratch is memory that evaluators use one after the other.
type scratch struct {
	buffers inverted.Buffers
	scores  [inverted.Window]int64
	bests   [inverted.Window]int64 // of the lookup at hand, where own says
	seen    set                    // which scores are set
	own     set                    // which the lookup at hand has set
	spare   inverted.Buffers       // postings of documents seen
	read    []uint32
}

// set is documents of a window.
type set [inverted.Window / 64]uint64

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func newEvaluator(sr *searcher, p *part, index int, t *top) *evaluator {
	e := &evaluator{
		sr: sr, part: p, index: uint32(index), top: t, every: t.counted,
		norms: make([]*inverted.Norms, (p.source.Size()+inverted.Window-1)/inverted.Window),
	}
	e.scratch = scratches.Get().(*scratch)
	e.read = e.read[:0]
	return e
}

// release gives the scratch to others, unless a search that failed left scores in it.
func (e *evaluator) release() {
	if e.scratch != nil {
		scratches.Put(e.scratch)
	}
}

func (e *evaluator) run() error {
	err := e.find()
	if err != nil {
		e.scratch = nil
	}
	return err
}

// find offers what matches, in the way that is best for the lists that there are.
func (e *evaluator) find() error {
	lists := 0
	for c, looks := range e.part.lists {
		for _, l := range looks {
			ev := evaluated{clause: c, group: len(e.clauses), factor: l.factor}
			for _, list := range l.lists {
				numbers, frequencies, _ := list.InMemory()
				ev.lists = append(ev.lists, evaluatedList{List: list.List, exact: list.exact, numbers: numbers, frequencies: frequencies})
				ev.count += int(list.Count)
			}
			lists += len(ev.lists)
			e.lookups = append(e.lookups, ev)
		}
		if len(looks) > 0 {
			e.clauses = append(e.clauses, c)
		}
	}
	if lists == 0 {
		return nil
	}
	if len(e.lookups) == 1 && !e.every {
		return e.blocks(&e.lookups[0])
	}
	for i := range e.lookups {
		for j := range e.lookups[i].lists {
			if err := e.hold(&e.lookups[i].lists[j]); err != nil {
				return err
			}
		}
	}
	for i := range e.lookups {
		e.longest = append(e.longest, &e.lookups[i])
	}
	slices.SortStableFunc(e.longest, func(a, b *evaluated) int { return b.count - a.count })
	if held(e.longest, fewPostings) {
		return e.beside(nil)
	}
	return e.windows()
}

// heldBlocks is how many blocks a list has at most that is read at once: those of
// fewer documents lie in many windows each.
const heldBlocks = 16

// hold reads a list that is short.
func (e *evaluator) hold(l *evaluatedList) error {
	if l.numbers != nil || len(l.Blocks) > heldBlocks {
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
func (e *evaluator) count(scaled float64, frequency uint32, length byte, exact bool) int64 {
	s := e.sr.scorer.saturation(frequency, length)
	if exact {
		s *= 1 + exactBonus
	}
	return points(scaled * s)
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
