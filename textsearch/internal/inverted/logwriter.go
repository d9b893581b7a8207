package inverted

import (
	"bytes"
	"context"
)

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
	w.giveUpMerges()
	for len(w.list.Segments) > 0 {
		w.drop(w.list.Segments[0].ID)
	}
	clear(w.touched)
	return nil
}

func (w *Writer) takeLog(ctx context.Context) error {
	m, err := w.readLog(ctx)
	if err != nil {
		return err
	}
	return w.writeMemory(ctx, m)
}

// readLog returns what the log holds but for what goes, and begins an empty one.
func (w *Writer) readLog(ctx context.Context) (*memory, error) {
	m, keys := newMemory(), map[string]bool{}
	m.reserve(int(min(w.stats.Next-w.stats.First, directDocs)) * 32)
	err := w.shelf.eachOperation(ctx, w.stats.First, w.stats.Next, func(value []byte) error {
		op, err := readHead(value)
		if err != nil {
			return err
		}
		keys[op.Key] = true
		if op.remove {
			m.drop(op.Key)
			return nil
		}
		return m.addOperation(&op)
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
