package frozen

import (
	"bytes"
	"context"
	"iter"
	"strings"

	"github.com/crabstore/crabstore/kv"
)

// Snapshot is a kv.Snapshot of a store whose entries lie in a Map by their Place.
// It costs nothing to make, and nothing to keep but memory.
type Snapshot struct {
	Entries Map[[]byte] // no value in it is ever changed

	// Ready returns the error of a call that begins, or goes on, now: kv.ErrClosed,
	// or that of the context.
	Ready func(ctx context.Context) error
}

// Place is where a key lies in a Map: behind the byte of its column.
func Place(col kv.Column, key []byte) string {
	b := make([]byte, 0, 64) // short keys need one allocation, that of the string
	return string(append(append(b, byte(col)), key...))
}

// Get returns a copy of the value of a key.
func (s *Snapshot) Get(ctx context.Context, col kv.Column, key []byte) ([]byte, error) {
	if err := kv.CheckKey(key); err != nil {
		return nil, err
	}
	if err := s.Ready(ctx); err != nil {
		return nil, err
	}
	value, ok := s.Entries.Get(Place(col, key))
	if !ok {
		return nil, kv.ErrNotFound
	}
	return append([]byte{}, value...), nil
}

// ScanRange scans a range, with copies of what it finds.
func (s *Snapshot) ScanRange(ctx context.Context, col kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		prefix := Place(col, r.Prefix)
		if err := s.Ready(ctx); err != nil {
			yield(kv.Entry{}, err)
			return
		}
		for at, value := range s.from(col, r) {
			if !strings.HasPrefix(at, prefix) {
				return
			}
			if err := s.Ready(ctx); err != nil {
				yield(kv.Entry{}, err)
				return
			}
			e := kv.Entry{Key: []byte(at[1:])}
			if !r.KeysOnly {
				e.Value = append([]byte{}, value...)
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// from yields the map from the first entry of a range on, in its direction, and on
// behind its last.
func (s *Snapshot) from(col kv.Column, r kv.Range) iter.Seq2[string, []byte] {
	if r.Reverse {
		before := string(kv.PrefixEnd([]byte(Place(col, r.Prefix)))) // empty: from the end of the map
		if after := Place(col, r.After); r.After != nil && (before == "" || after < before) {
			before = after
		}
		return s.Entries.Descend(before)
	}
	first := r.Prefix
	if r.After != nil && bytes.Compare(r.After, r.Prefix) >= 0 {
		first = append(bytes.Clone(r.After), 0) // the least key that is greater
	}
	return s.Entries.Ascend(Place(col, first))
}
