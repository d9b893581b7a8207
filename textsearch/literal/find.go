package literal

import (
	"iter"
	"strings"

	"github.com/crabstore/crabstore/textsearch"
)

// Find returns where the needle stands in a text, in bytes of the text: ascending,
// apart from each other, on the borders of characters.
func (m *Matcher) Find(text string) iter.Seq[textsearch.Span] {
	return func(yield func(textsearch.Span) bool) {
		s := search{m: m, text: text, stream: stream{m: m}}
		for {
			span, ok := s.next()
			if !ok || !yield(span) {
				return
			}
		}
	}
}

// search is a matcher on its way through a text.
type search struct {
	m    *Matcher
	text string
	pos  int // no match that begins before is still to be found

	clear   int  // before it nothing is irregular, from pos on
	suspect bool // and there something may be
	limit   int  // what begins before, from pos on, ends before clear
	work    int  // what looking at candidates has cost, in code points
	slow    bool // it was too much: the rest is streamed

	stream stream
}

const (
	// block is how far the search for what is irregular goes ahead of that for the
	// needle: no further than a processor's cache holds.
	block = 16 << 10

	// Candidates may cost this many times the text, and a little more, before the
	// stream is faster. One costs what it looks at and a few code points besides.
	maxWork       = 2
	freeWork      = 4096
	candidateWork = 4
)

// next returns the next match.
func (s *search) next() (textsearch.Span, bool) {
	if len(s.m.folded) == 0 {
		return s.exact()
	}
	for s.pos < len(s.text) {
		if !s.slow {
			if s.pos >= s.limit {
				s.lookAhead()
			}
			if span, ok := s.regular(); ok {
				return span, true
			}
			if !s.slow && !s.suspect {
				continue
			}
		}
		if span, ok := s.streamed(s.pos, s.clear+1); ok {
			return span, true
		}
	}
	return textsearch.Span{}, false
}

// lookAhead moves clear and limit on.
func (s *search) lookAhead() {
	if s.clear < s.pos || !s.suspect {
		from := max(s.clear, s.pos)
		horizon := min(len(s.text), from+block+2*s.m.reach)
		s.clear, s.suspect = s.m.irregular(s.text, from, horizon)
	}
	s.limit = len(s.text)
	if s.clear < len(s.text) {
		s.limit = max(s.pos, border(s.text, s.clear-s.m.reach))
	}
}

// regular returns the next match that begins before limit, of characters as long as
// what they fold to. Without one, it moves pos to limit, or to where it found that
// it takes too much work.
func (s *search) regular() (textsearch.Span, bool) {
	last := min(s.limit, len(s.text)-s.m.size+1)
	for i := s.pos; ; i++ {
		if i = s.m.pair.next(s.text, i, last); i >= last {
			s.pos = s.limit
			return textsearch.Span{}, false
		}
		end, looked := s.m.matchAt(s.text, i)
		if end >= 0 {
			s.pos = end
			return textsearch.Span{Start: i, End: end}, true
		}
		if s.work += candidateWork + looked; s.work > maxWork*i+freeWork {
			s.slow = true
			s.pos = max(s.pos, border(s.text, i))
			return textsearch.Span{}, false
		}
	}
}

// exact returns the next match byte for byte.
func (s *search) exact() (textsearch.Span, bool) {
	for s.m.needle != "" {
		i := strings.Index(s.text[s.pos:], s.m.needle)
		if i < 0 {
			break
		}
		start := s.pos + i
		end := start + len(s.m.needle)
		if runeBorder(s.text, start) == start && runeBorder(s.text, end) == end {
			s.pos = end
			return textsearch.Span{Start: start, End: end}, true
		}
		s.pos = start + 1
	}
	return textsearch.Span{}, false
}
