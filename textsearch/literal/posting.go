package literal

import (
	"context"
	"sort"

	"github.com/crabstore/crabstore/textsearch/internal/inverted"
)

// walk goes through a list of postings, forward only, and reads no block that what it
// is asked for is not in.
type walk struct {
	term string
	list    *inverted.List
	block   int      // that numbers are of
	numbers []uint32 // what is left of it; empty when it is not read
	buffers inverted.Buffers
}

// end is above all numbers.
const end = 1<<32 - 1

// to returns the first number at or above n, which is none that it was asked for
// before or one above; end when there is none.
func (w *walk) to(ctx context.Context, n uint32) (uint32, error) {
	if all, _, ok := w.list.InMemory(); ok {
		if all[len(all)-1] < n {
			return end, nil
		}
		if w.numbers == nil {
			w.numbers = all
		}
		w.numbers = w.numbers[first(w.numbers, n):]
		return w.numbers[0], nil
	}
	blocks := w.list.Blocks
	if blocks[w.block].Last < n {
		w.numbers = nil
		if w.block = w.skip(n); w.block == len(blocks) {
			w.block--
			return end, nil
		}
	}
	if len(w.numbers) == 0 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		var err error
		if w.numbers, _, err = w.list.Read(ctx, w.block, &w.buffers); err != nil {
			return 0, err
		}
	}
	w.numbers = w.numbers[first(w.numbers, n):]
	return w.numbers[0], nil
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
