package kv

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
)

// ScanRange scans a range of the store below with the held writes over it.
func (o *Overlay) ScanRange(ctx context.Context, col Column, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		held, err := o.heldIn(ctx, col, r)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		merge(held, ScanRange(ctx, o.base, col, r), r, func(e Entry, err error) bool {
			if err == nil {
				err = o.ready(ctx)
			}
			if err != nil {
				yield(Entry{}, err)
				return false
			}
			return yield(e, nil)
		})
	}
}

// heldIn returns copies of the changes in a range, in the order of the scan. Their
// slices are still the overlay's, which replaces them but never changes them.
func (o *Overlay) heldIn(ctx context.Context, col Column, r Range) ([]Change, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.readyLocked(ctx); err != nil {
		return nil, err
	}
	o.sort()
	first, _ := slices.BinarySearchFunc(o.sorted, Change{Column: col, Key: r.Prefix}, func(c *Change, at Change) int { return byKey(*c, at) })
	var held []Change
	for _, c := range o.sorted[first:] {
		if c.Column != col || !bytes.HasPrefix(c.Key, r.Prefix) {
			break
		}
		if r.After == nil || behind(c.Key, r) {
			held = append(held, *c)
		}
	}
	if r.Reverse {
		slices.Reverse(held)
	}
	return held, nil
}

// sort brings sorted up to date. It sorts only what was touched since the last
// time and moves it into place, so that a transaction which writes much and scans
// often stays fast.
func (o *Overlay) sort() {
	fresh := slices.Clone(o.order[len(o.sorted):])
	slices.SortFunc(fresh, func(a, b *Change) int { return byKey(*a, *b) })
	end := len(o.sorted) // what is before it has yet to be merged
	o.sorted = slices.Grow(o.sorted, len(fresh))[:len(o.order)]
	for i, c := range slices.Backward(fresh) {
		at, _ := slices.BinarySearchFunc(o.sorted[:end], c, func(a, b *Change) int { return byKey(*a, *b) })
		copy(o.sorted[at+i+1:], o.sorted[at:end])
		o.sorted[at+i] = c
		end = at
	}
}

// byKey is the order in which stores keep entries.
func byKey(a, b Change) int {
	return cmp.Or(cmp.Compare(a.Column, b.Column), bytes.Compare(a.Key, b.Key))
}

// SortChanges puts changes into the order of their columns and keys: engines that keep
// entries so write them faster, and writers that lock in one order do not lock each
// other out.
func SortChanges(changes []Change) { slices.SortFunc(changes, byKey) }

// merge yields base with held over it, both in the order of the scan.
func merge(held []Change, base iter.Seq2[Entry, error], r Range, yield func(Entry, error) bool) {
	for e, err := range base {
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for len(held) > 0 && inDirection(bytes.Compare(held[0].Key, e.Key), r) < 0 {
			if !held[0].yieldTo(yield, r) {
				return
			}
			held = held[1:]
		}
		if len(held) > 0 && bytes.Equal(held[0].Key, e.Key) {
			continue // the held change replaces it, in the next round or after the loop
		}
		if !yield(e, nil) {
			return
		}
	}
	for _, c := range held {
		if !c.yieldTo(yield, r) {
			return
		}
	}
}

func inDirection(order int, r Range) int {
	if r.Reverse {
		return -order
	}
	return order
}

// yieldTo yields copies of what c puts, and nothing when it deletes.
func (c Change) yieldTo(yield func(Entry, error) bool, r Range) bool {
	switch {
	case c.Delete:
		return true
	case r.KeysOnly:
		return yield(Entry{Key: bytes.Clone(c.Key)}, nil)
	}
	return yield(Entry{bytes.Clone(c.Key), append([]byte{}, c.Value...)}, nil)
}
