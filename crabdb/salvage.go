package crabdb

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
)

// guessHeader is for a file whose header cannot be read and that is to be
// salvaged: it is sealed if a sealed record is found in it, and plain otherwise.
func guessHeader(path string, file vfs.File) (header, error) {
	info, err := file.Stat()
	if err != nil {
		return header{}, fmt.Errorf("open %s: %w", path, err)
	}
	w := walker{log: newLogFile(path, file, true), size: info.Size()}
	at, err := w.resync(min(headerSize, w.size))
	if err != nil {
		return header{}, err
	}
	return header{sealed: at < w.size, damaged: true}, nil
}

// dropUnreadable takes from an index that a snapshot gave the keys whose records
// are damaged, so that what is left can be read. The snapshot is of more use than a
// replay would be: that would bring back what a damaged record had replaced.
func (l *loader) dropUnreadable() error {
	var ids [][]byte
	for c, ok := first(l.tree.View()); ok; ok = c.Next() {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		id, at := c.Key(), location(c.Value())
		_, err := l.log.record(id[0], id[1:], at)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
		if err != nil {
			ids = append(ids, bytes.Clone(id))
			l.lose(at, id)
		}
	}
	for _, id := range ids {
		l.tree.Delete(id)
	}
	slices.SortFunc(l.recovery.Lost, func(a, b Span) int { return cmp.Compare(a.Offset, b.Offset) })
	return nil
}

// lose notes that the record of a key is damaged.
func (l *loader) lose(at location, id []byte) {
	size := l.sizeOf(at, len(id)-1)
	l.live -= int64(size)
	l.recovery.Lost = append(l.recovery.Lost, Span{at.offset(), int64(size), fmt.Sprintf("the record of column %d key %.80q is damaged", id[0], id[1:])})
}
