package literal

import (
	"context"
	"sort"

	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// walk goes through a list of postings, forward only, and reads no block that what it
// is asked for is not in.
type walk struct {
	list    *inverted.List
	block   int      // that numbers are of
	numbers []uint32 // what is left of it; empty when it is not read
	buffers *inverted.Buffers
}

// end is above all numbers.
const end = 1<<32 - 1

func newWalk(l *inverted.List) *walk {
	w := &walk{list: l}
	if all, _, ok := l.InMemory(); ok {
		w.numbers = all
	} else {
		w.buffers = new(inverted.Buffers)
	}
	return w
}

// to returns the first number at or above n, which is none that it was asked for
// before or one above; end when there is none.
func (w *walk) to(ctx context.Context, n uint32) (uint32, error) {
	if w.buffers == nil {
		if w.numbers[len(w.numbers)-1] < n {
			return end, nil
		}
	} else if found, err := w.load(ctx, n); !found || err != nil {
		return end, err
	}
	w.numbers = w.numbers[first(w.numbers, n):]
	return w.numbers[0], nil
}

// load reads the block in which the first number at or above n is, if there is one.
func (w *walk) load(ctx context.Context, n uint32) (found bool, err error) {
	if w.list.Blocks[w.block].Last < n {
		next := w.skip(n)
		if next == len(w.list.Blocks) {
			return false, nil
		}
		w.block, w.numbers = next, nil
	}
	if len(w.numbers) > 0 {
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	w.numbers, _, err = w.list.Read(ctx, w.block, w.buffers)
	return true, err
}

// skip returns the first block behind the one at hand that does not end below n. Most
// often it is near.
func (w *walk) skip(n uint32) int {
	rest, step := w.list.Blocks[w.block+1:], 1
	for step < len(rest) && rest[step].Last < n {
		step *= 2
	}
	from := step / 2
	upTo := min(step+1, len(rest))
	return w.block + 1 + from + sort.Search(upTo-from, func(i int) bool { return rest[from+i].Last >= n })
}

// first returns the index of the first number at or above n, which is near.
func first(numbers []uint32, n uint32) int {
	step := 1
	for step < len(numbers) && numbers[step] < n {
		step *= 2
	}
	from, upTo := step/2, min(step+1, len(numbers))
	for from < upTo {
		if mid := (from + upTo) / 2; numbers[mid] < n {
			from = mid + 1
		} else {
			upTo = mid
		}
	}
	return from
}
