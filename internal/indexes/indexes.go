// Package indexes checks indexes that can be made anew: it makes them, in memory,
// and compares.
package indexes

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/crabstore/crabstore/kv"
)

// Check runs reindex above a view of s, to which it writes nothing, and returns a
// sentence for every key that it would change: none, if the indexes are what they
// should be. The error is that of a store, or of content, that cannot be read.
func Check(ctx context.Context, s kv.KVStorage, reindex func(context.Context, kv.KVStorage) error) ([]string, error) {
	var faults []string
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		faults = nil
		o := kv.NewOverlay(tx)
		defer o.Close()
		if err := reindex(ctx, o); err != nil {
			return err
		}
		for _, c := range o.Changes() {
			fault, err := compare(ctx, tx, c)
			if err != nil {
				return err
			}
			if fault != "" {
				faults = append(faults, fault)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return faults, nil
}

// compare returns what is wrong with a key that a reindexing touched, if anything.
func compare(ctx context.Context, s kv.KVStorage, c kv.Change) (string, error) {
	value, err := s.Get(ctx, c.Column, c.Key)
	absent := errors.Is(err, kv.ErrNotFound)
	switch {
	case err != nil && !absent:
		return "", err
	case absent == c.Delete && (absent || bytes.Equal(value, c.Value)):
		return "", nil
	case absent:
		return fmt.Sprintf("%s %q is missing in the index", c.Column, c.Key), nil
	case c.Delete:
		return fmt.Sprintf("%s %q is in the index and belongs to nothing", c.Column, c.Key), nil
	}
	return fmt.Sprintf("%s %q is in the index with another value than it should have", c.Column, c.Key), nil
}
