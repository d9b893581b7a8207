package inverted

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/crabstore/crabstore/kv"
)

// Compare checks the index, as Check does, and compares what it has under a prefix,
// unless docs is nil, with the documents that it has to hold there. A document is good
// until the next one is asked for.
func (x *Index) Compare(ctx context.Context, tx kv.KVStorage, prefix string, docs iter.Seq2[*Document, error]) (*Report, error) {
	if _, _, err := x.Load(ctx, tx); errors.Is(err, ErrVersion) {
		return &Report{Faults: []string{err.Error()}}, nil // all that is to be said
	}
	p, stored := NewPrinter(), map[string]print{}
	r, err := x.Check(ctx, tx, p, func(d Checked) {
		if strings.HasPrefix(d.Key, prefix) {
			stored[d.Key] = print{d.Print, d.Length, d.Weight}
		}
	})
	if err != nil || docs == nil {
		return r, err
	}
	for d, err := range docs {
		if err != nil {
			return nil, err
		}
		want := print{length: d.Length, weight: d.Weight}
		for _, t := range d.summed() {
			want.terms += p.Of([]byte(t.Text), t.Frequency)
		}
		got, ok := stored[d.Key]
		switch {
		case !ok:
			r.fault("document %q is missing", d.Key)
		case got.weight != want.weight:
			r.fault("document %q has the weight %v, not %v", d.Key, got.weight, want.weight)
		case got != want:
			r.fault("document %q is indexed with other terms", d.Key)
		}
		delete(stored, d.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(stored)) {
		r.fault("document %q is indexed, and there is none", key)
	}
	return r, nil
}

// print is what a document is like.
type print struct {
	terms  uint64
	length uint64
	weight float64
}
