package literal

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/crabstore/crabstore/textsearch"
)

// Preview returns at most maxBytes of a text, to show, with as many of the matches
// as fit, cut and marked as textsearch.Snippet does, and displayed as Display does.
// matches are as Find gives them; of one alone it is the surroundings. Start is in
// bytes of the text as it is, and Spans are in those of the window.
func Preview(text string, matches []textsearch.Span, maxBytes int) textsearch.Window {
	w := textsearch.Snippet(text, matches, maxBytes)
	bad := badBytes(w.Text)
	if len(bad) == 0 {
		return w
	}
	// It is longer now, and may have to be cut again.
	shown := textsearch.Snippet(strings.Join(parts(w.Text, bad), replacement), bad.moved(w.Spans), maxBytes)
	shown.Start = w.Start + bad.original(shown.Start)
	shown.Before = shown.Before || w.Before
	shown.After = shown.After || w.After
	return shown
}

// Display returns a text with U+FFFD for every byte that is not UTF-8, and where
// spans of the text are in that. Nothing is changed that is in UTF-8.
func Display(text string, spans []textsearch.Span) (string, []textsearch.Span) {
	bad := badBytes(text)
	if len(bad) == 0 {
		return text, spans
	}
	return strings.Join(parts(text, bad), replacement), bad.moved(spans)
}

const (
	replacement = "\uFFFD"
	growth      = len(replacement) - 1
)

// offsets are where in a text the bytes are that are not UTF-8.
type offsets []int

func badBytes(text string) offsets {
	if utf8.ValidString(text) {
		return nil
	}
	var bad offsets
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], replacement) {
			bad = append(bad, i)
		}
	}
	return bad
}

// parts returns what is between the bad bytes of a text.
func parts(text string, bad offsets) []string {
	parts := make([]string, 0, len(bad)+1)
	start := 0
	for _, at := range bad {
		parts = append(parts, text[start:at])
		start = at + 1
	}
	return append(parts, text[start:])
}

// moved returns spans of a text as they are in what is displayed.
func (bad offsets) moved(spans []textsearch.Span) []textsearch.Span {
	moved := make([]textsearch.Span, len(spans))
	for i, s := range spans {
		moved[i] = textsearch.Span{Start: bad.displayed(s.Start), End: bad.displayed(s.End)}
	}
	return moved
}

func (bad offsets) displayed(at int) int { return at + growth*sort.SearchInts(bad, at) }

// original is the inverse of displayed.
func (bad offsets) original(at int) int {
	n := sort.Search(len(bad), func(n int) bool { return bad[n]+growth*n >= at })
	return at - growth*n
}
