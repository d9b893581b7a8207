package textsearch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
// reads and writes the statistics of the index once. It is not safe for
// concurrent use, and lives no longer than its transaction.
type Batch struct {
	tx       kv.KVStorage
	layout   layout
	analyzer *analysis.Analyzer
	stats    stats

	stems   map[string]bool // terms whose stem was written in this batch
	gone    map[string]bool // terms that some document has no longer
	index   map[string]int  // of the document at hand: where its terms lie in terms
	terms   []termCount
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
		tx: tx, layout: l, analyzer: a, stats: st,
		stems: map[string]bool{}, gone: map[string]bool{}, index: map[string]int{},
	}, nil
}

// Put indexes text under key, in place of what was there, as the function Put
// does. The statistics are not written before Flush.
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
	d := b.analyze(text, weight)
	if old != nil {
		b.stats.remove(old)
		if err := b.removePostings(ctx, key, old); err != nil {
			return err
		}
	}
	b.stats.add(d)
	b.changed = true
	return b.write(ctx, key, d)
}

// Drop removes the document under key and tells whether there was one. The
// statistics are not written before Flush.
func (b *Batch) Drop(ctx context.Context, key string) (existed bool, err error) {
	if b.layout.checkKey(key) != nil {
		return false, nil // no document can be called that
	}
	old, err := b.load(ctx, key)
	if old == nil || err != nil {
		return false, err
	}
	clear(b.index)
	if err := b.removePostings(ctx, key, old); err != nil {
		return false, err
	}
	b.stats.remove(old)
	b.changed = true
	b.key = b.layout.appendDoc(b.key[:0], key)
	return b.tx.Delete(ctx, kv.Text, b.key)
}

// Flush writes what the batch holds. Without it the index disagrees with its
// statistics, so a transaction whose batch is not flushed must not commit.
func (b *Batch) Flush(ctx context.Context) error {
	if !b.changed {
		return nil
	}
	if err := b.dropStems(ctx); err != nil {
		return err
	}
	b.changed = false
	return b.stats.store(ctx, b.tx, &b.layout)
}

// load returns the record of a document, nil when there is none.
func (b *Batch) load(ctx context.Context, key string) (*record, error) {
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
		return nil, fmt.Errorf("%w of document %q", err, key)
	}
	return d, nil
}

// analyze returns the record of a text. It shares memory with the text, and with
// the batch until the next call. Afterwards b.index holds its terms.
func (b *Batch) analyze(text string, weight float64) *record {
	tokens := b.analyzer.Tokens(text)
	clear(b.index)
	b.terms = b.terms[:0]
	for _, t := range tokens {
		if i, ok := b.index[t.Term]; ok {
			b.terms[i].frequency++
			continue
		}
		b.index[t.Term] = len(b.terms)
		b.terms = append(b.terms, termCount{t.Term, 1})
	}
	return &record{uint64(analysis.Length(tokens)), weight, b.terms}
}

// removePostings deletes the postings of old but for the terms in b.index, which
// are written anew.
func (b *Batch) removePostings(ctx context.Context, key string, old *record) error {
	for _, t := range old.terms {
		if _, stays := b.index[t.term]; stays {
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

// write writes a document: its record, so that every posting is listed, the stems
// of its terms and its postings.
func (b *Batch) write(ctx context.Context, key string, d *record) error {
	b.key, b.value = b.layout.appendDoc(b.key[:0], key), d.append(b.value[:0])
	if err := b.tx.Put(ctx, kv.Text, b.key, b.value); err != nil {
		return err
	}
	for _, t := range d.terms {
		if err := b.writeStem(ctx, t.term); err != nil {
			return err
		}
		b.value = d.posting(t).append(b.value[:0])
		if err := b.tx.Put(ctx, kv.Text, b.postingKey(t.term, key), b.value); err != nil {
			return err
		}
	}
	return nil
}

// writeStem writes that term is in use, where it has another stem than itself.
func (b *Batch) writeStem(ctx context.Context, term string) error {
	stem := b.analyzer.Stem(term)
	if stem == term || b.stems[term] {
		return nil
	}
	b.stems[strings.Clone(term)] = true
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
		delete(b.stems, term)
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
