package memory

import (
	"context"
	"errors"
	"strings"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch"
)

// MaxSnippet is how many bytes of its content a hit shows at most.
const MaxSnippet = 1024

// Query asks for entries by the words in their names, aliases, tags and content.
// What its text may say is written at textsearch.Query.
type Query struct {
	Text  string
	Kind  string             // only entries of this kind; empty means all
	Limit int                // the most hits wanted; 0 means textsearch.DefaultLimit; below zero, all
	After *textsearch.Cursor // continue behind an earlier result of the same text
}

// Hit is an entry that a search found.
type Hit struct {
	Entry   Entry
	Score   float64           // above zero, and comparable within one result only
	Words   []string          // the words of the query that the entry has
	Snippet textsearch.Window // of the content, with the matches in it
}

// Result is what a search found.
type Result struct {
	Hits    []Hit              // best first; equal ones by kind and name
	Total   int                // how many entries match, whatever the limit
	Partial bool               // the query was too long or its prefixes too short to look up all of it
	Relaxed bool               // no entry has all the words between quotation marks: they were taken for alternatives
	Next    *textsearch.Cursor // where the next page begins, nil when this one is not full
}

// Search returns the entries that match a query best. A word of a name or an
// alias counts twice as much as one of the content. An entry that is in the index
// and gone is no hit.
func Search(ctx context.Context, s kv.KVStorage, q Query) (Result, error) {
	set, err := textsearch.SettingsOf(s)
	if err != nil {
		return Result{}, err
	}
	marks, err := textsearch.NewHighlighter(q.Text, set)
	if err != nil {
		return Result{}, err
	}
	text := textsearch.Query{Text: q.Text, Limit: q.Limit, After: q.After, Count: true}
	if q.Kind != "" {
		text.KeyPrefix = q.Kind + "/"
	}
	var result Result
	err = kv.View(ctx, s, func(tx kv.KVStorage) error {
		found, err := textsearch.Search(ctx, tx, textIndex, text)
		if err != nil {
			return err
		}
		result = Result{Total: found.Total, Partial: found.Partial, Relaxed: found.Relaxed, Next: next(found.Hits, q.Limit)}
		for _, h := range found.Hits {
			e, err := indexed(ctx, tx, h.Key)
			if errors.Is(err, kv.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			window := textsearch.Snippet(e.Content, marks.Spans(e.Content), MaxSnippet)
			result.Hits = append(result.Hits, Hit{e, h.Score, h.Words, window})
		}
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// next returns the place behind a page that is full.
func next(hits []textsearch.Hit, limit int) *textsearch.Cursor {
	if limit == 0 {
		limit = textsearch.DefaultLimit
	}
	if len(hits) == 0 || len(hits) != limit {
		return nil
	}
	return hits[len(hits)-1].Cursor()
}

// indexed returns the entry of a document, if it is still of the kind that the
// document is of.
func indexed(ctx context.Context, s kv.KVStorage, key string) (Entry, error) {
	kind, name, _ := strings.Cut(key, "/")
	e, err := load(ctx, s, name)
	if err == nil && e.Kind != kind {
		return Entry{}, kv.ErrNotFound
	}
	return e, err
}
