package sessions

import (
	"context"
	"errors"

	"github.com/crabstore/crabstore/kv"
)

// Truncate removes the messages from an index on, and what the text index has of
// them, and returns the session's meta. It is the only thing that removes history,
// and the indices are not used again. Events stay: they tell what happened.
//
// A truncation that reaches behind the boundary undoes the compaction: the summary
// tells of messages that are no more, so it is deleted, and the context is what is
// left of the messages.
func Truncate(ctx context.Context, s kv.KVStorage, handle string, from int) (Meta, error) {
	return commit(ctx, s, func(b *Batch) (Meta, error) { return b.Truncate(ctx, handle, from) })
}

// Truncate is the function of that name, in the batch.
func (b *Batch) Truncate(ctx context.Context, handle string, from int) (Meta, error) {
	d, err := b.open(ctx, handle)
	if err != nil {
		return Meta{}, err
	}
	gone, usage, err := b.tail(ctx, d, from)
	undo := from < d.now.Boundary
	if err != nil || len(gone) == 0 && !undo {
		return metaOf(d), err
	}
	if err := b.dropMessageText(ctx, d, gone); err != nil {
		return Meta{}, err
	}
	for _, i := range gone {
		if _, err := b.tx.Delete(ctx, kv.Session, numbered(d.msgs, i)); err != nil {
			return Meta{}, err
		}
	}
	d.now.Messages -= len(gone)
	d.now.Usage = d.now.Usage.plus(&usage, -1)
	d.touch()
	if undo {
		err = b.undoCompaction(ctx, d)
	}
	return d.now, err
}

// tail returns the indices of the messages from one on, and their usage. A message
// that cannot be read can be removed all the same.
func (b *Batch) tail(ctx context.Context, d *draft, from int) (gone []int, usage Usage, err error) {
	r := Range{From: from, Before: d.now.NextIndex}
	yieldMessages(ctx, b.tx, d.msgs, r, func(m Message, e error) bool {
		if e != nil && !errors.Is(e, kv.ErrCorrupt) {
			err = e
			return false
		}
		gone = append(gone, m.Index)
		usage = usage.plus(m.Usage, 1)
		return true
	})
	return gone, usage, err
}
