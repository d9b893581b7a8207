package sessions

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch"
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

	// Relaxed tells that no message has all the words between quotation marks, so that
	// they were taken for alternatives, as textsearch does.
	Relaxed bool `json:"relaxed,omitempty"`
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
// summaries, and shows of each the messages around the one that matches best. What
// the index has of a message or a session that is gone is passed over.
func Search(ctx context.Context, s kv.KVStorage, q Query) (Results, error) {
	ranking := rankingOf(s)
	return view(ctx, s, func(s kv.KVStorage) (Results, error) {
		sr, err := newSearch(ctx, s, q, ranking)
		if err != nil {
			return Results{}, err
		}
		return sr.run()
	})
}

// search carries out one Search.
type search struct {
	ctx     context.Context
	s       kv.KVStorage
	q       Query
	ranking Ranking
	marks   *textsearch.Highlighter

	sessions map[string]*candidate // by handle; nil for what is gone or not wanted
	partial  bool
	relaxed  bool
}

// candidate is a session of which something matches.
type candidate struct {
	meta  Meta
	best  *Message // nil when only title or summary match
	score float64
}

func newSearch(ctx context.Context, s kv.KVStorage, q Query, r Ranking) (*search, error) {
	set, err := textsearch.SettingsOf(s)
	if err != nil {
		return nil, err
	}
	marks, err := textsearch.NewHighlighter(q.Text, set)
	if err != nil {
		return nil, err
	}
	q.Limit = min(orDefault(q.Limit, DefaultHits), r.Hits)
	q.Window = min(orDefault(q.Window, DefaultWindow), r.Window)
	return &search{ctx: ctx, s: s, q: q, ranking: r, marks: marks, sessions: map[string]*candidate{}}, nil
}

func (sr *search) run() (Results, error) {
	if err := sr.collect(); err != nil {
		return Results{}, err
	}
	var ranked []*candidate
	for _, c := range sr.sessions {
		if c != nil && c.score > 0 {
			ranked = append(ranked, c)
		}
	}
	slices.SortFunc(ranked, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.meta.Handle, b.meta.Handle))
	})
	results := Results{Partial: sr.partial, Relaxed: sr.relaxed}
	for _, c := range ranked[:min(len(ranked), sr.q.Limit)] {
		hit, err := sr.hit(c)
		if err != nil {
			return Results{}, err
		}
		results.Hits = append(results.Hits, hit)
	}
	return results, nil
}

// collect takes the best matching texts that are wanted. How many does not hang on
// Query.Limit, so that a search for fewer hits finds the first ones of a search
// for more.
func (sr *search) collect() error {
	left := sr.ranking.Candidates * sr.ranking.Hits
	texts := textsearch.Query{Text: sr.q.Text, Limit: left}
	if sr.q.Handle != "" {
		texts.KeyPrefix = docsOf(sr.q.Handle)
	}
	for {
		result, err := textsearch.Search(sr.ctx, sr.s, TextIndex, texts)
		if err != nil {
			return err
		}
		sr.partial = sr.partial || result.Partial
		sr.relaxed = sr.relaxed || result.Relaxed
		for _, match := range result.Hits {
			wanted, err := sr.take(match)
			if err != nil {
				return err
			}
			if wanted {
				left--
			}
			if left == 0 {
				return nil
			}
		}
		if len(result.Hits) < texts.Limit {
			return nil
		}
		// The query leaves out much of what matches: look at more at once.
		texts.After = result.Hits[len(result.Hits)-1].Cursor()
		texts.Limit *= 4
	}
}

// take adds a matching text to its session and tells whether it was wanted.
func (sr *search) take(match textsearch.Hit) (bool, error) {
	parts, err := kv.SplitParts(match.Key)
	if err != nil || len(parts) < 2 || len(parts) > 3 {
		return false, nil // none of ours
	}
	c, err := sr.session(parts[0])
	if c == nil || err != nil {
		return false, err
	}
	if len(parts) == 2 { // title or summary
		c.score += match.Score
		return true, nil
	}
	if c.best != nil && sr.q.Since.IsZero() && sr.q.Until.IsZero() {
		return true, nil // a better one is known, and there is nothing to ask of this one
	}
	m, err := sr.message(c, parts[2])
	if m == nil || err != nil {
		return false, err
	}
	if c.best == nil {
		c.best = m
		c.score += match.Score
	}
	return true, nil
}

// session returns the candidate of a handle, or nil when it is gone or not wanted.
func (sr *search) session(handle string) (*candidate, error) {
	if c, known := sr.sessions[handle]; known {
		return c, nil
	}
	m, err := loadMeta(sr.ctx, sr.s, handle)
	if err != nil && !isUnreadable(err) {
		return nil, err
	}
	var c *candidate
	if err == nil && sr.wants(&m) {
		c = &candidate{meta: m}
	}
	sr.sessions[handle] = c
	return c, nil
}

func (sr *search) wants(m *Meta) bool {
	return (sr.q.Agent == "" || sr.q.Agent == m.Agent) &&
		(sr.q.By == "" || sr.q.By == m.CreatedBy) &&
		(sr.q.Since.IsZero() || !m.UpdatedAt.Before(sr.q.Since)) &&
		(sr.q.Until.IsZero() || m.CreatedAt.Before(sr.q.Until))
}

// message returns a message of a candidate, or nil when it is gone or not wanted.
func (sr *search) message(c *candidate, number string) (*Message, error) {
	index, err := strconv.Atoi(number)
	if err != nil {
		return nil, nil // none of ours
	}
	m, err := getMessage(sr.ctx, sr.s, &c.meta, index)
	switch {
	case err != nil && isUnreadable(err):
		return nil, nil
	case err != nil:
		return nil, err
	case m.At.Before(sr.q.Since) || !sr.q.Until.IsZero() && !m.At.Before(sr.q.Until):
		return nil, nil
	}
	return &m, nil
}

// isUnreadable tells whether an error is of one entry and not of the store.
func isUnreadable(err error) bool {
	return errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrCorrupt)
}

func orDefault[T int | float64](n, def T) T {
	if n <= 0 {
		return def
	}
	return n
}
