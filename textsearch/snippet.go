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

// maxSlack is how many bytes of a window are given up, at either end, for it to
// end between words; of a small one, a quarter.
const maxSlack = 24

// Snippet returns the window of at most maxBytes of text that holds the most
// matches, with as much on both sides of them. Without spans it is the beginning.
// It ends between words where that loses little, and never inside a character as
// a person sees it. spans are as Highlight returns them.
func Snippet(text string, spans []Span, maxBytes int) Window {
	if maxBytes = max(maxBytes, 0); len(text) <= maxBytes {
		return window(text, spans, 0, len(text))
	}
	slack := min(maxBytes/4, maxSlack)
	from, to := densest(spans, maxBytes)
	start := max(0, min(from-(maxBytes-(to-from))/2, len(text)-maxBytes))
	start = wordStart(text, start, min(from, start+slack))
	end := min(start+maxBytes, len(text))
	return window(text, spans, start, wordEnd(text, end, max(start, to, end-slack)))
}

// densest returns the part of a text, at most maxBytes of it, that begins with a
// match and holds the most of them; the first such part. Of a match that is
// longer it is the beginning.
func densest(spans []Span, maxBytes int) (from, to int) {
	most, last := 0, 0
	for first := range spans {
		last = max(last, first+1)
		for last < len(spans) && spans[last].End-spans[first].Start <= maxBytes {
			last++
		}
		if last-first > most {
			most, from, to = last-first, spans[first].Start, spans[last-1].End
		}
	}
	return from, min(to, from+maxBytes)
}

// wordStart returns the first beginning of a word from at to limit, or, without
// one, the first border of a character.
func wordStart(text string, at, limit int) int {
	if at == 0 {
		return 0
	}
	if n := strings.IndexAny(text[at-1:max(at, limit)], white); n >= 0 {
		return at + n
	}
	if b := boundary(text, at); b < at {
		return b + len(firstCharacter(text[b:]))
	}
	return at
}

// wordEnd returns the last end of a word from limit to at, or, without one, the
// last border of a character.
func wordEnd(text string, at, limit int) int {
	if at == len(text) {
		return at
	}
	if n := strings.LastIndexAny(text[limit:at+1], white); n >= 0 {
		return limit + n
	}
	return boundary(text, at)
}

const white = " \t\r\n"

// boundary returns the last border of a character at or before i.
func boundary(text string, i int) int {
	const reach = 64 // long enough for any character that a person would type
	from := max(0, i-reach)
	for from < i && !utf8.RuneStart(text[from]) {
		from++
	}
	if n := strings.LastIndexAny(text[from:i], white); n >= 0 {
		from += n
	}
	for from < i {
		n := len(firstCharacter(text[from:]))
		if from+n > i {
			break
		}
		from += n
	}
	return from
}

func firstCharacter(text string) string { return graphemes.FromString(text).First() }

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
