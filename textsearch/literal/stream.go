package literal

import "github.com/crabstore/crabstore/textsearch"

// prefixes returns, for each length of a prefix of folded less one, the length of
// the longest proper prefix that it ends with: the failure function of Knuth,
// Morris and Pratt.
func prefixes(folded []rune) []int32 {
	back := make([]int32, len(folded))
	state := int32(0)
	for i := 1; i < len(folded); i++ {
		for state > 0 && folded[state] != folded[i] {
			state = back[state-1]
		}
		if folded[state] == folded[i] {
			state++
		}
		back[i] = state
	}
	return back
}

// stream is the slow way to find a needle: through folded code points one by one.
type stream struct {
	m     *Matcher
	state int   // how much of the needle what was read ends with
	read  int   // how many code points
	begin []int // of the last ones, where in the text they begin a character; -1 for inside one
}

// reset makes the stream forget what of the needle it read.
func (s *stream) reset() {
	s.state = 0
	if s.begin == nil {
		n := 1
		for n < len(s.m.folded) {
			n *= 2
		}
		s.begin = make([]int, n)
	}
}

// push reads the next code point and tells whether it ends the needle.
func (s *stream) push(r rune, begin int) bool {
	s.begin[s.read&(len(s.begin)-1)] = begin
	s.read++
	folded, back := s.m.folded, s.m.back
	for s.state > 0 && (s.state == len(folded) || folded[s.state] != r) {
		s.state = int(back[s.state-1])
	}
	if folded[s.state] == r {
		s.state++
	}
	return s.state == len(folded)
}

// start returns where what of the needle has been read begins; -1 for inside a
// character.
func (s *stream) start() int { return s.begin[(s.read-s.state)&(len(s.begin)-1)] }

// streamed finds the next match from i on, which is a border, in the slow way. It
// gives up, with s.pos set to where to go on, once no match that is open holds a
// character before hold or one that is not regular.
func (s *search) streamed(i, hold int) (textsearch.Span, bool) {
	var out [maxFold]rune
	s.stream.reset()
	for i < len(s.text) {
		n, size := s.m.table.character(s.text, i, &out)
		end := i + size
		if n > 1 || size != width(out[0]) {
			hold = max(hold, end)
		}
		for k, r := range out[:n] {
			if s.stream.state == 0 && r != s.m.folded[0] {
				continue
			}
			if k > 0 {
				i = -1
			}
			if !s.stream.push(r, i) || k < n-1 {
				continue
			}
			if start := s.stream.start(); start >= 0 {
				s.pos = end
				return textsearch.Span{Start: start, End: end}, true
			}
		}
		i = end
		if open := s.open(i); open >= hold && !s.slow {
			s.pos = open
			return textsearch.Span{}, false
		}
	}
	s.pos = len(s.text)
	return textsearch.Span{}, false
}

// open returns where the match that is open before i begins; i without one.
func (s *search) open(i int) int {
	if s.stream.state == 0 {
		return i
	}
	return s.stream.start()
}
