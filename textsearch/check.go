package textsearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch/internal/analysis"
)

// Report is what Check found.
type Report struct {
	Documents int // stored
	Length    int // of them together, in words
	Postings  int // stored
	Faults    []string
}

// maxFaults bounds Report.Faults: an index with so many is made anew, not read.
const maxFaults = 100

func (r *Report) fault(format string, args ...any) {
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
	}
}

// Check compares the documents, the postings, the stems and the statistics of an
// index with each other and reports every disagreement, up to a hundred. It
// changes nothing. An error is returned for a store that cannot be read, not for
// faults.
func Check(ctx context.Context, s kv.KVStorage, ix string) (*Report, error) {
	r := &Report{}
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		c, err := newChecker(ctx, tx, ix, r)
		if err != nil {
			return err
		}
		return c.run()
	})
	return r, err
}

type checker struct {
	ctx      context.Context
	tx       kv.KVStorage
	layout   layout
	analyzer *analysis.Analyzer
	stats    stats
	report   *Report

	present int             // postings that a document lists
	terms   map[string]bool // that documents list
}

func newChecker(ctx context.Context, tx kv.KVStorage, ix string, r *Report) (*checker, error) {
	l := newLayout(tx, ix)
	st, err := loadStats(ctx, tx, &l, analysis.English)
	if err != nil {
		return nil, err
	}
	a, err := newAnalyzer(st.Language)
	if err != nil {
		return nil, err
	}
	return &checker{ctx: ctx, tx: tx, layout: l, analyzer: a, stats: st, report: r, terms: map[string]bool{}}, nil
}

func (c *checker) run() error {
	for _, step := range []func() error{c.documents, c.postings, c.stems} {
		if err := step(); err != nil {
			return err
		}
	}
	if n := uint64(c.report.Documents); c.stats.Documents != n {
		c.report.fault("statistics: %d documents, there are %d", c.stats.Documents, n)
	}
	if n := uint64(c.report.Length); c.stats.Length != n {
		c.report.fault("statistics: length %d, it is %d", c.stats.Length, n)
	}
	return nil
}

// documents checks that what the documents list is there.
func (c *checker) documents() error {
	for e, err := range c.tx.Scan(c.ctx, kv.Text, c.layout.doc) {
		if err != nil {
			return err
		}
		key, err := part(e.Key, c.layout.doc)
		if err != nil {
			c.report.fault("%v", err)
			continue
		}
		c.report.Documents++
		d, err := readRecord(e.Value)
		if err != nil {
			c.report.fault("document %q: %v", key, err)
			continue
		}
		c.report.Length += int(d.length)
		if err := c.document(key, d); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) document(key string, d *record) error {
	for _, t := range d.terms {
		c.terms[t.term] = true
		storeKey := kv.AppendPart(c.layout.appendList(nil, t.term), key)
		got, err := c.tx.Get(c.ctx, kv.Text, storeKey)
		switch {
		case errors.Is(err, kv.ErrNotFound):
			c.report.fault("document %q: no posting of %q", key, t.term)
			continue
		case err != nil:
			return err
		case !bytes.Equal(got, d.posting(t).append(nil)):
			c.report.fault("document %q: another posting of %q", key, t.term)
		}
		c.present++
	}
	return nil
}

// postings checks that there are no other postings than those listed.
func (c *checker) postings() error {
	for _, err := range c.tx.ScanKeys(c.ctx, kv.Text, c.layout.term) {
		if err != nil {
			return err
		}
		c.report.Postings++
	}
	if c.report.Postings == c.present {
		return nil
	}
	for storeKey, err := range c.tx.ScanKeys(c.ctx, kv.Text, c.layout.term) {
		if err != nil {
			return err
		}
		if err := c.posting(storeKey); err != nil {
			return err
		}
	}
	return nil
}

// posting reports a posting that its document does not list.
func (c *checker) posting(storeKey []byte) error {
	term, key, err := c.layout.cutPosting(storeKey)
	if err != nil {
		c.report.fault("%v", err)
		return nil
	}
	data, err := c.tx.Get(c.ctx, kv.Text, append(bytes.Clone(c.layout.doc), key...))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	lists := func(t termCount) bool { return bytes.Equal(kv.AppendPart(nil, t.term), term) }
	if d, err := readRecord(data); err != nil || !slices.ContainsFunc(d.terms, lists) {
		c.report.fault("posting of %q: no document %q lists it", term, key)
	}
	return nil
}

// stems checks that the terms in use, and no others, are listed by their stems.
func (c *checker) stems() error {
	missing := map[string]bool{}
	for term := range c.terms {
		if stem := c.analyzer.Stem(term); stem != term {
			missing[string(c.layout.appendStem(nil, stem, term))] = true
		}
	}
	for key, err := range c.tx.ScanKeys(c.ctx, kv.Text, c.layout.stem) {
		switch {
		case err != nil:
			return err
		case missing[string(key)]:
			delete(missing, string(key))
		default:
			c.report.fault("stem %q: no document has that term", key[len(c.layout.stem):])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		c.report.fault("stem %q is not listed", key[len(c.layout.stem):])
	}
	return nil
}
