// Package migrate makes one store hold what another one does, and shows that it does.
//
// A copy walks both stores in order and writes what differs, so one that was cut
// short is gone on with by copying again, and what the source was given meanwhile
// comes along. Until it is known to be whole the copy has a mark, which keeps other
// programs from taking it for a store.
package migrate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"iter"

	"github.com/crabstore/crabstore/kv"
)

// Sum is what a store holds: how many entries, of how many bytes, and the SHA-256 of
// them all in order, each as column, length of key, key, length of value, value.
type Sum struct {
	Entries int64
	Bytes   int64 // of keys and values
	Digest  [sha256.Size]byte
}

// summing makes a Sum.
type summing struct {
	sum  Sum
	hash hash.Hash
	head []byte
}

func newSumming() *summing { return &summing{hash: sha256.New()} }

func (s *summing) add(col kv.Column, e kv.Entry) {
	s.sum.Entries++
	s.sum.Bytes += int64(len(e.Key) + len(e.Value))
	s.head = append(s.head[:0], byte(col))
	s.head = binary.LittleEndian.AppendUint32(s.head, uint32(len(e.Key)))
	s.hash.Write(append(s.head, e.Key...))
	s.head = binary.LittleEndian.AppendUint32(s.head[:0], uint32(len(e.Value)))
	s.hash.Write(s.head)
	s.hash.Write(e.Value)
}

func (s *summing) end() Sum {
	s.hash.Sum(s.sum.Digest[:0])
	return s.sum
}

// SumOf reads a whole store, as it is at one moment and but for its mark. tell is
// called with how many entries were read, now and then, and may be nil.
func SumOf(ctx context.Context, s kv.KVStorage, tell func(entries int64)) (sum Sum, err error) {
	err = kv.View(ctx, s, func(tx kv.KVStorage) error {
		of := newSumming()
		for col := range kv.EveryColumn() {
			for e, err := range unmarked(ctx, tx, col) {
				if err != nil {
					return err
				}
				of.add(col, e)
				telling(tell, of.sum.Entries)
			}
		}
		sum = of.end()
		return nil
	})
	return sum, err
}

// telling tells of every thousandth.
func telling(tell func(int64), n int64) {
	if tell != nil && n%1000 == 0 {
		tell(n)
	}
}

// The size at which Copy commits.
const (
	batchKeys  = 5000
	batchBytes = 8 << 20
)

// Copy makes one store hold what another holds at one moment, and returns what that
// is. What is the same in both is not written again; what the source has not is
// deleted. An entry that the target does not take ends it with an error that names
// it; what was copied before that stays.
func Copy(ctx context.Context, from, to kv.KVStorage, tell func(entries int64)) (sum Sum, err error) {
	err = kv.View(ctx, from, func(tx kv.KVStorage) error {
		c := &copying{ctx: ctx, to: to, sum: newSumming(), tell: tell}
		for col := range kv.EveryColumn() {
			if err := c.column(tx, col); err != nil {
				return err
			}
		}
		sum = c.sum.end()
		return c.flush()
	})
	return sum, err
}

type copying struct {
	ctx   context.Context
	to    kv.KVStorage
	sum   *summing
	tell  func(int64)
	batch []kv.Change
	size  int
}

// column walks a column of both stores side by side.
func (c *copying) column(from kv.KVStorage, col kv.Column) error {
	next, stop := iter.Pull2(unmarked(c.ctx, c.to, col))
	defer stop()
	there, err, more := next()
	surplus := func(before []byte) error { // deletes what the target has before a key; nil: all that is left
		for ; more && (before == nil || bytes.Compare(there.Key, before) < 0); there, err, more = next() {
			if err != nil {
				return fmt.Errorf("read the target: %w", err)
			}
			if err := c.write(kv.Change{Column: col, Key: there.Key, Delete: true}); err != nil {
				return err
			}
		}
		return nil
	}
	for e, err := range from.Scan(c.ctx, col, nil) {
		if err != nil {
			return fmt.Errorf("read the source: %w", err)
		}
		c.sum.add(col, e)
		telling(c.tell, c.sum.sum.Entries)
		if err := surplus(e.Key); err != nil {
			return err
		}
		if more && bytes.Equal(there.Key, e.Key) {
			same := bytes.Equal(there.Value, e.Value)
			if there, err, more = next(); err != nil {
				return fmt.Errorf("read the target: %w", err)
			}
			if same {
				continue
			}
		}
		if err := c.write(kv.Change{Column: col, Key: e.Key, Value: e.Value}); err != nil {
			return err
		}
	}
	if err != nil {
		return fmt.Errorf("read the target: %w", err)
	}
	return surplus(nil)
}

func (c *copying) write(change kv.Change) error {
	c.batch = append(c.batch, change)
	c.size += len(change.Key) + len(change.Value)
	if len(c.batch) < batchKeys && c.size < batchBytes {
		return nil
	}
	return c.flush()
}

func (c *copying) flush() error {
	if len(c.batch) == 0 {
		return nil
	}
	err := kv.Update(c.ctx, c.to, func(tx kv.KVStorage) error {
		for _, change := range c.batch {
			if err := apply(c.ctx, tx, change); err != nil {
				return fmt.Errorf("write column %d, key %.200q: %w", change.Column, change.Key, err)
			}
		}
		return nil
	})
	c.batch, c.size = c.batch[:0], 0
	return err
}

func apply(ctx context.Context, tx kv.KVStorage, change kv.Change) error {
	if change.Delete {
		_, err := tx.Delete(ctx, change.Column, change.Key)
		return err
	}
	return tx.Put(ctx, change.Column, change.Key, change.Value)
}

// Mark is what stands in a store into which a migration is not finished.
type Mark struct {
	From string `json:"from"` // where the source lies
}

func markKey(s kv.KVStorage) []byte { return kv.Key(s, "migration") }

// Marked returns the mark of a store, or kv.ErrNotFound.
func Marked(ctx context.Context, s kv.KVStorage) (Mark, error) {
	return kv.Load[Mark](ctx, s, kv.Config, markKey(s))
}

// Begin puts a mark into an empty store. One with the same mark is gone on with, and
// so is one without a mark where the place says that it is a copy: its migration ended
// before it was moved away. Any other store that holds something is ErrNotEmpty, and
// not touched.
func Begin(ctx context.Context, s kv.KVStorage, m Mark, isCopy bool) error {
	switch was, err := Marked(ctx, s); {
	case err == nil && was == m:
		return nil
	case err == nil:
		return fmt.Errorf("%w: it holds part of a copy of %s", ErrNotEmpty, was.From)
	case !errors.Is(err, kv.ErrNotFound):
		return err
	}
	switch col, key, err := kv.First(ctx, s); {
	case err == nil && !isCopy:
		return fmt.Errorf("%w: column %d, key %.80q", ErrNotEmpty, col, key)
	case err != nil && !errors.Is(err, kv.ErrNotFound):
		return err
	}
	return kv.Store(ctx, s, kv.Config, markKey(s), m)
}

// End takes the mark away.
func End(ctx context.Context, s kv.KVStorage) error {
	_, err := s.Delete(ctx, kv.Config, markKey(s))
	return err
}

// ErrNotEmpty is returned for a target that holds something which is no part of this
// migration.
var ErrNotEmpty = errors.New("the target is not empty")

// unmarked scans a column, but for the mark.
func unmarked(ctx context.Context, s kv.KVStorage, col kv.Column) iter.Seq2[kv.Entry, error] {
	all := s.Scan(ctx, col, nil)
	if col != kv.Config {
		return all
	}
	mark := markKey(s)
	return func(yield func(kv.Entry, error) bool) {
		for e, err := range all {
			if err == nil && bytes.Equal(e.Key, mark) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
