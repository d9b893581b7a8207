package textsearch

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch/internal/analysis"
	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// Document is what an index has to hold under a key.
type Document struct {
	Key, Text string
	Weight    float64
}

// Report is what Check found.
type Report struct {
	Documents uint64
	Length    uint64 // of them together, in words
	Postings  uint64 // stored
	Stray     int    // values that nothing leads to: they take room, and Sweep deletes them
	Faults    []string
}

const maxFaults = 100

func (r *Report) fault(format string, args ...any) {
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
	}
}

// Check compares the parts of an index with each other and, unless docs is nil, what
// it has under keyPrefix with the documents that it has to hold there, each exactly as
// it would be indexed now. It
// reports every disagreement, up to a hundred, and changes nothing. It keeps a
// fingerprint of each document in memory, not its words. An error is returned for a
// store or documents that cannot be read, not for faults.
func Check(ctx context.Context, s kv.KVStorage, ix, keyPrefix string, docs iter.Seq2[Document, error]) (*Report, error) {
	set, err := SettingsOf(s)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	err = kv.View(ctx, s, func(tx kv.KVStorage) error {
		x := at(tx, ix)
		st, ok, err := x.Load(ctx, tx)
		if err != nil || !ok {
			st.Config = set.Language // Check tells of the error
		}
		a, err := analyzerOf(st.Config)
		if err != nil {
			r.fault("%v", err)
			return nil
		}
		c := &checker{printer: inverted.NewPrinter(), analyzer: a, stored: map[string]print{}, report: r}
		found, err := x.Check(ctx, tx, c.printer, func(d inverted.Checked) {
			if strings.HasPrefix(d.Key, keyPrefix) {
				c.stored[d.Key] = print{d.Print, d.Length, d.Weight}
			}
		})
		if err != nil {
			return err
		}
		*r = Report{found.Documents, found.Length, found.Postings, found.Stray, found.Faults}
		return c.compare(docs)
	})
	return r, err
}

// CheckFrom is Check of the whole index with what list returns, as RebuildFrom would
// make it, and returns the faults alone.
func CheckFrom(ctx context.Context, s kv.KVStorage, ix string, list func(ctx context.Context, tx kv.KVStorage) ([]Document, error)) ([]string, error) {
	var faults []string
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		docs, err := list(ctx, tx)
		if err != nil {
			return err
		}
		r, err := Check(ctx, tx, ix, "", func(yield func(Document, error) bool) {
			for _, d := range docs {
				if !yield(d, nil) {
					return
				}
			}
		})
		if err != nil {
			return err
		}
		if faults = r.Faults; r.Stray > 0 {
			faults = append(faults, fmt.Sprintf("%d values that nothing leads to", r.Stray))
		}
		return nil
	})
	return faults, err
}

// Sweep deletes the values of an index that nothing leads to, as a crash leaves them
// on a store whose updates are not atomic.
func Sweep(ctx context.Context, s kv.KVStorage, ix string) error {
	return inSteps(ctx, s, func(tx kv.KVStorage) (int, error) { return at(tx, ix).Sweep(ctx, tx, cleared) })
}

type checker struct {
	printer  *inverted.Printer
	analyzer *analysis.Analyzer
	stored   map[string]print
	report   *Report
}

// print is what a document is like.
type print struct {
	terms  uint64
	length uint64
	weight float64
}

// compare compares what is stored with what has to be.
func (c *checker) compare(docs iter.Seq2[Document, error]) error {
	if docs == nil {
		return nil
	}
	var b Batch
	b.counts = map[string]int{}
	for d, err := range docs {
		if err != nil {
			return err
		}
		b.analyze(c.analyzer, d.Text)
		want := print{length: b.doc.Length, weight: d.Weight}
		for _, t := range b.doc.Terms {
			want.terms += c.printer.Of([]byte(t.Text), t.Frequency)
		}
		got, ok := c.stored[d.Key]
		switch {
		case !ok:
			c.report.fault("document %q is missing", d.Key)
		case got.weight != want.weight:
			c.report.fault("document %q has the weight %v, not %v", d.Key, got.weight, want.weight)
		case got != want:
			c.report.fault("document %q is indexed with other words", d.Key)
		}
		delete(c.stored, d.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(c.stored)) {
		c.report.fault("document %q is indexed, and there is none", key)
	}
	return nil
}

// Keys returns the keys of the documents of an index that begin with keyPrefix,
// sorted.
func Keys(ctx context.Context, s kv.KVStorage, ix, keyPrefix string) (keys []string, err error) {
	err = kv.View(ctx, s, func(tx kv.KVStorage) error {
		x := at(tx, ix)
		st, ok, err := x.Load(ctx, tx)
		if err != nil || !ok {
			return err
		}
		snap, err := x.OpenAt(ctx, tx, st)
		if err != nil {
			return err
		}
		defer snap.Close()
		keys, err = snap.Keys(ctx, keyPrefix)
		return err
	})
	return keys, err
}
