package literal

import (
	"slices"
	"unicode/utf8"
)

// Matcher finds one needle in any number of texts. It does not change, and is safe
// for concurrent use.
type Matcher struct {
	needle   string
	folded   []rune // empty when it is found byte for byte
	trigrams []Trigram

	table   *folds
	ascii   bool    // folded is
	jamo    bool    // folded holds what Hangul is made of
	present runeSet // what of code points folded holds
	leads   leads
	size    int     // of folded, in bytes
	reach   int     // how many bytes a match takes at most
	pair    pair    // where a regular match may be
	back    []int32 // for each length, that of the longest proper prefix of folded which ends it
}

// gram is how many folded code points a trigram has, and a needle that is found
// in any case.
const gram = 3

// NewMatcher prepares a needle. Any string is one.
func NewMatcher(needle string) *Matcher {
	m := &Matcher{needle: needle, table: folding()}
	folded := m.table.foldAll(needle)
	if len(folded) < gram {
		return m
	}
	m.folded, m.ascii = folded, true
	for _, r := range folded {
		m.present.add(r)
		m.size += width(r)
		m.ascii = m.ascii && r < utf8.RuneSelf
		m.jamo = m.jamo || isJamo(r)
	}
	m.reach = maxUnit * len(folded)
	m.trigrams = trigramsOf(folded)
	m.pair = choosePair(m.patterns(m.survey()))
	m.back = prefixes(folded)
	return m
}

// Trigrams returns those of the needle, ascending and each once. A text in which it
// is found has all of them. There are none for a needle that is too short: it takes
// a look at every text. The slice is not to be changed.
func (m *Matcher) Trigrams() []Trigram { return m.trigrams }

// leads are the bytes with which a character in UTF-8 begins that is suspect.
type leads [256]bool

// survey looks at all that fold to something else. It returns, for the code points
// of the needle, the others that fold to it and are as long in UTF-8, and sets
// leads by those that are not.
func (m *Matcher) survey() (regular map[rune][]rune) {
	regular = map[rune][]rune{}
	for high, page := range m.table.pages {
		if page == 0 {
			continue
		}
		for low, cell := range m.table.cells[page] {
			r := rune(high<<8 | low)
			switch folded := rune(cell); {
			case cell == 0:
			case m.suspect(r):
				m.leads[string(r)[0]] = true
			case cell < many && m.present.has(folded):
				regular[folded] = append(regular[folded], r)
			}
		}
	}
	for lead := 0xEA; lead <= 0xED; lead++ { // Hangul
		m.leads[lead] = m.leads[lead] || m.jamo
	}
	if m.suspect(dotAbove) {
		m.leads[string(rune(dotAbove))[0]] = true
	}
	return regular
}

// patterns returns what the bytes of a regular match look like at each place near
// its beginning: one in which every character folds to one code point of the same
// length.
func (m *Matcher) patterns(regular map[rune][]rune) []pattern {
	const enough = 256 // bytes to choose two from
	var patterns []pattern
	for _, r := range m.folded {
		encoded := encode(r)
		at := len(patterns)
		if at+len(encoded) > enough {
			break
		}
		for i := range len(encoded) {
			patterns = append(patterns, pattern{want: encoded[i]})
		}
		for _, other := range regular[r] {
			encoded := encode(other)
			for i := range len(encoded) {
				patterns[at+i].allow(encoded[i])
			}
		}
	}
	return patterns
}

func encode(r rune) string {
	if r >= badByte {
		return string([]byte{byte(r - badByte)})
	}
	return string(r)
}

// irregular returns the first place from i on, and before horizon, where something
// may be part of a match that is not regular. Without one it returns how far it
// looked.
func (m *Matcher) irregular(text string, i, horizon int) (at int, found bool) {
	for i < horizon {
		if text[i] < utf8.RuneSelf {
			i = asciiEnd(text, i+1, horizon)
			continue
		}
		if !m.leads[text[i]] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if m.suspect(r) {
			return i, true
		}
		i += size
	}
	return i, false
}

// suspect tells whether a code point other than ASCII may be a character, or the
// second half of one, that is part of a match which is not regular. It may err on
// the side of yes.
func (m *Matcher) suspect(r rune) bool {
	cell := m.table.cell(r)
	switch {
	case isHangul(r), cell >= many:
		var folded [maxFold]rune
		n := m.table.fold(r, &folded)
		return !slices.ContainsFunc(folded[:n], func(r rune) bool { return !m.present.has(r) })
	case cell > 0:
		return utf8.RuneLen(r) != width(rune(cell)) && m.present.has(rune(cell))
	}
	return r == dotAbove && m.present.has('i')
}

// matchAt returns where a match that begins at text[i] ends, or -1, and how many
// code points it looked at.
func (m *Matcher) matchAt(text string, i int) (end, looked int) {
	if m.ascii {
		for k, r := range m.folded {
			if rune(lower(text[i+k])) != r {
				return -1, k
			}
		}
		return i + len(m.folded), len(m.folded)
	}
	if border(text, i) != i {
		return -1, 0
	}
	var out [maxFold]rune
	for looked < len(m.folded) {
		if i == len(text) {
			return -1, looked
		}
		n, size := m.table.character(text, i, &out)
		if rest := m.folded[looked:]; n > len(rest) || !slices.Equal(out[:n], rest[:n]) {
			return -1, looked
		}
		i += size
		looked += n
	}
	return i, looked
}

// runeSet tells of most code points that they are not in it.
type runeSet [4]uint64

func (s *runeSet) add(r rune)      { s[r>>6&3] |= 1 << (r & 63) }
func (s *runeSet) has(r rune) bool { return s[r>>6&3]>>(r&63)&1 != 0 }
