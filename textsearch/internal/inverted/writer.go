package inverted

import (
	"bytes"
	"context"
	"slices"

	"github.com/crabstore/crabstore/kv"
)

const (
	// directDocs is how many documents, written at once, are a segment of their own,
	// and how many operations the log has at most when a Flush ends.
	directDocs = 256
	// maxGathered is how many postings are gathered before they are written: some
	// tens of megabytes.
	maxGathered = 2 << 20
)

// Writer adds documents to one generation of an index and drops them, within one
// transaction. It is not safe for concurrent use. What it holds back is written by
// Flush: a transaction whose writer was not flushed must not commit.
type Writer struct {
	ix    *Index
	group Group
	name  string // of the statistics: "stats" or "building"
	shelf *shelf
	stats Stats

	list    *list // to be changed; nil until it is asked for
	changed bool  // the list has
	segs    []*segment
	filters []*keyFilter // of segs
	mem     *memory
	gone    map[goneAt]*bitmap // changed ones
	touched map[uint64]bool    // segments that have one
	removed []string           // keys of documents that go from the log
	going   map[string]uint64  // the same, with the operations that added them
	dirty   bool
	later   [][]byte // keys that are deleted after the statistics are written
	value   []byte
}

type goneAt struct {
	id     uint64
	window uint32
}

// NewWriter returns a writer of the index. tx is the transaction of a kv.Update.
// config is the client's, of an index that has none yet.
func (x *Index) NewWriter(ctx context.Context, tx kv.KVStorage, config string) (*Writer, error) {
	st, ok, err := x.Load(ctx, tx)
	if err != nil {
		return nil, err
	}
	if !ok {
		st = Stats{Version: Version, Generation: 1, Config: config}
	}
	return x.writer(tx, "stats", st)
}

func (x *Index) writer(tx kv.KVStorage, name string, st Stats) (*Writer, error) {
	group, err := x.groups(&st)
	if err != nil {
		return nil, err
	}
	return &Writer{
		ix: x, group: group, name: name, shelf: newShelf(tx, x, st.Generation), stats: st,
		mem: newMemory(), gone: map[goneAt]*bitmap{}, touched: map[uint64]bool{}, going: map[string]uint64{},
	}, nil
}

// Stats returns the statistics as the writer has them.
func (w *Writer) Stats() Stats { return w.stats }

// Put adds a document, in place of one with its key. It keeps nothing of what it is
// given but the key.
func (w *Writer) Put(ctx context.Context, d *Document) error {
	if _, err := w.Drop(ctx, d.Key); err != nil {
		return err
	}
	before := len(w.mem.postings)
	w.mem.add(d)
	w.dirty = true
	w.stats.Documents++
	w.stats.Length += d.Length
	w.stats.Credit += uint64(len(w.mem.postings)-before) * creditPerPosting
	if len(w.mem.postings) >= maxGathered {
		return w.writeGathered(ctx)
	}
	return nil
}

func (w *Writer) wantList(ctx context.Context) error {
	if w.list != nil {
		return nil
	}
	l, err := w.shelf.list(ctx, &w.stats)
	if err == nil {
		w.list = l.clone()
	}
	return err
}

// segments returns the segments of the index.
func (w *Writer) segments(ctx context.Context) ([]*segment, error) {
	if w.segs != nil || w.stats.List == 0 && w.list == nil {
		return w.segs, nil
	}
	if err := w.wantList(ctx); err != nil {
		return nil, err
	}
	w.filters = w.filters[:0]
	for _, info := range w.list.Segments {
		seg, err := w.shelf.open(ctx, info)
		if err != nil {
			return nil, err
		}
		w.segs, w.filters = append(w.segs, seg), append(w.filters, seg.filter())
	}
	return w.segs, nil
}

// writeGathered makes a segment of what was gathered.
func (w *Writer) writeGathered(ctx context.Context) error {
	if err := w.writeMemory(ctx, w.mem); err != nil {
		return err
	}
	w.mem = newMemory()
	return nil
}

// writeMemory makes a segment of what a memory has, if anything.
func (w *Writer) writeMemory(ctx context.Context, m *memory) error {
	if m.live() == 0 {
		return nil
	}
	var memo *groupMemo
	if w.group != nil {
		place := w.shelf.memoPlace(w.stats.Config)
		memo = place.take()
		defer place.give(memo)
	}
	seg, err := m.write(ctx, w.shelf, memo, w.group)
	if err != nil {
		return err
	}
	return w.addSegment(ctx, seg)
}

func (w *Writer) addSegment(ctx context.Context, seg Segment) error {
	if err := w.wantList(ctx); err != nil {
		return err
	}
	w.list.Segments = append(w.list.Segments, seg)
	w.changed, w.segs = true, nil
	return nil
}

// Flush writes what the writer holds back. It can go on being used.
func (w *Writer) Flush(ctx context.Context) error {
	if !w.dirty {
		return nil
	}
	if w.mem.live() >= directDocs {
		if err := w.writeGathered(ctx); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{w.emptyLog, w.writeLog, w.writeGone, w.mergeSome, w.writeStats, w.clean} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	w.dirty = false
	return nil
}

// writeGone writes which documents of segments are gone.
func (w *Writer) writeGone(ctx context.Context) error {
	if len(w.touched) == 0 {
		clear(w.gone)
		return nil
	}
	for at, b := range w.gone {
		if err := w.shelf.put(ctx, at.id, deadBits, at.window, b.append(nil)); err != nil {
			return err
		}
	}
	for id := range w.touched {
		if s := w.list.find(id); s != nil {
			s.Tip = newID()
		}
	}
	clear(w.gone)
	clear(w.touched)
	w.changed, w.segs = true, nil
	return nil
}

func (w *Writer) writeStats(ctx context.Context) error {
	if w.changed && w.list.empty() {
		w.stats.List, w.changed = 0, false
		if _, err := w.shelf.tx.Delete(ctx, w.shelf.col, w.shelf.under("list")); err != nil {
			return err
		}
	}
	if w.changed {
		w.stats.List = newID()
		if err := kv.Store(ctx, w.shelf.tx, w.shelf.col, w.shelf.under("list"), w.list); err != nil {
			return err
		}
		w.changed = false
	}
	return kv.Store(ctx, w.shelf.tx, w.shelf.col, w.ix.key(w.name), &w.stats)
}

// cleaned is how many values of segments that are no more are deleted by a Flush.
const cleaned = 64

// clean deletes what nothing leads to any longer.
func (w *Writer) clean(ctx context.Context) error {
	for _, key := range w.later {
		if _, err := w.shelf.tx.Delete(ctx, w.shelf.col, key); err != nil {
			return err
		}
	}
	w.later = w.later[:0]
	if w.stats.List != 0 {
		if err := w.cleanTrash(ctx); err != nil {
			return err
		}
	}
	if w.stats.Documents > 0 || w.stats.List != 0 || w.name != "stats" {
		return nil
	}
	// Nothing is left but that nothing is left.
	_, err := w.shelf.tx.Delete(ctx, w.shelf.col, w.ix.key(w.name))
	w.stats.First, w.stats.Next = 0, 0
	return err
}

// cleanTrash deletes some values of segments that are no more.
func (w *Writer) cleanTrash(ctx context.Context) error {
	l := w.list
	if l == nil {
		var err error
		if l, err = w.shelf.list(ctx, &w.stats); err != nil {
			return err
		}
	}
	if len(l.Trash) == 0 {
		return nil
	}
	id := l.Trash[0]
	n, err := w.shelf.deleteUnder(ctx, bytes.Clone(w.shelf.segmentKey(id)), cleaned)
	if err != nil || n == cleaned {
		return err
	}
	// All are deleted: forget it. The list is written again for that alone.
	if err := w.wantList(ctx); err != nil {
		return err
	}
	w.list.Trash = slices.Delete(w.list.Trash, 0, 1)
	w.changed = true
	return w.writeStats(ctx)
}

// deleteUnder deletes at most limit keys that begin with a prefix and returns how
// many.
func (s *shelf) deleteUnder(ctx context.Context, prefix []byte, limit int) (n int, err error) {
	for key, err := range s.tx.ScanKeys(ctx, s.col, prefix) {
		if err != nil || n == limit {
			return n, err
		}
		if _, err := s.tx.Delete(ctx, s.col, key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
