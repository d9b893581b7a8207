package inverted

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	return x.newWriter(ctx, tx, "stats", config)
}

func (x *Index) newWriter(ctx context.Context, tx kv.KVStorage, name, config string) (*Writer, error) {
	st, ok, err := x.load(ctx, tx, name)
	if err != nil {
		return nil, err
	}
	if !ok {
		st = Stats{Version: Version, Generation: 1, Config: config}
	}
	return x.writer(tx, name, st)
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
	w.mem.add(d)
	w.dirty = true
	w.stats.Documents++
	w.stats.Length += d.Length
	w.stats.Credit += uint64(len(d.Terms)) * creditPerPosting
	if len(w.mem.postings) >= maxGathered {
		return w.writeGathered(ctx)
	}
	return nil
}

// Drop removes the document of a key and tells whether there was one.
func (w *Writer) Drop(ctx context.Context, key string) (existed bool, err error) {
	length, existed := w.mem.drop(key)
	if !existed {
		length, existed, err = w.dropNew(ctx, key)
	}
	if err == nil && !existed {
		length, existed, err = w.dropOld(ctx, key)
	}
	if existed {
		w.forget(length)
	}
	return existed, err
}

func (w *Writer) forget(length uint64) {
	w.dirty = true
	w.stats.Documents -= min(w.stats.Documents, 1)
	w.stats.Length -= min(w.stats.Length, length)
}

// dropNew removes a document that is in the log.
func (w *Writer) dropNew(ctx context.Context, key string) (length uint64, existed bool, err error) {
	if _, going := w.going[key]; going || w.stats.First == w.stats.Next {
		return 0, false, nil
	}
	n, op, err := w.added(ctx, key)
	if op == nil || err != nil {
		return 0, false, err
	}
	w.removed = append(w.removed, key)
	w.going[key] = n
	return op.Length, true, nil
}

// What a key of a document of the log leads to is the number of the last operation on
// it, and that of the one before, which counts while the statistics, which are written
// later, do not know the last.
func (w *Writer) putNewKey(ctx context.Context, key string) error {
	value := binary.AppendUvarint(nil, w.stats.Next)
	if before, ok := w.going[key]; ok {
		value = binary.AppendUvarint(value, before)
	}
	return w.shelf.tx.Put(ctx, w.shelf.col, w.shelf.newKey(key), value)
}

// added returns the operation that added the document that the log has of a key, and
// its number; nil when it has none.
func (w *Writer) added(ctx context.Context, key string) (uint64, *operation, error) {
	data, err := w.shelf.tx.Get(ctx, w.shelf.col, w.shelf.newKey(key))
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	r := reader{text: string(data)}
	n := r.uvarint()
	if n >= w.stats.Next && r.text != "" {
		n = r.uvarint()
	}
	if r.bad || n < w.stats.First || n >= w.stats.Next {
		return 0, nil, nil // left by a crash
	}
	data, err = w.shelf.tx.Get(ctx, w.shelf.col, w.shelf.logKey(n))
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	op, err := readOperation(data)
	if err != nil {
		return 0, nil, fmt.Errorf("%w at %q", err, w.shelf.logKey(n))
	}
	if op.remove || op.Key != key {
		return 0, nil, nil
	}
	return n, &op, nil
}

// dropOld removes a document that is in a segment.
func (w *Writer) dropOld(ctx context.Context, key string) (length uint64, existed bool, err error) {
	segs, err := w.segments(ctx)
	if err != nil {
		return 0, false, err
	}
	for _, seg := range segs {
		number, length, ok, err := seg.number(ctx, key)
		if err != nil {
			return 0, false, err
		}
		if !ok {
			continue
		}
		fresh, err := w.bury(ctx, seg, number)
		if fresh || err != nil {
			return length, fresh, err
		}
	}
	return 0, false, nil
}

// bury marks a document as gone and tells whether it was there.
func (w *Writer) bury(ctx context.Context, seg *segment, number uint32) (fresh bool, err error) {
	b, err := w.bits(ctx, seg.ID, number/Window)
	if err != nil || b.set(number%Window) {
		return false, err
	}
	if err := w.wantList(ctx); err != nil {
		return false, err
	}
	s := w.list.find(seg.ID)
	s.Dead++
	w.touched[seg.ID] = true
	return true, nil
}

// bits returns the bitmap of a window, to be changed.
func (w *Writer) bits(ctx context.Context, id uint64, window uint32) (*bitmap, error) {
	at := goneAt{id, window}
	if b := w.gone[at]; b != nil {
		return b, nil
	}
	b, err := w.shelf.dead(ctx, id, window)
	if err != nil {
		return nil, err
	}
	if b == nil {
		b = &bitmap{}
	}
	w.gone[at] = b
	return b, nil
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
	for _, info := range w.list.Segments {
		seg, err := w.shelf.open(ctx, info)
		if err != nil {
			return nil, err
		}
		w.segs = append(w.segs, seg)
	}
	return w.segs, nil
}

// DropPrefix removes the documents whose keys begin with a prefix and returns how
// many there were.
func (w *Writer) DropPrefix(ctx context.Context, prefix string) (n int, err error) {
	for key := range w.mem.at {
		if strings.HasPrefix(key, prefix) {
			length, _ := w.mem.drop(key)
			w.forget(length)
			n++
		}
	}
	news, err := w.newUnder(ctx, prefix)
	if err != nil {
		return n, err
	}
	for _, key := range news {
		length, existed, err := w.dropNew(ctx, key)
		if err != nil {
			return n, err
		}
		if existed {
			w.forget(length)
			n++
		}
	}
	segs, err := w.segments(ctx)
	if err != nil {
		return n, err
	}
	for _, seg := range segs {
		old, err := w.dropRange(ctx, seg, prefix)
		if n += old; err != nil {
			return n, err
		}
	}
	return n, nil
}

// newUnder returns the keys of the documents of the log that begin with a prefix.
func (w *Writer) newUnder(ctx context.Context, prefix string) (keys []string, err error) {
	root := bytes.Clone(w.shelf.under("key/"))
	for storeKey, err := range w.shelf.tx.ScanKeys(ctx, w.shelf.col, kv.AppendPart(bytes.Clone(root), prefix)) {
		if err != nil {
			return nil, err
		}
		parts, err := kv.SplitParts(string(storeKey[len(root):]))
		if err != nil || len(parts) != 1 {
			return nil, fmt.Errorf("%w: key %q", ErrCorrupt, storeKey)
		}
		keys = append(keys, parts[0])
	}
	return keys, nil
}

func (w *Writer) dropRange(ctx context.Context, seg *segment, prefix string) (n int, err error) {
	err = seg.under(ctx, docTable, []byte(prefix), func(_, value []byte, number uint32) (bool, error) {
		fresh, err := w.bury(ctx, seg, number)
		if !fresh || err != nil {
			return true, err
		}
		length, err := seg.length(value)
		w.forget(length)
		n++
		return true, err
	})
	return n, err
}

// writeGathered makes a segment of what was gathered.
func (w *Writer) writeGathered(ctx context.Context) error {
	if w.mem.live() > 0 {
		seg, err := w.mem.write(ctx, w.shelf, newID(), w.group)
		if err != nil {
			return err
		}
		if err := w.addSegment(ctx, seg); err != nil {
			return err
		}
	}
	w.mem = newMemory()
	return nil
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

// writeLog writes what was removed from the log and what was gathered into it.
func (w *Writer) writeLog(ctx context.Context) error {
	for _, key := range w.removed {
		tip := w.nextTip()
		w.value = appendRemove(w.value[:0], tip, key)
		if err := w.logged(ctx, tip, key); err != nil {
			return err
		}
	}
	for i := range w.mem.docs {
		d := &w.mem.docs[i]
		if d.gone {
			continue
		}
		tip := w.nextTip()
		w.value = w.mem.appendAdd(w.value[:0], tip, d)
		if err := w.logged(ctx, tip, d.key); err != nil {
			return err
		}
	}
	w.removed = w.removed[:0]
	clear(w.going)
	if len(w.mem.docs) > 0 {
		w.mem = newMemory()
	}
	return nil
}

// nextTip names the next operation, and the log when that is its first.
func (w *Writer) nextTip() uint64 {
	if w.stats.First == w.stats.Next {
		w.stats.Log = newID()
	}
	return newID()
}

// logged writes an operation on a document, which is in value.
func (w *Writer) logged(ctx context.Context, tip uint64, key string) error {
	err := w.shelf.tx.Put(ctx, w.shelf.col, w.shelf.logKey(w.stats.Next), w.value)
	if err == nil {
		err = w.putNewKey(ctx, key)
	}
	w.stats.Next++
	w.stats.Tip = tip
	return err
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

// emptyLog makes a segment of the log when that is long. What is gathered comes into
// it later, so that all that is deleted was there before.
func (w *Writer) emptyLog(ctx context.Context) error {
	if w.stats.Documents == 0 {
		return w.dropAll(ctx)
	}
	if w.stats.Next-w.stats.First < directDocs {
		return nil
	}
	return w.takeLog(ctx)
}

// dropAll begins the index afresh, which has no document any longer.
func (w *Writer) dropAll(ctx context.Context) error {
	if _, err := w.readLog(ctx); err != nil {
		return err
	}
	if err := w.wantList(ctx); err != nil {
		return err
	}
	for _, m := range w.list.Merges {
		w.list.Trash = append(w.list.Trash, m.Output.ID)
	}
	w.list.Merges = nil
	for len(w.list.Segments) > 0 {
		w.drop(w.list.Segments[0].ID)
	}
	clear(w.touched)
	return nil
}

func (w *Writer) takeLog(ctx context.Context) error {
	m, err := w.readLog(ctx)
	if err != nil || m.live() == 0 {
		return err
	}
	seg, err := m.write(ctx, w.shelf, newID(), w.group)
	if err != nil {
		return err
	}
	return w.addSegment(ctx, seg)
}

// readLog returns what the log holds but for what goes, and begins an empty one.
func (w *Writer) readLog(ctx context.Context) (*memory, error) {
	m, keys := newMemory(), map[string]bool{}
	err := w.shelf.operations(ctx, w.stats.First, w.stats.Next, func(op *operation) {
		keys[op.Key] = true
		if op.remove {
			m.drop(op.Key)
			return
		}
		m.add(&op.Document)
	})
	if err != nil {
		return nil, err
	}
	for _, key := range w.removed {
		m.drop(key)
	}
	w.removed = w.removed[:0]
	clear(w.going)
	for n := w.stats.First; n < w.stats.Next; n++ {
		w.later = append(w.later, bytes.Clone(w.shelf.logKey(n)))
	}
	for key := range keys {
		if _, again := w.mem.at[key]; !again {
			w.later = append(w.later, bytes.Clone(w.shelf.newKey(key)))
		}
	}
	w.stats.First = w.stats.Next
	return m, nil
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
