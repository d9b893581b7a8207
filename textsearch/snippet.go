package textsearch

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Window is a piece of a text, as Snippet cuts it.
type Window struct {
	Text  string
	Start int    // where it begins in the whole text, in bytes
	Spans []Span // the matches inside, in bytes of Text
	// Before and After tell whether something other than white space was cut off
	// at that end.
	Before, After bool
}

// Snippet returns the window of at most maxBytes of text that holds the most
// matches, with as much on both sides of them. Without spans it is the beginning.
// It ends between words where that loses little, and never inside a character as
// a person sees it. spans are as Highlight returns them.
func Snippet(text string, spans []Span, maxBytes int) Window {
	if len(text) <= maxBytes {
		return window(text, spans, 0, len(text))
	}
	first, last := densest(spans, maxBytes)
	if first == last {
		return window(text, spans, 0, cutDown(text, 0, maxBytes))
	}
	inside := min(spans[last-1].End-spans[first].Start, maxBytes)
	start := max(0, spans[first].Start-(maxBytes-inside)/2)
	start = max(0, min(start, len(text)-maxBytes))
	start = cutUp(text, start, min(spans[first].Start, len(text)))
	return window(text, spans, start, cutDown(text, start, min(len(text), start+maxBytes)))
}

// densest returns which spans lie in the window with the most of them, the first
// such window. A span longer than a window counts as one that begins in it.
func densest(spans []Span, maxBytes int) (first, last int) {
	to := 0
	for from := range spans {
		to = max(to, from+1)
		for to < len(spans) && spans[to].End-spans[from].Start <= maxBytes {
			to++
		}
		if to-from > last-first {
			first, last = from, to
		}
	}
	return first, last
}

// slack is how many bytes a cut may move to fall between words.
const slack = 24

// cutUp returns where to begin at start or a little behind it, and not behind
// limit.
func cutUp(text string, start, limit int) int {
	if start == 0 {
		return 0
	}
	if n := strings.IndexAny(text[start-1:min(limit, start+slack)], " \t\r\n"); n >= 0 && start+n <= limit {
		return start + n
	}
	if up := boundary(text, start); up < start {
		// start is inside a character, which ends behind it
		_, n := firstCharacter(text[up:])
		return min(up+n, len(text))
	}
	return start
}

// cutDown returns where to end at end or a little before it, behind start.
func cutDown(text string, start, end int) int {
	if end >= len(text) {
		return len(text)
	}
	from := max(start, end-slack)
	if n := strings.LastIndexAny(text[from:end+1], " \t\r\n"); n > 0 {
		return from + n
	}
	return max(start, boundary(text, end))
}

// boundary returns the last border of a character at or before i.
func boundary(text string, i int) int {
	const reach = 64 // long enough for any character that a person would type
	from := max(0, i-reach)
	for from < i && !utf8.RuneStart(text[from]) {
		from++
	}
	if n := strings.LastIndexAny(text[from:i], " \t\r\n"); n >= 0 {
		from += n
	}
	for from < i {
		_, n := firstCharacter(text[from:])
		if from+n > i {
			break
		}
		from += n
	}
	return from
}

func firstCharacter(text string) (string, int) {
	c := graphemes.FromString(text).First()
	return c, len(c)
}

// window returns text[start:end] with what of the spans lies inside.
func window(text string, spans []Span, start, end int) Window {
	w := Window{Text: text[start:end], Start: start}
	w.Before = strings.TrimSpace(text[:start]) != ""
	w.After = strings.TrimSpace(text[end:]) != ""
	for _, s := range spans {
		s.Start, s.End = max(s.Start, start)-start, min(s.End, end)-start
		if s.Start < s.End {
			w.Spans = append(w.Spans, s)
		}
	}
	return w
}
