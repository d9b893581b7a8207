package kv

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
)

// walkRange is ScanRange by the five methods.
func walkRange(ctx context.Context, s KVStorage, col Column, r Range) iter.Seq2[Entry, error] {
	all := walkPrefix(ctx, s, col, r)
	if r.Reverse {
		all = reversed(all)
	}
	return func(yield func(Entry, error) bool) {
		for e, err := range all {
			if err == nil && r.After != nil && !behind(e.Key, r) {
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// behind tells whether key lies behind r.After in the direction of the scan.
func behind(key []byte, r Range) bool {
	if r.Reverse {
		return bytes.Compare(key, r.After) < 0
	}
	return bytes.Compare(key, r.After) > 0
}

func walkPrefix(ctx context.Context, s KVStorage, col Column, r Range) iter.Seq2[Entry, error] {
	if !r.KeysOnly {
		return s.Scan(ctx, col, r.Prefix)
	}
	return func(yield func(Entry, error) bool) {
		for key, err := range s.ScanKeys(ctx, col, r.Prefix) {
			if !yield(Entry{Key: key}, err) {
				return
			}
		}
	}
}

// reversed yields a scan's entries from the last to the first. An error takes
// the place of all of them.
func reversed(all iter.Seq2[Entry, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var held []Entry
		for e, err := range all {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			held = append(held, e)
		}
		for _, e := range slices.Backward(held) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// ScanOn is ScanRange for who wants to see past damage: a value that cannot be read
// is yielded as its key with an error that wraps ErrCorrupt, and the scan goes on
// behind it. Any other error ends it. From the first damaged value on, the values
// are read one by one, so only inside a View does it see one moment.
func ScanOn(ctx context.Context, s KVStorage, col Column, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		rest := r
		var last []byte
		for e, err := range ScanRange(ctx, s, col, r) {
			if errors.Is(err, ErrCorrupt) {
				scanOneByOne(ctx, s, col, rest, yield)
				return
			}
			last = append(last[:0], e.Key...) // e is the loop body's to change
			rest.After = last
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// scanOneByOne scans keys and gets the value of each.
func scanOneByOne(ctx context.Context, s KVStorage, col Column, r Range, yield func(Entry, error) bool) {
	keys := r
	keys.KeysOnly = true
	for e, err := range ScanRange(ctx, s, col, keys) {
		if err == nil && !r.KeysOnly {
			e.Value, err = s.Get(ctx, col, e.Key)
		}
		if errors.Is(err, ErrNotFound) {
			continue // deleted since
		}
		if !yield(e, err) || err != nil && !errors.Is(err, ErrCorrupt) {
			return
		}
	}
}

// First returns the first column of s that has a key, and its first key; of an empty
// store ErrNotFound.
func First(ctx context.Context, s KVStorage) (Column, []byte, error) {
	for col := range EveryColumn() {
		for key, err := range s.ScanKeys(ctx, col, nil) {
			return col, key, err
		}
	}
	return 0, nil, ErrNotFound
}

// KeysOf turns a scan of entries into one of keys. Adapters whose ScanKeys is
// their ScanRange use it.
func KeysOf(entries iter.Seq2[Entry, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for e, err := range entries {
			if !yield(e.Key, err) {
				return
			}
		}
	}
}

// Fail is a scan that yields err alone.
func Fail(err error) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) { yield(Entry{}, err) }
}
