package inverted

import (
	"bytes"
	"context"
)

// heads are cursors of which the least key is wanted.
type heads struct {
	cursors []*cursor
	valid   []bool
	begins  []uint64 // keyBegin of the key of each
	least   []int    // those that have it
}

func (h *heads) step(ctx context.Context, i int) (err error) {
	h.valid[i], err = h.cursors[i].next(ctx)
	h.begins[i] = keyBegin(h.cursors[i].key)
	return err
}

// next sets least and returns the key, nil at the end.
func (h *heads) next() []byte {
	h.least = h.least[:0]
	var key []byte
	begin := uint64(0)
	for i, c := range h.cursors {
		if !h.valid[i] || key != nil && h.begins[i] > begin {
			continue
		}
		order := -1
		if key != nil && h.begins[i] == begin {
			order = bytes.Compare(c.key, key)
		}
		switch {
		case order < 0:
			key, begin, h.least = c.key, h.begins[i], append(h.least[:0], i)
		case order == 0:
			h.least = append(h.least, i)
		}
	}
	return key
}
