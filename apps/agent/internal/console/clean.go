package console

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns foreign text on one line: runs of white space are single spaces,
// and what a terminal might act upon is gone.
func Line(s string) string { return strings.Join(strings.Fields(strings.Map(harmless, s)), " ") }

// Text returns foreign text with its lines and tabs kept, and nothing else that a
// terminal might act upon.
func Text(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return harmless(r)
	}, s)
}

// harmless maps a character to one that is only shown. White space stays white.
func harmless(r rune) rune {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return ' '
	case r == utf8.RuneError || r < 0x20 || r >= 0x7f && r < 0xa0:
		return '\uFFFD'
	case unicode.Is(unicode.Bidi_Control, r): // turns the order of what stands beside it
		return -1
	}
	return r
}
