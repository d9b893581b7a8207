package textsearch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/crabstore/crabstore/textsearch/internal/analysis"
)

// Span is a part of a text, in bytes: text[Start:End].
type Span struct{ Start, End int }

// Highlight returns the spans of text that the words of a query match, as Search
// with English defaults finds them: ascending, apart from each other, on the
// borders of characters.
func Highlight(text, query string) []Span {
	h, err := NewHighlighter(query, Settings{})
	if err != nil {
		return nil // the defaults are no error
	}
	return h.Spans(text)
}

// Highlighter finds the matches of one query in many texts. It is not safe for
// concurrent use.
type Highlighter struct {
	analyzer   *analysis.Analyzer
	terms      map[string]bool // of what is looked up exactly
	stems      map[string]bool
	prefixes   []string
	characters []string // that are looked for alone
}

// NewHighlighter returns the highlighter of a query in the language of the
// settings, as SettingsOf a store gives them.
func NewHighlighter(query string, set Settings) (*Highlighter, error) {
	a, err := newAnalyzer(set.Language)
	if err != nil {
		return nil, err
	}
	h := &Highlighter{analyzer: a, terms: map[string]bool{}, stems: map[string]bool{}}
	clauses, _ := parse(a, query)
	for _, c := range clauses {
		for _, look := range c.lookups {
			switch look.how {
			case exactly:
				h.terms[look.term] = true
			case inflected:
				h.stems[a.Stem(look.term)] = true
			case prefixed:
				h.prefixes = append(h.prefixes, look.term)
			case character:
				h.characters = append(h.characters, look.term)
			}
		}
	}
	return h, nil
}

// Spans returns the matches in a text, as Highlight does.
func (h *Highlighter) Spans(text string) []Span {
	var spans []Span
	for _, t := range h.analyzer.Tokens(text) {
		switch {
		case h.matches(t):
			spans = append(spans, Span{t.Start, t.End})
		case beginsWithAny(t.Term, h.characters): // of a pair, the first one
			spans = append(spans, Span{t.Start, t.Start + len(firstCharacter(text[t.Start:t.End]))})
		}
	}
	return joined(spans)
}

func (h *Highlighter) matches(t analysis.Token) bool {
	return h.terms[t.Term] || h.stems[h.analyzer.Stem(t.Term)] || beginsWithAny(t.Term, h.prefixes)
}

func beginsWithAny(term string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(term, p) })
}

// joined sorts spans and joins those that overlap or touch.
func joined(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].End >= s.Start {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}
