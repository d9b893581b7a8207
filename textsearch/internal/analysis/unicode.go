package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// wide is a stretch of text that is not ASCII alone, in NFKC, and the buffers to
// make it.
type wide struct {
	base     int     // where the stretch begins in the text
	text     string  // in NFKC and without ignorable characters
	from, to []int32 // for each byte of text, the bytes of the stretch it comes from; empty when they are the same
	buffer   []byte
	iter     norm.Iter
	fold     cases.Caser
}

// span returns the bytes of the whole text that w.text[start:end] comes from.
func (w *wide) span(start, end int) (int, int) {
	if len(w.from) == 0 {
		return w.base + start, w.base + end
	}
	return w.base + int(w.from[start]), w.base + int(w.to[end-1])
}

// wideStretch takes the text from start to the next ASCII space and returns where
// that is.
func (a *Analyzer) wideStretch(start int) int {
	end := start
	for end < len(a.text) && classes[a.text[end]] != space {
		end++
	}
	a.wider().normalize(a.text[start:end], start)
	a.segments()
	return end
}

// normalize sets the stretch.
func (w *wide) normalize(stretch string, base int) {
	w.base, w.from, w.to = base, w.from[:0], w.to[:0]
	if norm.NFKC.IsNormalString(stretch) && !strings.ContainsFunc(stretch, replaced) {
		w.text = stretch
		return
	}
	w.buffer = w.buffer[:0]
	w.iter.InitString(norm.NFKC, stretch)
	for from := 0; !w.iter.Done(); {
		w.add(w.iter.Next())
		// What one character becomes may come in several steps.
		if to := w.iter.Pos(); to > from {
			w.cover(from, to)
			from = to
		}
	}
	w.text = string(w.buffer)
}

// add appends a piece of the stretch in NFKC. What is no UTF-8 divides words.
func (w *wide) add(normal []byte) {
	for len(normal) > 0 {
		r, n := utf8.DecodeRune(normal)
		switch {
		case r == utf8.RuneError:
			w.buffer = append(w.buffer, ' ')
		case r == '’':
			w.buffer = append(w.buffer, '\'')
		case !ignorable(r):
			w.buffer = append(w.buffer, normal[:n]...)
		}
		normal = normal[n:]
	}
}

// cover notes that what was added comes from the bytes [from, to) of the stretch.
func (w *wide) cover(from, to int) {
	for len(w.from) < len(w.buffer) {
		w.from, w.to = append(w.from, int32(from)), append(w.to, int32(to))
	}
}

func replaced(r rune) bool { return r == '’' || r == utf8.RuneError || ignorable(r) }

// ignorable tells whether a character has no shape of its own: format controls,
// soft hyphens and joiners among them, but for the zero-width space, which
// divides words, and variation selectors.
func ignorable(r rune) bool {
	return r >= 0xAD && r != 0x200B && (unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == 0x34F)
}

// folded returns text, in NFKC, case folded in full. Folding takes some characters
// apart, which NFC puts together again. Dotless i becomes i, and capital I with a
// dot an i with a dot that is dropped.
func (w *wide) folded(text string) string {
	folded := w.fold.String(text)
	if !norm.NFC.IsNormalString(folded) {
		folded = norm.NFC.String(folded)
	}
	if strings.ContainsAny(folded, "ı\u0307") {
		folded = strings.ReplaceAll(strings.ReplaceAll(folded, "ı", "i"), "i\u0307", "i")
	}
	return folded
}

// segments cuts the stretch at the word boundaries of UAX #29 and where scripts
// meet, and joins what belongs together again: the characters of one run, and
// words with a connector between them.
func (a *Analyzer) segments() {
	text := a.wide.text
	var j joiner
	for it := words.FromString(text); it.Next(); {
		for start, end := it.Start(), 0; start < it.End(); start = end {
			var s script
			s, end = scriptRun(text, start, it.End())
			if word, in := j.next(text, piece{start, end}, s); word.end > 0 {
				a.wideWord(word, in)
			}
		}
	}
	if j.open.end > 0 {
		a.wideWord(j.open, j.in)
	}
}

// joiner joins the pieces of a stretch to written words and runs.
type joiner struct {
	open      piece  // the word or run so far
	in        script // its script
	connected int    // where the connector behind it ends, if there is one
}

// next takes the next piece. It returns the word or run in front of it when that
// ends there, and its script.
func (j *joiner) next(text string, p piece, s script) (word piece, in script) {
	switch {
	case s == none && p.start < j.connected:
		return piece{}, none // the second character of ::
	case s == none && j.in == alphabet && p.start == j.open.end && classes[text[p.start]] == mark:
		if n := connector(text, j.open.start, p.start); n > 0 {
			j.connected = p.start + n
			return piece{}, none
		}
	case s == j.in && s != none && (p.start == j.open.end || s == alphabet && p.start == j.connected):
		j.open.end = p.end
		return piece{}, none
	}
	word, in = j.open, j.in
	*j = joiner{}
	if s != none {
		j.open, j.in = p, s
	}
	return word, in
}

// wideWord emits what stands in the stretch at p.
func (a *Analyzer) wideWord(p piece, in script) {
	if in == alphabet {
		p.end += suffix(a.wide.text, p.end)
	}
	s := source{a.wide.text[p.start:p.end], p.start, a.wide}
	switch {
	case in != alphabet:
		a.pairs(s)
	case plain(s.text):
		from, to := s.span(0, len(s.text))
		a.emit(s.text, from, to, Word)
	default:
		a.compound(s)
	}
}

// plain tells whether a word is one term as it stands: of letters alone, all of
// them such as folding leaves. It knows the most common ones.
func plain(word string) bool {
	for _, r := range word {
		switch {
		case r >= 'a' && r <= 'z':
		case r >= 0xE0 && r <= 0xFF: // à to ÿ
		case r >= 0x430 && r <= 0x45F: // Cyrillic
		case r >= 0x5D0 && r <= 0x5EA, r >= 0x620 && r <= 0x64A: // Hebrew, Arabic
		case r >= 0x904 && r <= 0x939: // Devanagari
		default:
			return false
		}
	}
	return true
}
