package cli

import (
	"iter"

	"github.com/crabstore/crabstore/memory"
	"github.com/crabstore/crabstore/skills"
	"github.com/crabstore/crabstore/textsearch"
)

// memoryHit is a memory.Hit as programs get it.
type memoryHit struct {
	Entry   memory.Entry `json:"entry"`
	Score   float64      `json:"score"`
	Words   []string     `json:"words"`
	Snippet window       `json:"snippet"`
}

// window is a textsearch.Window, and span a textsearch.Span.
type window struct {
	Text   string `json:"text"`
	Start  int    `json:"start"`
	Spans  []span `json:"spans"`
	Before bool   `json:"before,omitempty"`
	After  bool   `json:"after,omitempty"`
}

type span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// skillHit is a skills.Hit as programs get it.
type skillHit struct {
	Summary skills.Summary `json:"summary"`
	Score   float64        `json:"score"`
	Words   []string       `json:"words"`
}

func memoryHits(hits []memory.Hit) iter.Seq[memoryHit] {
	return func(yield func(memoryHit) bool) {
		for i := range hits {
			h := &hits[i]
			if !yield(memoryHit{h.Entry, h.Score, h.Words, windowOf(&h.Snippet)}) {
				return
			}
		}
	}
}

func windowOf(w *textsearch.Window) window {
	spans := make([]span, len(w.Spans))
	for i, s := range w.Spans {
		spans[i] = span(s)
	}
	return window{w.Text, w.Start, spans, w.Before, w.After}
}
