package literal

import (
	"math/bits"
	"slices"
	"unicode/utf8"
)

// Trigram is three folded code points that follow each other, packed: the first
// from bit 42, the second from bit 21, the third from bit 0. A byte b that is not
// UTF-8 counts as the code point 0x110000 + b.
type Trigram uint64

const codeBits = 21

// trigramsOf returns the trigrams of a folded text, ascending and each once.
func trigramsOf(folded []rune) []Trigram {
	all := make([]Trigram, 0, len(folded))
	for i := gram; i <= len(folded); i++ {
		t := folded[i-gram : i]
		all = append(all, Trigram(t[0])<<(2*codeBits)|Trigram(t[1])<<codeBits|Trigram(t[2]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// append appends the code points in UTF-8, a byte that is not UTF-8 as it is. This is
// the term of an index. What a text has next to each other is told apart by it: bytes
// that would be a character together are never two characters of one text.
func (t Trigram) append(b []byte) []byte {
	for shift := 2 * codeBits; shift >= 0; shift -= codeBits {
		if r := rune(t >> shift & (1<<codeBits - 1)); r < badByte {
			b = utf8.AppendRune(b, r)
		} else {
			b = append(b, byte(r-badByte))
		}
	}
	return b
}

// size is how many bytes append appends.
func (t Trigram) size() int {
	if _, ok := narrow(t); ok {
		return gram
	}
	size := 0
	for shift := 2 * codeBits; shift >= 0; shift -= codeBits {
		size += width(rune(t >> shift & (1<<codeBits - 1)))
	}
	return size
}

// Trigrammer takes trigrams from texts. The zero one is ready. It takes a quarter of
// a MiB, whatever the texts, and room for the distinct trigrams of one that are not
// ASCII: keep one for many texts. It is not safe for concurrent use.
type Trigrammer struct {
	ascii asciiSet
	wide  []Trigram // the others, unsorted, some of them again
	limit int       // how many of these there may be before those are dropped

	last Trigram // the code points before the next one
	read int     // how many there have been, up to two
}

// Append appends the trigrams of a text, ascending and each once, and returns the
// longer slice. A text has all the trigrams of every needle that is found in it.
func (t *Trigrammer) Append(dst []Trigram, text string) []Trigram {
	t.wide, t.limit, t.last, t.read = t.wide[:0], 4096, 0, 0
	table := folding()
	var out [maxFold]rune
	for i := 0; i < len(text); {
		i += t.pushASCII(text[i:])
		// What is left begins with one other character, or one that may have a dot.
		for range 2 {
			if i < len(text) {
				n, size := table.character(text, i, &out)
				for _, r := range out[:n] {
					t.push(r)
				}
				i += size
			}
		}
	}
	return t.finish(dst)
}

// pushASCII reads characters while they and the one behind are ASCII, or end the
// text, and returns how many.
func (t *Trigrammer) pushASCII(text string) int {
	n := asciiEnd(text, 0, len(text))
	if n < len(text) {
		n--
	}
	if n < gram {
		return t.pushFew(text, n)
	}
	t.pushFew(text, gram-1)
	key := uint32(lower(text[0]))<<7 | uint32(lower(text[1]))
	for i := gram - 1; i < n; i++ {
		key = (key<<7 | uint32(lower(text[i]))) & (1<<21 - 1)
		t.ascii.add(key)
	}
	t.last, t.read = Trigram(key>>7&0x7F)<<codeBits|Trigram(key&0x7F), gram-1
	return n
}

func (t *Trigrammer) pushFew(text string, n int) int {
	for i := range max(n, 0) {
		t.push(rune(lower(text[i])))
	}
	return max(n, 0)
}

// push reads one folded code point.
func (t *Trigrammer) push(r rune) {
	trigram := t.last<<codeBits | Trigram(r)
	t.last = trigram & (1<<(2*codeBits) - 1)
	if t.read < gram-1 {
		t.read++
		return
	}
	if key, ok := narrow(trigram); ok {
		t.ascii.add(key)
		return
	}
	if len(t.wide) >= t.limit {
		slices.Sort(t.wide)
		t.wide = slices.Compact(t.wide)
		t.limit = max(t.limit, 2*len(t.wide))
	}
	t.wide = append(t.wide, trigram)
}

// finish appends what was read, in order.
func (t *Trigrammer) finish(dst []Trigram) []Trigram {
	first := len(dst)
	dst = t.ascii.take(dst)
	if len(t.wide) == 0 {
		return dst
	}
	slices.Sort(t.wide)
	t.wide = slices.Compact(t.wide)
	return merge(dst, first, t.wide)
}

// merge merges what dst holds from first on with more, both ascending, from the end.
func merge(dst []Trigram, first int, more []Trigram) []Trigram {
	i, j := len(dst)-1, len(more)-1
	dst = append(dst, more...)
	for at := len(dst) - 1; j >= 0; at-- {
		if i >= first && dst[i] > more[j] {
			dst[at] = dst[i]
			i--
		} else {
			dst[at] = more[j]
			j--
		}
	}
	return dst
}

// narrow packs a trigram of ASCII alone in 21 bits.
func narrow(t Trigram) (key uint32, ok bool) {
	const other = ^Trigram(0x7F<<(2*codeBits) | 0x7F<<codeBits | 0x7F)
	return uint32(t>>28)&(0x7F<<14) | uint32(t>>14)&(0x7F<<7) | uint32(t)&0x7F, t&other == 0
}

func widen(key uint32) Trigram {
	k := Trigram(key)
	return k>>14<<(2*codeBits) | k>>7&0x7F<<codeBits | k&0x7F
}

// asciiSet is a set of numbers below 1<<21: a bitmap, with another of its words that
// are not empty and one of the words of that, so that few numbers are found without
// a look at the rest.
type asciiSet struct {
	set  [1 << 15]uint64
	some [1 << 9]uint64
	top  [1 << 3]uint64
}

func (s *asciiSet) add(key uint32) {
	s.set[key>>6&(1<<15-1)] |= 1 << (key & 63)
	s.some[key>>12&(1<<9-1)] |= 1 << (key >> 6 & 63)
	s.top[key>>18&(1<<3-1)] |= 1 << (key >> 12 & 63)
}

// take appends the numbers as trigrams, ascending, and leaves the set empty.
func (s *asciiSet) take(dst []Trigram) []Trigram {
	for t := range s.top {
		for ; s.top[t] != 0; s.top[t] &= s.top[t] - 1 {
			dst = s.takeSome(dst, t<<6|bits.TrailingZeros64(s.top[t]))
		}
	}
	return dst
}

func (s *asciiSet) takeSome(dst []Trigram, some int) []Trigram {
	for words := s.some[some]; words != 0; words &= words - 1 {
		word := some<<6 | bits.TrailingZeros64(words)
		for set := s.set[word]; set != 0; set &= set - 1 {
			dst = append(dst, widen(uint32(word<<6|bits.TrailingZeros64(set))))
		}
		s.set[word] = 0
	}
	s.some[some] = 0
	return dst
}
