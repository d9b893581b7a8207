package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// Query says what Search looks for. Everything but Text narrows it down, and its
// zero value does not.
type Query struct {
	Text   string    // words, word* and "all of these", as textsearch reads them; never a syntax error
	Agent  string    // only sessions of this agent
	By     string    // only sessions created by this one
	Handle string    // only this session
	Since  time.Time // only what was said then or later; of titles and summaries, where the session was active then or later
	Until  time.Time // only what was said before; of titles and summaries, where the session began before
	Limit  int       // how many sessions at most; 0 means DefaultHits, and Ranking.Hits is the most
	Window int       // how many messages of each at most; 0 means DefaultWindow, and Ranking.Window is the most
}

// What a Query means that does not say how much it wants.
const (
	DefaultHits   = 10
	DefaultWindow = 5
)

// Results is what Search found.
type Results struct {
	Hits []Hit `json:"hits"` // best first; of equal ones the one with the lesser handle

	// Partial tells that the query is so broad that not all of it was looked at, as
	// textsearch does when a word* stands for too many words.
	Partial bool `json:"partial,omitempty"`
}

// Hit is a session that was found.
type Hit struct {
	Session Meta    `json:"session"`
	Score   float64 `json:"score"` // that of its best message, its title and its summary together
	Best    int     `json:"best"`  // index of the message that matches best; -1 when only title or summary match

	Title   []Span `json:"title_spans,omitempty"`   // the words that match in Session.Title
	Summary []Span `json:"summary_spans,omitempty"` // and in Session.Summary

	// Window is the messages around the best one, in order, and those at the
	// beginning when there is none. Messages that have nothing to show are left out.
	Window []Item `json:"window,omitempty"`
}

// Item is a message as a Hit shows it.
type Item struct {
	Index int       `json:"index"`
	Role  Role      `json:"role"`
	At    time.Time `json:"at,omitzero"`

	// Snippet is at most Ranking.Snippet bytes of what the message says, of a tool's
	// message what it returned: around the words that match, or from the beginning.
	Snippet string `json:"snippet"`
	Spans   []Span `json:"spans,omitempty"`  // the words that match in Snippet
	Before  bool   `json:"before,omitempty"` // there is more text before Snippet
	After   bool   `json:"after,omitempty"`  // and after it
}

// Span is a part of a text: the bytes from Start up to, and without, End.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Search finds sessions by what was said in them, by their titles and by their
// summaries, and shows of each the messages around the one that matches best.
func Search(ctx context.Context, s kv.KVStorage, q Query) (Results, error) {
	return Results{}, fmt.Errorf("search: %w", kv.ErrUnsupported)
}
