package crabdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
)

// Fault is something in a file that is not as it should be.
type Fault struct {
	Offset int64
	Length int64  // of the stretch that it spoils, if known
	Column int    // the column that the spoiled record names, -1 if there is none
	What   string // in words
}

func (f Fault) String() string {
	where := fmt.Sprintf("offset %d", f.Offset)
	if f.Length > 0 {
		where = fmt.Sprintf("%s, %d bytes", where, f.Length)
	}
	if f.Column >= 0 {
		where = fmt.Sprintf("%s, column %d", where, f.Column)
	}
	return where + ": " + f.What
}

// Check walks the file from its first record to its last, rebuilds the index from
// them alone, and compares that with the index in use. It returns every fault that
// it finds; an error is one of reading the file. Reads and writes go on meanwhile.
// In a plain file only such damage can be found as breaks the chain of records.
func (db *DB) Check(ctx context.Context) ([]Fault, error) {
	s, err := db.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer s.log.release()
	c := &checker{snapshot: s}
	if err := c.checkLength(); err != nil {
		return nil, err
	}
	if err := c.checkHeader(db); err != nil {
		return nil, err
	}
	if err := c.rebuild(ctx); err != nil {
		return nil, err
	}
	if err := c.compare(ctx); err != nil {
		return nil, err
	}
	return c.faults, nil
}

type checker struct {
	*snapshot
	size   int64 // of what is checked of the file
	head   header
	tree   *packtree.Tree // rebuilt from the records
	faults []Fault
}

func (c *checker) add(offset, length int64, column int, format string, args ...any) {
	c.faults = append(c.faults, Fault{offset, length, column, fmt.Sprintf(format, args...)})
}

// checkLength looks whether the file is as long as it was when it was read: then
// it was cut since.
func (c *checker) checkLength() error {
	info, err := c.log.file.Stat()
	if err != nil {
		return fmt.Errorf("check %s: %w", c.log.path, err)
	}
	c.size = min(c.end, info.Size())
	if c.size < c.end {
		c.add(c.size, c.end-c.size, -1, "the file ends here: it was cut while it was open")
	}
	return nil
}

// checkHeader checks the header and the snapshot that it names. A checkpoint may
// have been made since the check began; the place that it names is not looked at.
func (c *checker) checkHeader(db *DB) error {
	head, err := db.readHeader(c.log.file)
	switch {
	case err != nil && !errors.Is(err, ErrNotStore) && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrCorrupt):
		return err
	case err != nil:
		c.add(0, headerSize, -1, "the header cannot be read: %v", err)
		head = header{sealed: c.log.sealed, damaged: true}
	case head.damaged:
		c.add(0, headerSize, -1, "the header is damaged")
	}
	c.head = head
	if !head.damaged && head.watermark() > c.size && c.size == c.end && !db.opts.Salvage {
		c.head = header{sealed: head.sealed}
		return nil
	}
	l := &loader{walker: walker{log: c.log, size: c.size}, head: head, salvage: true}
	if err := l.loadSnapshot(); err != nil {
		return err
	}
	if l.recovery.Distrust != "" && !head.damaged {
		c.add(head.indexAt, head.indexLen, -1, "the index snapshot cannot be used: %s", l.recovery.Distrust)
	}
	for _, span := range l.recovery.Lost {
		c.add(span.Offset, span.Length, -1, "%s", span.Reason)
	}
	return nil
}

// rebuild replays the whole log into a tree of its own, passing over what is no
// record.
func (c *checker) rebuild(ctx context.Context) error {
	l := &loader{
		ctx: ctx, walker: walker{log: c.log, size: c.size}, head: c.head, salvage: true,
		tree: packtree.New(), upTo: headerSize,
	}
	if err := l.replay(); err != nil {
		return err
	}
	for _, span := range l.recovery.Lost {
		column := -1
		if b, err := l.peek(span.Offset, int(min(2, c.size-span.Offset))); err == nil && len(b) == 2 && b[0] <= opDelete {
			column = int(b[1])
		}
		c.add(span.Offset, span.Length, column, "%s", span.Reason)
	}
	c.tree = l.tree
	return nil
}

// compare walks the index in use and the rebuilt one side by side.
func (c *checker) compare(ctx context.Context) error {
	used, inUse := first(c.view)
	found, inFile := first(c.tree.View())
	for inUse || inFile {
		if err := ctx.Err(); err != nil {
			return err
		}
		order := order(used, inUse, found, inFile)
		switch {
		case order < 0:
			c.differ(used, "the index has the key %.80q, and the records do not")
		case order > 0:
			c.differ(found, "the records have the key %.80q, and the index does not")
		case location(used.Value()).offset() != location(found.Value()).offset():
			c.differ(found, "the index has another record for the key %.80q")
		}
		if order <= 0 {
			inUse = used.Next()
		}
		if order >= 0 {
			inFile = found.Next()
		}
	}
	return nil
}

func (c *checker) differ(at *packtree.Cursor, format string) {
	id := at.Key()
	c.add(location(at.Value()).offset(), 0, int(id[0]), format, id[1:])
}

// order compares the keys of two cursors, of which one may have ended.
func order(a *packtree.Cursor, aOK bool, b *packtree.Cursor, bOK bool) int {
	switch {
	case !aOK:
		return 1
	case !bOK:
		return -1
	}
	return bytes.Compare(a.Key(), b.Key())
}
