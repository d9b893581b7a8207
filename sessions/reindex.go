package sessions

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch"
)

// Reindex makes what is derived of a session again from its content: the counts in
// its meta, its list entry and what the text index has of it. It is one commit,
// removes no content, and changes nothing of what was right but the place of the
// texts in their index.
func Reindex(ctx context.Context, s kv.KVStorage, handle string) error {
	return Update(ctx, s, func(b *Batch) error {
		d, err := b.open(ctx, handle)
		if err != nil {
			return err
		}
		if err := b.dropText(ctx, handle); err != nil {
			return err
		}
		return b.rederive(ctx, d, func(doc doc) error {
			b.index(doc)
			return nil
		})
	})
}

// reindexed is how many messages one commit of ReindexAll has, give or take a
// session.
const reindexed = 2000

// ReindexAll does what Reindex does for all sessions, and removes what the indexes
// have of those that are no more. The text index is built beside the one that
// serves, which may be damaged, and takes its place in the end: meanwhile others
// search and write. tell is called after each of many commits with how many sessions
// are done, and how many there were when it began; it may be nil. ReindexAll returns how many there were. It passes over
// sessions whose meta cannot be read, and returns their errors.
func ReindexAll(ctx context.Context, s kv.KVStorage, tell func(done, total int)) (int, error) {
	if tell == nil {
		tell = func(int, int) {}
	}
	total := 0
	for _, err := range allHandles(ctx, s) {
		if err != nil {
			return 0, err
		}
		total++
	}
	text, err := textsearch.BeginRebuild(ctx, s, TextIndex)
	if err != nil {
		return 0, err
	}
	r := reindexing{ctx: ctx, store: s, text: text}
	for handle, err := range allHandles(ctx, s) {
		if err != nil {
			return r.done, err
		}
		r.handles = append(r.handles, handle)
		if r.messages += r.sizeOf(handle); r.messages < reindexed {
			continue
		}
		if err := r.commit(); err != nil {
			return r.done, err
		}
		tell(r.done, total)
	}
	if err := r.commit(); err != nil {
		return r.done, err
	}
	tell(r.done, total)
	if err := Update(ctx, s, func(b *Batch) error { return b.sweep(ctx) }); err != nil {
		return r.done, err
	}
	if err := text.Finish(ctx, s); err != nil {
		return r.done, err
	}
	return r.done, r.damaged
}

// Optimize makes the text index as small and as fast as it can be, and leaves nothing
// in it of what was deleted. It takes many transactions.
func Optimize(ctx context.Context, s kv.KVStorage) error {
	return textsearch.Optimize(ctx, s, TextIndex)
}

// reindexing is a ReindexAll on its way.
type reindexing struct {
	ctx      context.Context
	store    kv.KVStorage
	text     *textsearch.Rebuild
	handles  []string // of the next commit
	messages int      // that these have, about
	done     int
	damaged  error
}

func (r *reindexing) sizeOf(handle string) int {
	m, err := loadMeta(r.ctx, r.store, handle)
	if err != nil {
		return 0 // commit tells
	}
	return m.Messages + 1
}

// commit reindexes some sessions.
func (r *reindexing) commit() error {
	var done int
	var damaged error
	err := Update(r.ctx, r.store, func(b *Batch) error {
		done, damaged = 0, nil
		text, err := r.text.Batch(r.ctx, b.tx)
		if err != nil {
			return err
		}
		for _, handle := range r.handles {
			d, err := b.open(r.ctx, handle)
			switch {
			case errors.Is(err, kv.ErrNotFound): // deleted since, or content without a meta
				continue
			case errors.Is(err, kv.ErrCorrupt):
				damaged = errors.Join(damaged, err)
				continue
			case err != nil:
				return err
			}
			put := func(d doc) error { return text.Put(r.ctx, d.key, d.text, d.weight) }
			if err := b.rederive(r.ctx, d, put); err != nil {
				return err
			}
			done++
		}
		return text.Flush(r.ctx)
	})
	if err != nil {
		return err
	}
	r.done += done
	r.damaged = errors.Join(r.damaged, damaged)
	r.handles, r.messages = r.handles[:0], 0
	return nil
}

// rederive makes the counts of a session and its list entry again, and gives put its
// texts.
func (b *Batch) rederive(ctx context.Context, d *draft, put func(doc) error) error {
	var counted Meta
	for doc, err := range b.contents(ctx, d.now, &counted) {
		if err == nil {
			err = put(doc)
		}
		if err != nil {
			return err
		}
	}
	if counted.Messages != d.now.Messages || counted.Usage != d.now.Usage {
		d.now.Messages, d.now.Usage = counted.Messages, counted.Usage
		d.touch()
	}
	return b.tx.Put(ctx, kv.Session, listKey(b.tx, &d.now), []byte(d.now.Handle))
}

// contents yields the documents that the text index has of a session, and counts its
// messages in counted.
func (b *Batch) contents(ctx context.Context, m Meta, counted *Meta) iter.Seq2[doc, error] {
	return func(yield func(doc, error) bool) {
		for _, d := range []doc{
			{titleDoc(m.Handle), m.Title, b.ranking.Title},
			{summaryDoc(m.Handle), m.Summary, b.ranking.Summary},
		} {
			if d.text != "" && !yield(d, nil) {
				return
			}
		}
		yieldMessages(ctx, b.tx, messagePrefix(b.tx, m.Handle), Range{Before: m.NextIndex}, func(msg Message, err error) bool {
			if err != nil && !errors.Is(err, kv.ErrCorrupt) {
				return yield(doc{}, err) && false
			}
			counted.Messages++
			counted.Usage = counted.Usage.plus(msg.Usage, 1)
			text, weight := b.ranking.spoken(&msg)
			return text == "" || yield(doc{messageDoc(m.Handle, msg.Index), text, weight}, nil)
		})
	}
}

// sweep removes what the list index has of sessions that are no more. Where a meta
// cannot be read nobody knows, and the entry stays.
func (b *Batch) sweep(ctx context.Context) error {
	for key, err := range b.tx.ScanKeys(ctx, kv.Session, kv.Prefix(b.tx, "idx", "sess")) {
		if err != nil {
			return err
		}
		stays, err := b.listedRightly(ctx, key)
		if err == nil && !stays {
			_, err = b.tx.Delete(ctx, kv.Session, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listedRightly tells whether a key of the list index is where a meta wants it.
func (b *Batch) listedRightly(ctx context.Context, key []byte) (bool, error) {
	e, err := parseListKey(key)
	if err != nil {
		return false, nil // none that this package makes
	}
	m, err := loadMeta(ctx, b.tx, e.handle)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return false, nil
	case errors.Is(err, kv.ErrCorrupt):
		return true, nil
	}
	return err == nil && bytes.Equal(key, listKey(b.tx, &m)), err
}

// allHandles yields the handle of every session, and of content without a meta. It
// steps from one to the next and not through what is in them.
func allHandles(ctx context.Context, s kv.KVStorage) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r := kv.Range{Prefix: kv.Prefix(s, "session"), KeysOnly: true}
		for {
			key, err := firstKey(ctx, s, r)
			if key == nil && err == nil {
				return
			}
			var parts []string
			if err == nil {
				_, parts, err = kv.Split(key)
			}
			if err != nil {
				yield("", err)
				return
			}
			if !yield(parts[1], nil) {
				return
			}
			r.After = kv.PrefixEnd(kv.Prefix(s, "session", parts[1]))
		}
	}
}
