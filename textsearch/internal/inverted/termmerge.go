package inverted

import (
	"math/bits"
	"slices"
)

// terms merges postings, term by term.
func (r *merging) terms() (ended bool, err error) {
	h, err := r.cursors()
	if err != nil {
		return false, err
	}
	t := termMerger{merging: r}
	if t.mapped, err = r.mapping(); err != nil {
		return false, err
	}
	all, err := r.outputNorms()
	if err != nil {
		return false, err
	}
	r.out.lists.norm = func(n uint32) (byte, float64) {
		w := all[n/Window]
		return w.Lengths[n%Window], w.Weight(n % Window)
	}
	for r.budget > 0 {
		key := h.next()
		if key == nil {
			return true, nil
		}
		r.After = append(r.After[:0], key...)
		if err := t.term(h); err != nil {
			return false, err
		}
	}
	return false, nil
}

type termMerger struct {
	*merging
	mapped               [][]uint32
	slab                 slab
	buffers              Buffers
	numbers, frequencies []uint32
	runs                 []int    // where the postings of each input end
	both, spare          []uint64 // number<<32 | frequency
	byNumber             []uint32 // frequencies
	set                  []uint64 // a bit for each number
}

// term merges the postings of the least term.
func (t *termMerger) term(h *heads) error {
	t.numbers, t.frequencies, t.runs = t.numbers[:0], t.frequencies[:0], t.runs[:0]
	ordered := true
	for _, i := range h.least {
		at := len(t.numbers)
		if err := t.gather(h.cursors[i], i); err != nil {
			return err
		}
		if at > 0 && at < len(t.numbers) && t.numbers[at] < t.numbers[at-1] {
			ordered = false
		}
		t.runs = append(t.runs, len(t.numbers))
	}
	t.budget -= len(t.numbers) + termWork*len(h.least)
	if !ordered {
		t.sort()
	}
	if len(t.numbers) > 0 {
		if err := t.out.addTerm(t.After, t.numbers, t.frequencies); err != nil {
			return err
		}
	}
	for _, i := range h.least {
		if err := h.step(t.ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// gather appends the postings of one input.
func (t *termMerger) gather(c *cursor, input int) error {
	t.slab.reset()
	l, err := t.inputs[input].list(t.ctx, c.value, &t.slab)
	if err != nil {
		return c.corrupt()
	}
	mapped := t.mapped[input]
	for i := range l.Parts() {
		numbers, frequencies, err := l.Read(t.ctx, i, &t.buffers)
		if err != nil {
			return err
		}
		at := len(t.numbers)
		t.numbers, t.frequencies = slices.Grow(t.numbers, len(numbers)), slices.Grow(t.frequencies, len(numbers))
		into, with := t.numbers[at:at+len(numbers)], t.frequencies[at:at+len(numbers)]
		stay := 0
		for j, n := range numbers {
			into[stay], with[stay] = mapped[n], frequencies[j]
			if into[stay] != gone {
				stay++
			}
		}
		t.numbers, t.frequencies = t.numbers[:at+stay], t.frequencies[:at+stay]
	}
	return nil
}

// sort puts the postings in order, of which each run is.
func (t *termMerger) sort() {
	if len(t.numbers) >= int(t.Output.Docs)/64 {
		t.sortMany()
		return
	}
	t.both = t.both[:0]
	for i, n := range t.numbers {
		t.both = append(t.both, uint64(n)<<32|uint64(t.frequencies[i]))
	}
	for len(t.runs) > 1 { // merge them two and two
		out, runs := t.spare[:0], t.runs[:0]
		from := 0
		for i := 0; i < len(t.runs); i += 2 {
			mid := t.runs[i]
			end := mid
			if i+1 < len(t.runs) {
				end = t.runs[i+1]
			}
			out = mergeSorted(out, t.both[from:mid], t.both[mid:end])
			from = end
			runs = append(runs, len(out))
		}
		t.both, t.spare, t.runs = out, t.both, runs
	}
	for i, p := range t.both {
		t.numbers[i], t.frequencies[i] = uint32(p>>32), uint32(p)
	}
}

// sortMany is sort for terms that are in many of the documents.
func (t *termMerger) sortMany() {
	if t.set == nil {
		t.byNumber, t.set = make([]uint32, t.Output.Docs), make([]uint64, (t.Output.Docs+63)/64)
	}
	for i, n := range t.numbers {
		t.byNumber[n] = t.frequencies[i]
		t.set[n/64] |= 1 << (n % 64)
	}
	i := 0
	for at, word := range t.set {
		for ; word != 0; word &= word - 1 {
			n := uint32(64*at + bits.TrailingZeros64(word))
			t.numbers[i], t.frequencies[i] = n, t.byNumber[n]
			i++
		}
		t.set[at] = 0
	}
}

func mergeSorted(out, a, b []uint64) []uint64 {
	if len(a) > 0 && len(b) > 0 && a[len(a)-1] < b[0] {
		return append(append(out, a...), b...)
	}
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}
