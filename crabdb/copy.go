package crabdb

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
)

// fresh is a file in the making that holds the live records of a store alone, in
// the order of their keys, and a snapshot behind them. Compaction and Backup write
// it. Since the index knows how long every record is, the whole layout is known
// before the first byte is written, and the file can go out as a stream, header
// first.
type fresh struct {
	layout
	from  *snapshot
	tree  *packtree.Tree
	live  int64
	head  header
	index []byte // the snapshot
}

// planFresh lays out a file with what a snapshot of a store holds.
func planFresh(s *snapshot) (*fresh, error) {
	f := &fresh{layout: s.log.layout, from: s}
	b := packtree.NewBuilder()
	at := int64(headerSize)
	for c, ok := first(s.view); ok; ok = c.Next() {
		size, err := s.log.sizeOf(len(c.Key())-1, location(c.Value()))
		if err != nil {
			return nil, err
		}
		if err := b.Add(c.Key(), uint64(locate(at, size))); err != nil {
			return nil, err
		}
		at += int64(size)
	}
	f.tree, f.live = b.Finish(), at-headerSize
	return f, f.planIndex(at)
}

// planIndex encodes the snapshot that will stand at an offset.
func (f *fresh) planIndex(at int64) error {
	b, err := f.encodeSnapshot(&snapshot{view: f.tree.View(), end: at, live: f.live})
	if err != nil {
		return err
	}
	f.index = f.placeSnapshot(b, at)
	f.head = header{sealed: f.sealed, indexAt: at, indexLen: int64(len(f.index))}
	return nil
}

// write writes the whole file. Every record is checked as it is read.
func (f *fresh) write(ctx context.Context, stopped func() error, to io.Writer) error {
	w := bufio.NewWriterSize(to, windowSize)
	if _, err := w.Write(f.head.encode()); err != nil {
		return err
	}
	at := int64(headerSize)
	var b []byte
	for c, ok := first(f.from.view); ok; ok = c.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := stopped(); err != nil {
			return err
		}
		id := c.Key()
		r, err := f.from.log.record(id[0], id[1:], location(c.Value()))
		if err != nil {
			return err
		}
		b = f.appendRecord(b[:0], at, opPut, id[0], r.key, r.value)
		if _, err := w.Write(b); err != nil {
			return err
		}
		at += int64(len(b))
	}
	if at != f.head.indexAt {
		return fmt.Errorf("%w: the live records of %s are %d bytes, and the index has them as %d", ErrCorrupt, f.from.log.path, at, f.head.indexAt)
	}
	if _, err := w.Write(f.index); err != nil {
		return err
	}
	return w.Flush()
}

// Backup writes a consistent copy of the store, as it is when Backup begins, to
// w: a compact store file of the same format, with its index. Reads and writes go
// on meanwhile.
func (db *DB) Backup(ctx context.Context, w io.Writer) error {
	s, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer s.log.release()
	f, err := planFresh(s)
	if err != nil {
		return err
	}
	return f.write(ctx, db.isClosed, w)
}
