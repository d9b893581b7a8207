package literal

import (
	"context"
	"iter"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// Document is what an index has to hold under a key.
type Document struct{ Key, Text string }

// Report is what Check found.
type Report struct {
	Documents uint64
	Postings  uint64 // stored
	Stray     int    // values that nothing leads to: they take room, and Sweep deletes them
	Faults    []string
}

// Check compares the parts of an index with each other and, unless docs is nil, what
// it has under keyPrefix with the texts that it has to hold there. It reports every
// disagreement, up to a hundred, and changes nothing. It keeps a fingerprint of each
// text in memory. An error is returned for a store or texts that cannot be read, not
// for faults.
func Check(ctx context.Context, s kv.KVStorage, ix, keyPrefix string, docs iter.Seq2[Document, error]) (*Report, error) {
	var found *inverted.Report
	err := kv.View(ctx, s, func(tx kv.KVStorage) (err error) {
		found, err = at(tx, ix).Compare(ctx, tx, keyPrefix, analyzed(docs))
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Report{found.Documents, found.Postings, found.Stray, found.Faults}, nil
}

// analyzed yields what is indexed of texts; nil of nil.
func analyzed(docs iter.Seq2[Document, error]) iter.Seq2[*inverted.Document, error] {
	if docs == nil {
		return nil
	}
	return func(yield func(*inverted.Document, error) bool) {
		var a analyzer
		for d, err := range docs {
			if !yield(a.document(d.Key, d.Text), err) {
				return
			}
		}
	}
}
