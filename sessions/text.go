package sessions

import (
	"context"
	"strings"

	"github.com/crabstore/crabstore/textsearch"
)

// flushText writes the documents that were held back. Their content is written:
// an index entry never points at what is not there.
func (b *Batch) flushText(ctx context.Context) error {
	if len(b.docs) == 0 {
		return nil
	}
	text, err := textsearch.NewBatch(ctx, b.tx, TextIndex)
	if err != nil {
		return err
	}
	for _, d := range b.docs {
		if d.text == "" {
			_, err = text.Drop(ctx, d.key)
		} else {
			err = text.Put(ctx, d.key, d.text, d.weight)
		}
		if err != nil {
			return err
		}
	}
	b.docs = nil
	clear(b.docAt)
	return text.Flush(ctx)
}

// dropText takes a session out of the text index.
func (b *Batch) dropText(ctx context.Context, handle string) error {
	prefix := docsOf(handle)
	b.unindex(func(key string) bool { return strings.HasPrefix(key, prefix) })
	_, err := textsearch.DropPrefix(ctx, b.tx, TextIndex, prefix)
	return err
}

// dropMessageText takes messages of a session out of the text index.
func (b *Batch) dropMessageText(ctx context.Context, d *draft, indices []int) error {
	gone := make(map[string]bool, len(indices))
	for _, i := range indices {
		gone[messageDoc(d.now.Handle, i)] = true
	}
	b.unindex(func(key string) bool { return gone[key] })
	text, err := textsearch.NewBatch(ctx, b.tx, TextIndex)
	if err != nil {
		return err
	}
	for key := range gone {
		if _, err := text.Drop(ctx, key); err != nil {
			return err
		}
	}
	return text.Flush(ctx)
}
