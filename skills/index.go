package skills

import (
	"context"
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
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		list, err := List(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := textsearch.DropPrefix(ctx, tx, textIndex, ""); err != nil {
			return err
		}
		text, err := textsearch.NewBatch(ctx, tx, textIndex)
		if err != nil {
			return err
		}
		for _, sum := range list {
			if err := text.Put(ctx, sum.Name, textOf(sum), 1); err != nil {
				return err
			}
		}
		return text.Flush(ctx)
	})
}
