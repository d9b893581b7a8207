package textsearch

import (
	"context"
	"fmt"
	"iter"

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

// Check compares the parts of an index with each other and, unless docs is nil, what
// it has under keyPrefix with the documents that it has to hold there, each exactly as
// it would be indexed now. It reports every disagreement, up to a hundred, and changes
// nothing. It keeps a fingerprint of each document in memory, not its words. An error
// is returned for a store or documents that cannot be read, not for faults.
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
			r.Faults = append(r.Faults, err.Error())
			return nil
		}
		found, err := x.Compare(ctx, tx, keyPrefix, analyzedBy(a, docs))
		if err != nil {
			return err
		}
		*r = Report(*found)
		return nil
	})
	return r, err
}

// analyzedBy yields documents as an index has them; nil of nil.
func analyzedBy(a *analysis.Analyzer, docs iter.Seq2[Document, error]) iter.Seq2[*inverted.Document, error] {
	if docs == nil {
		return nil
	}
	return func(yield func(*inverted.Document, error) bool) {
		b := analyzed{analyzer: a}
		for d, err := range docs {
			b.analyze(d.Key, d.Text, d.Weight)
			if !yield(&b.doc, err) {
				return
			}
		}
	}
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
func Sweep(ctx context.Context, s kv.KVStorage, ix string) error { return at(s, ix).SweepAll(ctx, s) }

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
