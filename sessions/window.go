package sessions

import (
	"errors"
	"slices"
	"strings"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch"
)

// How much of a text is searched for the words that match, in bytes. Analysis
// makes some ten megabytes a second, and tools return whole files.
const (
	markedOfBest  = 1 << 20
	markedOfOther = 4 << 10
)

// hit shows a session that was found.
func (sr *search) hit(c *candidate) (Hit, error) {
	h := Hit{
		Session: c.meta, Score: c.score, Best: -1,
		Title: sr.spans(c.meta.Title, markedOfBest), Summary: sr.spans(c.meta.Summary, markedOfBest),
	}
	var err error
	if c.best == nil {
		h.Window, err = sr.items(c, Range{Before: c.meta.NextIndex}, sr.q.Window)
		return h, err
	}
	h.Best = c.best.Index
	h.Window, err = sr.around(c)
	return h, err
}

// around returns the best message and those about it: as many before as behind,
// and more on one side where the other has fewer.
func (sr *search) around(c *candidate) ([]Item, error) {
	others, best := sr.q.Window-1, c.best.Index
	before, err := sr.items(c, Range{Before: best, Reverse: true}, others)
	if err != nil {
		return nil, err
	}
	after, err := sr.items(c, Range{From: best + 1, Before: c.meta.NextIndex}, others)
	if err != nil {
		return nil, err
	}
	n := min(len(before), max(others/2, others-len(after)))
	window := before[:n]
	slices.Reverse(window)
	window = append(window, sr.item(c.best, markedOfBest))
	return append(window, after[:min(len(after), others-n)]...), nil
}

// items returns the first n messages of a range that have something to show, and
// looks for them no further than four times as many messages.
func (sr *search) items(c *candidate, r Range, n int) ([]Item, error) {
	if n == 0 {
		return nil, nil
	}
	r.Limit = 4 * n
	var list []Item
	var failed error
	yieldMessages(sr.ctx, sr.s, messagePrefix(sr.s, c.meta.Handle), r, func(m Message, err error) bool {
		switch {
		case errors.Is(err, kv.ErrCorrupt):
			return true
		case err != nil:
			failed = err
			return false
		}
		if it := sr.item(&m, markedOfOther); it.Snippet != "" {
			list = append(list, it)
		}
		return len(list) < n
	})
	return list, failed
}

// item shows a message, with the matches in the first bytes of it.
func (sr *search) item(m *Message, marked int) Item {
	text := sr.shown(m)
	w := textsearch.Snippet(text, sr.matches(text, marked), sr.ranking.Snippet)
	return Item{
		Index: m.Index, Role: m.Role, At: m.At,
		Snippet: w.Text, Spans: spansOf(w.Spans), Before: w.Before, After: w.After,
	}
}

// shown is what is shown of a message: what Search finds of it, and of a tool's
// message what it returned.
func (sr *search) shown(m *Message) string {
	if m.Role != Tool {
		text, _ := sr.ranking.spoken(m)
		return text
	}
	var results []string
	for _, b := range m.Blocks {
		if b.Type == ToolResult && b.Text != "" {
			results = append(results, b.Text)
		}
	}
	return strings.Join(results, "\n")
}

func (sr *search) spans(text string, marked int) []Span { return spansOf(sr.matches(text, marked)) }

// matches returns the matches in the first bytes of a text.
func (sr *search) matches(text string, marked int) []textsearch.Span {
	return sr.marks.Spans(text[:min(len(text), marked)])
}

func spansOf(list []textsearch.Span) []Span {
	var spans []Span
	for _, s := range list {
		spans = append(spans, Span(s))
	}
	return spans
}
