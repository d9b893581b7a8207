package inverted

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/crabstore/crabstore/kv"
)

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
	hash := filterHash([]byte(key))
	for i, seg := range segs {
		may, err := w.filters[i].mayHave(ctx, seg, hash)
		if err != nil {
			return 0, false, err
		}
		if !may {
			continue
		}
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
