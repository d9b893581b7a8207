package inverted

import (
	"bytes"
	"context"
)

// heads are cursors of which the least key is wanted.
type heads struct {
	cursors []*cursor
	valid   []bool
	least   []int // those that have it
}

func (h *heads) step(ctx context.Context, i int) (err error) {
	h.valid[i], err = h.cursors[i].next(ctx)
	return err
}

// next sets least and returns the key, nil at the end.
func (h *heads) next() []byte {
	h.least = h.least[:0]
	var key []byte
	for i, c := range h.cursors {
		if !h.valid[i] {
			continue
		}
		order := -1
		if key != nil {
			order = bytes.Compare(c.key, key)
		}
		switch {
		case order < 0:
			key, h.least = c.key, append(h.least[:0], i)
		case order == 0:
			h.least = append(h.least, i)
		}
	}
	return key
}
