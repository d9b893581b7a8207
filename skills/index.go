package skills

import (
	"context"
	"errors"
	"strings"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch"
)

// textIndex is the name of the index that holds a document for every skill, by its
// name.
const textIndex = "skill"

// textOf is what a skill is found by. Its name stands there twice, by which a word
// of it counts twice as much as one of the description.
func textOf(s Summary) string {
	parts := append([]string{s.Name, s.Name, s.Description, s.WhenToUse}, s.Keywords...)
	return strings.Join(parts, "\n")
}

func index(ctx context.Context, tx kv.KVStorage, s Summary) error {
	return textsearch.Put(ctx, tx, textIndex, s.Name, textOf(s), 1)
}

func unindex(ctx context.Context, tx kv.KVStorage, name string) error {
	_, err := textsearch.Drop(ctx, tx, textIndex, name)
	return err
}

// Reindex makes the text index anew from the summaries.
func Reindex(ctx context.Context, s kv.KVStorage) error {
	return textsearch.RebuildFrom(ctx, s, textIndex, documents)
}

// Check compares the text index with the summaries and returns all that is
// amiss, which Reindex puts right. It changes nothing.
func Check(ctx context.Context, s kv.KVStorage) ([]string, error) {
	return textsearch.CheckFrom(ctx, s, textIndex, documents)
}

// Optimize makes the text index as small and as fast as it can be, and leaves nothing
// in it of what was removed.
func Optimize(ctx context.Context, s kv.KVStorage) error {
	return textsearch.Optimize(ctx, s, textIndex)
}

// documents returns what the text index has to hold.
func documents(ctx context.Context, s kv.KVStorage) ([]textsearch.Document, error) {
	list, err := List(ctx, s)
	var docs []textsearch.Document
	for _, sum := range list {
		docs = append(docs, textsearch.Document{Key: sum.Name, Text: textOf(sum), Weight: 1})
	}
	return docs, err
}

// Hit is a skill that a search found.
type Hit struct {
	Summary Summary
	Score   float64  // above zero, and comparable within one result only
	Words   []string // the words of the query that the skill has
}

// Search returns the skills that match a query best, by their names, descriptions,
// when-to-use and keywords; what the query may say is written at textsearch.Query.
// limit is the most hits wanted: 0 means textsearch.DefaultLimit, below zero all. A
// skill that is in the index and gone is no hit.
func Search(ctx context.Context, s kv.KVStorage, query string, limit int) ([]Hit, error) {
	var hits []Hit
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		hits = nil
		found, err := textsearch.Search(ctx, tx, textIndex, textsearch.Query{Text: query, Limit: limit})
		if err != nil {
			return err
		}
		for _, h := range found.Hits {
			sum, err := load(ctx, tx, h.Key)
			if errors.Is(err, kv.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			hits = append(hits, Hit{sum, h.Score, h.Words})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return hits, nil
}
