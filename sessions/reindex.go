package sessions

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch"
)

// Reindex makes what is derived of a session, or of all sessions when handle is
// empty, again from its content: the counts in its meta, its list entry and what
// the text index has of it; of all sessions, it also removes what the indexes have
// of those that are no more. Each session is one commit. It removes no content,
// changes nothing that was right, and returns how many sessions it went through. It
// passes over sessions whose meta cannot be read, and returns their errors.
func Reindex(ctx context.Context, s kv.KVStorage, handle string) (int, error) {
	if handle != "" {
		err := Update(ctx, s, func(b *Batch) error { return b.reindex(ctx, handle) })
		return 1, err
	}
	n := 0
	var damaged error
	for handle, err := range allHandles(ctx, s) {
		if err == nil {
			err = Update(ctx, s, func(b *Batch) error { return b.reindex(ctx, handle) })
		}
		switch {
		case err == nil:
			n++
		case errors.Is(err, kv.ErrNotFound): // deleted since, or content without a meta
		case errors.Is(err, kv.ErrCorrupt):
			damaged = errors.Join(damaged, err)
		default:
			return n, err
		}
	}
	if err := Update(ctx, s, func(b *Batch) error { return b.sweep(ctx) }); err != nil {
		return n, err
	}
	// The documents are right now. What else the text index has hangs on them.
	report, err := textsearch.Check(ctx, s, TextIndex)
	if err == nil && len(report.Faults) > 0 {
		err = textsearch.Repair(ctx, s, TextIndex)
	}
	if err != nil {
		return n, err
	}
	return n, damaged
}

// reindex does it for one session.
func (b *Batch) reindex(ctx context.Context, handle string) error {
	d, err := b.open(ctx, handle)
	if err != nil {
		return err
	}
	counted, docs, err := b.recount(ctx, d)
	if err != nil {
		return err
	}
	if counted.Messages != d.now.Messages || counted.Usage != d.now.Usage {
		d.now.Messages, d.now.Usage = counted.Messages, counted.Usage
		d.touch()
	}
	if err := b.tx.Put(ctx, kv.Session, listKey(b.tx, &d.now), []byte(handle)); err != nil {
		return err
	}
	err = b.dropDocs(ctx, docsOf(handle), func(key string) (bool, error) { return docs[key].text == "", nil })
	for _, doc := range docs {
		if doc.text != "" {
			b.index(doc)
		}
	}
	return err
}

// recount returns a meta with the counts that the stored messages give, and the
// documents that belong to the session.
func (b *Batch) recount(ctx context.Context, d *draft) (counted Meta, docs map[string]doc, err error) {
	title, summary := titleDoc(d.now.Handle), summaryDoc(d.now.Handle)
	docs = map[string]doc{
		title:   {title, d.now.Title, b.ranking.Title},
		summary: {summary, d.now.Summary, b.ranking.Summary},
	}
	yieldMessages(ctx, b.tx, d.msgs, Range{Before: d.now.NextIndex}, func(m Message, e error) bool {
		if e != nil && !errors.Is(e, kv.ErrCorrupt) {
			err = e
			return false
		}
		counted.Messages++
		counted.Usage = counted.Usage.plus(m.Usage, 1)
		text, weight := b.ranking.spoken(&m)
		key := messageDoc(d.now.Handle, m.Index)
		docs[key] = doc{key, text, weight}
		return true
	})
	return counted, docs, err
}

// dropDocs drops the documents below a prefix for which gone is true.
func (b *Batch) dropDocs(ctx context.Context, prefix string, gone func(key string) (bool, error)) error {
	text, err := textsearch.NewBatch(ctx, b.tx, TextIndex)
	if err != nil {
		return err
	}
	for key, err := range docKeys(ctx, b.tx, prefix) {
		if err != nil {
			return err
		}
		drop, err := gone(key)
		if err == nil && drop {
			_, err = text.Drop(ctx, key)
		}
		if err != nil {
			return err
		}
	}
	return text.Flush(ctx)
}

// sweep removes what the indexes have of sessions that are no more. Where a meta
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
	known := map[string]bool{}
	return b.dropDocs(ctx, "", func(key string) (bool, error) {
		parts, err := kv.SplitParts(key)
		if err != nil {
			return true, nil // none that this package makes
		}
		handle := parts[0]
		stays, asked := known[handle]
		if !asked {
			stays, err = kv.Has(ctx, b.tx, kv.Session, metaKey(b.tx, handle))
			known[handle] = stays
		}
		return !stays, err
	})
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
