package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Difference is a key of a store that is not what a function would make of it.
type Difference struct {
	Column Column
	Key    []byte
	Kind   DifferenceKind
}

// DifferenceKind is in what a key differs.
type DifferenceKind string

// The kinds of differences.
const (
	Missing DifferenceKind = "missing"
	Surplus DifferenceKind = "too much"
	Wrong   DifferenceKind = "not as the content says"
)

// String returns the difference in words.
func (d Difference) String() string {
	return fmt.Sprintf("%s in column %s: %q", d.Kind, d.Column, d.Key)
}

// Differences runs fn above a view of s, to which it writes nothing, and returns
// what it would change there. So an index that can be made anew is checked: what
// makes it anew finds nothing to change in a good one. The error is that of fn, or
// of a store that cannot be read.
func Differences(ctx context.Context, s KVStorage, fn func(tx KVStorage) error) ([]Difference, error) {
	var found []Difference
	err := View(ctx, s, func(tx KVStorage) error {
		found = nil
		o := NewOverlay(tx)
		defer o.Close()
		if err := fn(o); err != nil {
			return err
		}
		for _, c := range o.Changes() {
			kind, err := differs(ctx, tx, c)
			if err != nil {
				return err
			}
			if kind != "" {
				found = append(found, Difference{c.Column, c.Key, kind})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// differs compares a change with what is stored.
func differs(ctx context.Context, s KVStorage, c Change) (DifferenceKind, error) {
	value, err := s.Get(ctx, c.Column, c.Key)
	absent := errors.Is(err, ErrNotFound)
	switch {
	case err != nil && !absent:
		return "", err
	case absent && c.Delete, !absent && !c.Delete && bytes.Equal(value, c.Value):
		return "", nil
	case absent:
		return Missing, nil
	case c.Delete:
		return Surplus, nil
	}
	return Wrong, nil
}
