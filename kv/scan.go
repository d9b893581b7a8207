package kv

import (
	"bytes"
	"context"
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
