package textsearch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch/internal/analysis"
)

// The weights that a document may have.
const (
	MinWeight = 1e-6
	MaxWeight = 1e6
)

func validWeight(w float64) bool { return w >= MinWeight && w <= MaxWeight }

// Batch indexes and drops many documents of one index within one transaction. It
// reads and writes the statistics once, and writes postings in the order of their
// keys. It is not safe for concurrent use, and lives no longer than its
// transaction.
//
// What it holds back is written by Flush: until then a search in the same
// transaction does not see it, and a transaction whose batch was not flushed must
// not commit.
type Batch struct {
	tx       kv.KVStorage
	settings Settings
	layout   layout
	analyzer *analysis.Analyzer
	stats    stats

	pending pending
	gone    map[string]bool // terms that some document has no longer
	key     []byte
	value   []byte
	changed bool
}

// NewBatch begins a batch on an index. tx is the transaction of a kv.Update.
func NewBatch(ctx context.Context, tx kv.KVStorage, ix string) (*Batch, error) {
	set, err := SettingsOf(tx)
	if err != nil {
		return nil, err
	}
	return newBatch(ctx, tx, ix, set)
}

func newBatch(ctx context.Context, tx kv.KVStorage, ix string, set Settings) (*Batch, error) {
	l := newLayout(tx, ix)
	st, err := loadStats(ctx, tx, &l, set.Language)
	if err != nil {
		return nil, err
	}
	a, err := newAnalyzer(st.Language)
	if err != nil {
		return nil, err
	}
	return &Batch{
		tx: tx, settings: set, layout: l, analyzer: a, stats: st,
		pending: newPending(), gone: map[string]bool{},
	}, nil
}

// Put indexes text under key, in place of what was there, as the function Put
// does.
func (b *Batch) Put(ctx context.Context, key, text string, weight float64) error {
	if err := b.layout.checkKey(key); err != nil {
		return err
	}
	if !validWeight(weight) {
		return fmt.Errorf("%w: %v of %.40q is not in %v to %v", ErrWeight, weight, key, MinWeight, MaxWeight)
	}
	old, err := b.load(ctx, key)
	if err != nil {
		return err
	}
	d := b.pending.record(b.analyzer.Tokens(text), weight)
	if old != nil {
		b.stats.remove(old)
		if err := b.removePostings(ctx, key, old); err != nil {
			return err
		}
	}
	return b.write(ctx, key, d)
}

// Drop removes the document under key and tells whether there was one.
func (b *Batch) Drop(ctx context.Context, key string) (existed bool, err error) {
	if b.layout.checkKey(key) != nil {
		return false, nil // no document can be called that
	}
	old, err := b.load(ctx, key)
	if old == nil || err != nil {
		return false, err
	}
	b.pending.begin() // a document without terms
	if err := b.removePostings(ctx, key, old); err != nil {
		return false, err
	}
	b.stats.remove(old)
	b.changed = true
	b.key = b.layout.appendDoc(b.key[:0], key)
	return b.tx.Delete(ctx, kv.Text, b.key)
}

// Flush writes what the batch holds back. It can go on being used.
func (b *Batch) Flush(ctx context.Context) error {
	if !b.changed {
		return nil
	}
	if err := b.writePending(ctx); err != nil {
		return err
	}
	if err := b.dropStems(ctx); err != nil {
		return err
	}
	b.changed = false
	return b.stats.store(ctx, b.tx, &b.layout)
}

// load returns the record of a document, nil when there is none. Postings of it
// that are held back are written first, so that all of them can be deleted. Of a
// damaged record nothing is known: an empty one is returned, so that it can be put
// again or dropped, and what its postings leave behind is for Repair.
func (b *Batch) load(ctx context.Context, key string) (*record, error) {
	if b.pending.holds(key) {
		if err := b.writePending(ctx); err != nil {
			return nil, err
		}
	}
	b.key = b.layout.appendDoc(b.key[:0], key)
	data, err := b.tx.Get(ctx, kv.Text, b.key)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := readRecord(data)
	if err != nil {
		return &record{}, nil
	}
	return d, nil
}

// removePostings deletes the postings of old but for those that the document at
// hand has too, which are written anew.
func (b *Batch) removePostings(ctx context.Context, key string, old *record) error {
	for _, t := range old.terms {
		if b.pending.has(t.term) {
			continue
		}
		b.gone[t.term] = true
		if _, err := b.tx.Delete(ctx, kv.Text, b.postingKey(t.term, key)); err != nil {
			return err
		}
	}
	return nil
}

func (b *Batch) postingKey(term, key string) []byte {
	b.key = kv.AppendPart(b.layout.appendList(b.key[:0], term), key)
	return b.key
}

// write writes the record of a document, so that its postings are listed before
// they are written, and holds those back.
func (b *Batch) write(ctx context.Context, key string, d *record) error {
	b.stats.add(d)
	b.changed = true
	b.key, b.value = b.layout.appendDoc(b.key[:0], key), d.append(b.value[:0])
	if err := b.tx.Put(ctx, kv.Text, b.key, b.value); err != nil {
		return err
	}
	b.pending.hold(key, d)
	if b.pending.full() {
		return b.writePending(ctx)
	}
	return nil
}

// writePending writes the postings held back, term by term, and before those of a
// term that it is in use.
func (b *Batch) writePending(ctx context.Context) error {
	last := -1
	for _, p := range b.pending.sorted() {
		term, d := b.pending.terms[p.term].text, &b.pending.docs[p.doc]
		if p.term != last {
			last = p.term
			if err := b.writeStem(ctx, term); err != nil {
				return err
			}
		}
		b.value = posting{p.frequency, d.length, d.weight}.append(b.value[:0])
		if err := b.tx.Put(ctx, kv.Text, b.postingKey(term, d.key), b.value); err != nil {
			return err
		}
	}
	b.pending.release()
	return nil
}

// writeStem writes that a term is in use, where it has another stem than itself.
func (b *Batch) writeStem(ctx context.Context, term string) error {
	stem := b.analyzer.Stem(term)
	if stem == term {
		return nil
	}
	b.key = b.layout.appendStem(b.key[:0], stem, term)
	return b.tx.Put(ctx, kv.Text, b.key, nil)
}

// dropStems deletes what writeStem wrote of terms that no document has any longer.
func (b *Batch) dropStems(ctx context.Context) error {
	for _, term := range slices.Sorted(maps.Keys(b.gone)) {
		stem := b.analyzer.Stem(term)
		if stem == term {
			continue
		}
		used, err := b.inUse(ctx, term)
		if err != nil {
			return err
		}
		if used {
			continue
		}
		b.key = b.layout.appendStem(b.key[:0], stem, term)
		if _, err := b.tx.Delete(ctx, kv.Text, b.key); err != nil {
			return err
		}
	}
	clear(b.gone)
	return nil
}

// inUse tells whether any document has the term.
func (b *Batch) inUse(ctx context.Context, term string) (bool, error) {
	b.key = b.layout.appendList(b.key[:0], term)
	for _, err := range b.tx.ScanKeys(ctx, kv.Text, b.key) {
		return err == nil, err
	}
	return false, nil
}
