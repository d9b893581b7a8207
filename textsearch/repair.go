package textsearch

import (
	"context"
	"fmt"

	"github.com/crabstore/crabstore/kv"
)

// Repair makes the postings, the stems and the statistics of an index anew from
// its documents, in the language that the store's settings say now. It reads no
// content: after a change in how text is analyzed, Put the content again.
func Repair(ctx context.Context, s kv.KVStorage, ix string) error {
	return update(ctx, s, ix, func(b *Batch) error { return b.rebuild(ctx) })
}

func (b *Batch) rebuild(ctx context.Context) error {
	a, err := newAnalyzer(b.settings.Language)
	if err != nil {
		return err
	}
	b.analyzer, b.stats, b.changed = a, stats{Language: b.settings.Language}, true
	for _, prefix := range [][]byte{b.layout.term, b.layout.stem} {
		if err := b.clear(ctx, prefix); err != nil {
			return err
		}
	}
	for e, err := range b.tx.Scan(ctx, kv.Text, b.layout.doc) {
		if err != nil {
			return err
		}
		key, err := part(e.Key, b.layout.doc)
		if err != nil {
			return err
		}
		d, err := readRecord(e.Value)
		if err != nil {
			return fmt.Errorf("%w: document %q; put its content again, or drop it", err, key)
		}
		b.pending.begin()
		for _, t := range d.terms {
			b.pending.count(t.term, t.frequency)
		}
		if err := b.write(ctx, key, d); err != nil {
			return err
		}
	}
	return nil
}

// clear deletes every key that begins with prefix.
func (b *Batch) clear(ctx context.Context, prefix []byte) error {
	for key, err := range b.tx.ScanKeys(ctx, kv.Text, prefix) {
		if err != nil {
			return err
		}
		if _, err := b.tx.Delete(ctx, kv.Text, key); err != nil {
			return err
		}
	}
	return nil
}
