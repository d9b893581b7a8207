package sessions

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// Append adds messages to the end of a session and returns its meta. They get the
// indices from Meta.NextIndex on, whatever they say themselves, and the present as
// their time where they have none. Messages, meta and text index are one commit.
//
// A writer that must not append to what it has not read calls Batch.Expect before
// Batch.Append.
func Append(ctx context.Context, s kv.KVStorage, handle string, msgs ...Message) (Meta, error) {
	return commit(ctx, s, func(b *Batch) (Meta, error) { return b.Append(ctx, handle, msgs...) })
}

// Append is the function of that name, in the batch.
func (b *Batch) Append(ctx context.Context, handle string, msgs ...Message) (Meta, error) {
	d, err := b.open(ctx, handle)
	if err != nil || len(msgs) == 0 {
		return metaOf(d), err
	}
	present := time.Now()
	for _, m := range msgs {
		if m.At.IsZero() {
			m.At = present
		}
		m.Index = d.now.NextIndex
		if err := b.write(ctx, d, &m); err != nil {
			return Meta{}, fmt.Errorf("message %d for session %q: %w", m.Index, handle, err)
		}
		d.now.NextIndex++
		d.now.Messages++
		d.now.Usage = d.now.Usage.plus(m.Usage, 1)
		d.touch()
	}
	return d.now, nil
}

// Amend replaces the stored message of m.Index by m and returns the session's
// meta: a reply of which another part arrived. Where m has no time it keeps the
// stored one's.
func Amend(ctx context.Context, s kv.KVStorage, handle string, m Message) (Meta, error) {
	return commit(ctx, s, func(b *Batch) (Meta, error) { return b.Amend(ctx, handle, m) })
}

// Amend is the function of that name, in the batch.
func (b *Batch) Amend(ctx context.Context, handle string, m Message) (Meta, error) {
	d, err := b.open(ctx, handle)
	if err != nil {
		return Meta{}, err
	}
	was, err := b.Get(ctx, handle, m.Index)
	if err != nil {
		return Meta{}, err
	}
	if m.At.IsZero() {
		m.At = was.At
	}
	if err := b.write(ctx, d, &m); err != nil {
		return Meta{}, fmt.Errorf("message %d of session %q: %w", m.Index, handle, err)
	}
	d.now.Usage = d.now.Usage.plus(was.Usage, -1).plus(m.Usage, 1)
	d.touch()
	return d.now, nil
}

// write stores a message at its index and has it indexed.
func (b *Batch) write(ctx context.Context, d *draft, m *Message) error {
	m.Blocks = slices.Clone(m.Blocks) // the caller's stay as they are
	m.clean()
	if err := m.validate(); err != nil {
		return err
	}
	data, err := kv.Marshal(m)
	if err != nil {
		return err
	}
	if err := b.tx.Put(ctx, kv.Session, numbered(d.msgs, m.Index), data); err != nil {
		return err
	}
	d.saw(m.At)
	b.indexMessage(d, m)
	return nil
}
