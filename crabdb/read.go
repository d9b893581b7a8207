package crabdb

import (
	"bytes"
	"context"
	"iter"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
)

// Entry is a key and its value, as scans yield them. Both are the caller's, but for
// those of a Range that lends, which must not be changed. Value is nil in a scan of
// keys only.
type Entry struct {
	Key   []byte
	Value []byte
}

// Range says what a scan yields.
type Range struct {
	Prefix   []byte // only keys that begin with it
	After    []byte // only keys behind this one in the direction of the scan; nil for all
	Reverse  bool   // descending
	KeysOnly bool   // leave Entry.Value nil, and read nothing of the file
	Lend     bool   // lend keys and values until the loop's body returns, without a copy of each
}

// Scan yields the entries of a range of a column, in the order of their bytes, as
// the store was when the iteration began. The loop body may do anything, writing
// to the store and closing it included; no lock is held while it runs. At most
// one error is yielded, and ends the scan; ErrClosed is one.
func (db *DB) Scan(ctx context.Context, col byte, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s, err := db.acquire(ctx)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer s.log.release()
		s.scan(ctx, db.isClosed, col, r, yield)
	}
}

// AppendValue appends the value of a key to b and returns the extended slice, or
// returns b as it is and ErrNotFound or another error. With room for the value, its
// key and 14 bytes more behind len(b), which it may write to, it allocates nothing.
func (db *DB) AppendValue(ctx context.Context, col byte, key, b []byte) ([]byte, error) {
	log, at, ok, err := db.lookUp(ctx, col, key)
	if err != nil {
		return b, err
	}
	defer log.release()
	if !ok {
		return b, ErrNotFound
	}
	return log.appendValue(b, col, key, at)
}

// value reads the value of a key that the view has at a place.
func (s *snapshot) value(col byte, key []byte, at location) ([]byte, error) {
	if s.isPending(at) {
		return s.tx.pending(col, key, at)
	}
	r, err := s.log.record(col, key, at)
	return r.value, err
}

// valueIn is value for a scan.
func (s *snapshot) valueIn(v *valueReader, col byte, key []byte, at location) ([]byte, error) {
	if s.isPending(at) {
		return s.tx.pending(col, key, at)
	}
	return v.read(col, key, at)
}

// isPending tells whether a place is in what the transaction itself wrote.
func (s *snapshot) isPending(at location) bool { return s.tx != nil && at.offset() >= s.tx.start }

// scan yields a range of a column until it ends, yield says so, or stopped or the
// context gives an error.
func (s *snapshot) scan(ctx context.Context, stopped func() error, col byte, r Range, yield func(Entry, error) bool) {
	c := s.view.Cursor()
	prefix := treeKey(nil, col, r.Prefix)
	var keys carver
	values := valueReader{log: s.log, lend: r.Lend}
	for ok := seek(c, prefix, col, r); ok && bytes.HasPrefix(c.Key(), prefix); ok = step(c, r) {
		err := ctx.Err()
		if err == nil {
			err = stopped()
		}
		e := Entry{Key: c.Key()[1:]}
		if !r.Lend {
			e.Key = keys.copy(e.Key)
		}
		if err == nil && !r.KeysOnly {
			e.Value, err = s.valueIn(&values, col, e.Key, location(c.Value()))
		}
		if err != nil {
			yield(Entry{}, err)
			return
		}
		if !yield(e, nil) {
			return
		}
	}
}

// seek moves a cursor to the first entry of a range in the direction of the scan.
func seek(c *packtree.Cursor, prefix []byte, col byte, r Range) bool {
	after := treeKey(nil, col, r.After)
	switch {
	case !r.Reverse && (r.After == nil || bytes.Compare(after, prefix) < 0):
		return c.Seek(prefix)
	case !r.Reverse:
		return c.Seek(append(after, 0)) // the least key that is greater
	}
	end := prefixEnd(prefix)
	switch {
	case r.After != nil && (end == nil || bytes.Compare(after, end) < 0):
		return c.SeekBefore(after)
	case end != nil:
		return c.SeekBefore(end)
	}
	return c.SeekLast()
}

func step(c *packtree.Cursor, r Range) bool {
	if r.Reverse {
		return c.Prev()
	}
	return c.Next()
}

// prefixEnd returns the first key behind all that begin with prefix, or nil when
// the prefix is of 0xFF bytes alone.
func prefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			end := bytes.Clone(prefix[:i+1])
			end[i]++
			return end
		}
	}
	return nil
}
