package literal

import (
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Page returns the part of a text of at most maxBytes that begins at offset, and
// where the next page begins, which is where this one ends; -1 after the last. Read
// in this way from 0 on, the pages are the text.
//
// A page ends on the border of a character as a person sees it, where these are no
// longer than some dozens of bytes and than the page, and of a code point in any
// case. An offset inside a code point is moved back to its beginning, one outside
// the text to its beginning or end. A page is empty only at the end: a code point
// that is longer than maxBytes is given whole.
func Page(text string, offset, maxBytes int) (page string, next int) {
	start := runeBorder(text, offset)
	if start == len(text) {
		return "", -1
	}
	limit := start + min(max(maxBytes, 0), len(text)-start)
	end := shownBorder(text, start, limit)
	if end == start {
		end = runeBorder(text, limit)
	}
	if end <= start {
		_, size := utf8.DecodeRuneInString(text[start:])
		end = start + size
	}
	if end == len(text) {
		return text[start:], -1
	}
	return text[start:end], end
}

// shownBorder returns the last border of a character as a person sees it at or
// before i, but not before first, which is one.
func shownBorder(text string, first, i int) int {
	const reach = 128 // longer than characters that people type
	i = runeBorder(text, i)
	if i <= first || i == len(text) {
		return max(i, first)
	}
	from := certainBorder(text, max(first, i-reach), i)
	for rest := graphemes.FromString(text[from:]); from < i && rest.Next(); {
		n := len(rest.Value())
		if from+n > i {
			break
		}
		from += n
	}
	return from
}

// certainBorder returns the last place from first to i that is a border whatever
// else is in the text: between two that are ASCII, but for a line break of two.
// Without one it is the border of a code point near first.
func certainBorder(text string, first, i int) int {
	for at := i; at > first; at-- {
		if text[at] < utf8.RuneSelf && text[at-1] < utf8.RuneSelf && (text[at-1] != '\r' || text[at] != '\n') {
			return at
		}
	}
	return runeBorder(text, first)
}
