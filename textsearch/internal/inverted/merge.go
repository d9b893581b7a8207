package inverted

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/crabstore/crabstore/kv"
)

// A segment of level n has about directDocs * fanIn^n documents. As soon as fanIn of
// one level are idle, they are merged to one.
const (
	fanIn = 8

	// The work that merging takes is counted in postings, of 25 to 50 nanoseconds. A
	// posting that is written comes to pay for this many: it is merged at each of the
	// levels above, and a document and a term cost too.
	creditPerPosting = 24
	// sliceWork is how much work is owed before some of it is done: some hundred
	// microseconds. Less at a time costs more in all.
	sliceWork = 3072
	docWork   = 8
	termWork  = 12
)

// gone stands for the number of a document that a merge leaves out.
const gone = 1<<32 - 1

// merge is a merge under way.
type merge struct {
	Output writerState `json:"output"`
	Inputs []uint64    `json:"inputs"`
	Table  byte        `json:"table"`           // which is at hand: docTable, termTable, groupTable
	After  []byte      `json:"after,omitempty"` // the last key of it that is done
	Orders uint32      `json:"orders"`          // how many values of kind order there are
}

// level returns that of a segment.
func level(docs uint32) int {
	n := 0
	for docs /= directDocs * fanIn; docs > 0; docs /= fanIn {
		n++
	}
	return n
}

// mergeSome begins the merges that are due and does what is owed of the work.
func (w *Writer) mergeSome(ctx context.Context) error {
	if w.changed {
		w.beginMerges()
	}
	l := w.list
	if l == nil {
		var err error
		if l, err = w.shelf.list(ctx, &w.stats); err != nil {
			return err
		}
	}
	if len(l.Merges) == 0 {
		w.stats.Credit = 0
		return nil
	}
	if w.stats.Credit < sliceWork {
		return nil
	}
	left, err := w.work(ctx, int(min(w.stats.Credit, 1<<40)))
	w.stats.Credit = uint64(max(left, 0))
	return err
}

// busy returns the segments that are being merged.
func (l *list) busy() map[uint64]bool {
	busy := map[uint64]bool{}
	for _, m := range l.Merges {
		for _, id := range m.Inputs {
			busy[id] = true
		}
	}
	return busy
}

// beginMerges begins the merges that are due: of each level that has too many, and
// of one alone that is gone by more than a third. What is gone altogether is dropped.
func (w *Writer) beginMerges() {
	busy := w.list.busy()
	levels := map[int][]uint64{}
	var dropped []uint64
	for _, s := range w.list.Segments {
		switch {
		case busy[s.ID]:
		case s.live() == 0:
			dropped = append(dropped, s.ID)
		case s.Dead > s.Docs/3:
			w.beginMerge([]uint64{s.ID})
		default:
			n := level(s.live())
			levels[n] = append(levels[n], s.ID)
		}
	}
	for _, id := range dropped {
		w.drop(id)
	}
	for _, ids := range levels {
		if len(ids) >= fanIn {
			w.beginMerge(ids)
		}
	}
}

func (w *Writer) beginMerge(inputs []uint64) {
	w.list.Merges = append(w.list.Merges, merge{Output: writerState{ID: newID()}, Inputs: inputs, Table: docTable})
	w.changed = true
}

// giveUpMerges ends the merges under way and throws away what they have written.
func (w *Writer) giveUpMerges() {
	for _, m := range w.list.Merges {
		w.list.Trash = append(w.list.Trash, m.Output.ID)
		w.changed = true
	}
	w.list.Merges = nil
}

// drop takes a segment out of the list.
func (w *Writer) drop(id uint64) {
	w.list.Segments = slices.DeleteFunc(w.list.Segments, func(s Segment) bool { return s.ID == id })
	w.list.Trash = append(w.list.Trash, id)
	w.changed, w.segs = true, nil
}

// work does about so much work, on the smallest merges first, and returns what is
// left of it.
func (w *Writer) work(ctx context.Context, budget int) (int, error) {
	if err := w.wantList(ctx); err != nil {
		return budget, err
	}
	for len(w.list.Merges) > 0 && budget > 0 {
		slices.SortStableFunc(w.list.Merges, func(a, b merge) int { return cmp.Compare(w.sizeOf(&a), w.sizeOf(&b)) })
		m := w.list.Merges[0]
		w.changed = true
		run, err := w.resume(ctx, &m, budget)
		if err != nil {
			return 0, err
		}
		done, err := run.slice()
		if err != nil {
			return 0, err
		}
		budget = run.budget
		if !done {
			w.list.Merges[0] = m
			continue
		}
		if err := run.finish(w); err != nil {
			return 0, err
		}
		w.list.Merges = slices.Delete(w.list.Merges, 0, 1)
		w.beginMerges()
	}
	return budget, nil
}

func (w *Writer) sizeOf(m *merge) (docs uint32) {
	for _, id := range m.Inputs {
		if s := w.list.find(id); s != nil {
			docs += s.Docs
		}
	}
	return docs
}

// merging is a merge at work.
type merging struct {
	*merge
	ctx    context.Context
	shelf  *shelf
	group  bool
	inputs []*segment
	out    *segmentWriter
	budget int
}

func (w *Writer) resume(ctx context.Context, m *merge, budget int) (*merging, error) {
	r := &merging{merge: m, ctx: ctx, shelf: w.shelf, budget: budget, group: w.group != nil}
	for _, id := range m.Inputs {
		info := w.list.find(id)
		if info == nil {
			return nil, fmt.Errorf("%w: %q merges a segment that it does not have", ErrCorrupt, w.shelf.under("list"))
		}
		seg, err := w.shelf.open(ctx, *info)
		if err != nil {
			return nil, err
		}
		r.inputs = append(r.inputs, seg)
	}
	return r, nil
}

// slice works until the budget is used up, or the merge done.
func (r *merging) slice() (done bool, err error) {
	for r.budget > 0 {
		r.out = newSegmentWriter(r.ctx, r.shelf, r.Output, r.Table)
		var ended bool
		switch r.Table {
		case docTable:
			ended, err = r.docs()
		case termTable:
			ended, err = r.terms()
		default:
			ended, err = r.groups()
		}
		if err != nil {
			return false, err
		}
		if err := r.out.cut(); err != nil {
			return false, err
		}
		r.Output = r.out.state
		if !ended {
			return false, nil
		}
		r.After, r.Output.Chunks, r.Output.Parts = nil, 0, 0
		switch {
		case r.Output.Docs == 0 || r.Table == groupTable || r.Table == termTable && !r.group:
			return true, nil
		case r.Table == docTable:
			r.Table = termTable
		default:
			r.Table = groupTable
		}
	}
	return false, nil
}

// cursors returns one for each input behind the last key that is done.
func (r *merging) cursors() (*heads, error) {
	h := &heads{}
	for _, seg := range r.inputs {
		c, err := seg.seek(r.ctx, r.Table, r.After)
		if err != nil {
			return nil, err
		}
		i := len(h.cursors)
		h.cursors, h.valid, h.begins = append(h.cursors, c), append(h.valid, false), append(h.begins, 0)
		if err := h.step(r.ctx, i); err != nil {
			return nil, err
		}
		if h.valid[i] && r.After != nil && bytes.Equal(c.key, r.After) {
			if err := h.step(r.ctx, i); err != nil {
				return nil, err
			}
		}
	}
	return h, nil
}

// docs merges documents. It stops where a window ends.
func (r *merging) docs() (ended bool, err error) {
	h, err := r.cursors()
	if err != nil {
		return false, err
	}
	runs := orderWriter{}
	for {
		key := h.next()
		if key == nil {
			ended = true
			break
		}
		if r.budget <= 0 && r.out.state.Docs%Window == 0 && len(runs.data) > 0 {
			break
		}
		r.After = append(r.After[:0], key...)
		for _, i := range h.least {
			if err := r.doc(h.cursors[i], i, &runs); err != nil {
				return false, err
			}
			if err := h.step(r.ctx, i); err != nil {
				return false, err
			}
		}
	}
	if data := runs.take(); len(data) > 0 {
		err = r.shelf.put(r.ctx, r.Output.ID, order, r.Orders, data)
		r.Orders++
	}
	return ended, err
}

func (r *merging) doc(c *cursor, input int, runs *orderWriter) error {
	r.budget -= docWork
	seg, number := r.inputs[input], c.number()
	dead, err := seg.dead(r.ctx, number/Window)
	if err != nil {
		return err
	}
	if dead.has(number % Window) {
		runs.add(input, true)
		return nil
	}
	runs.add(input, false)
	norms, err := seg.norms(r.ctx, number/Window)
	if err != nil {
		return err
	}
	length, err := seg.length(c.value)
	if err != nil {
		return err
	}
	return r.out.addDoc(c.key, length, norms.Weight(number%Window))
}

// outputNorms returns the norms of the output.
func (r *merging) outputNorms() ([]*Norms, error) {
	at := kv.CacheKey{ID: r.Output.ID, Kind: 'N'}
	if v, ok := r.shelf.cache.Get(at); ok {
		return v.([]*Norms), nil
	}
	var all []*Norms
	for window := range (r.Output.Docs + Window - 1) / Window {
		n, err := cached(r.ctx, r.shelf, r.Output.ID, norms, window, readNorms)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	r.shelf.cache.Put(at, all, 8*len(all))
	return all, nil
}

// groups merges the groups, but for terms that are in no document any longer.
func (r *merging) groups() (ended bool, err error) {
	h, err := r.cursors()
	if err != nil {
		return false, err
	}
	out, err := r.termsLeft()
	if err != nil {
		return false, err
	}
	for r.budget > 0 {
		key := h.next()
		if key == nil {
			return true, nil
		}
		r.After = append(r.After[:0], key...)
		stays := out == nil
		if !stays {
			_, term, _ := bytes.Cut(key, []byte{0})
			value, _, err := out.lookup(r.ctx, termTable, term)
			if err != nil {
				return false, err
			}
			stays = value != nil
		}
		if stays {
			if err := r.out.tw.add(r.After, nil); err != nil {
				return false, err
			}
		}
		r.budget -= termWork * len(h.least)
		for _, i := range h.least {
			if err := h.step(r.ctx, i); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// termsLeft returns the output with its terms, nil when those of the inputs are all
// there, as when no document was left out.
func (r *merging) termsLeft() (*segment, error) {
	docs := uint32(0)
	for _, seg := range r.inputs {
		docs += seg.Docs
	}
	if docs == r.Output.Docs {
		return nil, nil
	}
	out := &segment{Segment: Segment{ID: r.Output.ID, Docs: r.Output.Docs}, shelf: r.shelf}
	at := kv.CacheKey{ID: r.Output.ID, Kind: termPlaces}
	if v, ok := r.shelf.cache.Get(at); ok {
		out.terms = v.([]place)
		return out, nil
	}
	_, size, err := r.shelf.directory(r.ctx, r.Output.ID, termTable, &out.terms)
	if err == nil {
		r.shelf.cache.Put(at, out.terms, size)
	}
	return out, err
}

// finish puts the output in place of the inputs. What went from these since their
// documents were merged goes from it too.
func (r *merging) finish(w *Writer) error {
	mapped, err := r.mapping()
	if err != nil {
		return err
	}
	info := Segment{ID: r.Output.ID, Docs: r.Output.Docs}
	late := map[uint32]*bitmap{}
	for i, seg := range r.inputs {
		for window := range (seg.Docs + Window - 1) / Window {
			dead, err := seg.dead(r.ctx, window)
			if err != nil {
				return err
			}
			if dead == nil {
				continue
			}
			for n := range min(Window, seg.Docs-window*Window) {
				if to := mapped[i][window*Window+n]; dead.has(n) && to != gone {
					b := late[to/Window]
					if b == nil {
						b = &bitmap{}
						late[to/Window] = b
					}
					b.set(to % Window)
					info.Dead++
				}
			}
		}
		w.drop(seg.ID)
	}
	for window, b := range late {
		if err := r.shelf.put(r.ctx, info.ID, deadBits, window, b.append(nil)); err != nil {
			return err
		}
		info.Tip = newID()
	}
	for part := range r.Orders {
		w.later = append(w.later, bytes.Clone(r.shelf.chunkKey(info.ID, order, part)))
	}
	if info.Docs == 0 {
		w.list.Trash = append(w.list.Trash, info.ID)
		return nil
	}
	return w.addSegment(r.ctx, info)
}
