package pebblekv

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/gate"
)

// reader is the reading half of a kv.KVStorage: of the store as it goes, or of a
// snapshot of it. It is a kv.Snapshot.
type reader struct {
	from  pebble.Reader
	gate  *gate.Gate // keeps from open
	store *Store
}

// place is where a key lies in the database: behind the byte of its column.
func place(col kv.Column, key []byte) []byte {
	return append(append(make([]byte, 0, 1+len(key)), byte(col)), key...)
}

// Get returns a copy of the value of a key.
func (r *reader) Get(ctx context.Context, col kv.Column, key []byte) (value []byte, err error) {
	err = r.peek(ctx, col, key, func(stored []byte) { value = append([]byte{}, stored...) })
	return value, err
}

// has tells whether there is a key.
func (r *reader) has(ctx context.Context, col kv.Column, key []byte) (bool, error) {
	err := r.peek(ctx, col, key, func([]byte) {})
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// peek calls use with the value of a key, which is pebble's.
func (r *reader) peek(ctx context.Context, col kv.Column, key []byte, use func(stored []byte)) error {
	if err := kv.CheckKey(key); err != nil {
		return err
	}
	if err := r.store.gate.Check(ctx); err != nil {
		return err
	}
	leave, err := r.gate.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	stored, closer, err := r.from.Get(place(col, key))
	if err != nil {
		return translate(err)
	}
	use(stored)
	return translate(closer.Close())
}

// ScanKeys yields the keys that begin with prefix.
func (r *reader) ScanKeys(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[[]byte, error] {
	return kv.KeysOf(r.ScanRange(ctx, col, kv.Range{Prefix: prefix, KeysOnly: true}))
}

// Scan yields the entries whose keys begin with prefix.
func (r *reader) Scan(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return r.ScanRange(ctx, col, kv.Range{Prefix: prefix})
}

// ScanRange yields the entries of a range as they are when the iteration begins.
func (r *reader) ScanRange(ctx context.Context, col kv.Column, rng kv.Range) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		if err := r.scan(ctx, col, rng, yield); err != nil {
			yield(kv.Entry{}, err)
		}
	}
}

// scan is ScanRange but for the error that ends it.
func (r *reader) scan(ctx context.Context, col kv.Column, rng kv.Range, yield func(kv.Entry, error) bool) error {
	if err := r.store.gate.Check(ctx); err != nil {
		return err
	}
	leave, err := r.gate.Hold(ctx)
	if err != nil {
		return err
	}
	defer leave()
	it, err := r.from.NewIter(bounds(col, rng))
	if err != nil {
		return translate(err)
	}
	defer it.Close() // its error is that of Error, or of a value that was yielded
	return r.walk(ctx, it, rng, yield)
}

// bounds returns the limits of a range in the database.
func bounds(col kv.Column, rng kv.Range) *pebble.IterOptions {
	prefix := place(col, rng.Prefix)
	o := &pebble.IterOptions{LowerBound: prefix, UpperBound: kv.PrefixEnd(prefix)}
	if rng.After == nil {
		return o
	}
	after := place(col, rng.After)
	if !rng.Reverse {
		after = append(after, 0) // the least key that is greater
		if bytes.Compare(after, o.LowerBound) > 0 {
			o.LowerBound = after
		}
	} else if o.UpperBound == nil || bytes.Compare(after, o.UpperBound) < 0 {
		o.UpperBound = after
	}
	return o
}

// walk yields what lies between the bounds of an iterator.
func (r *reader) walk(ctx context.Context, it *pebble.Iterator, rng kv.Range, yield func(kv.Entry, error) bool) error {
	const pace = 16 // so many entries are yielded before an end of ctx is noticed
	first, next := it.First, it.Next
	if rng.Reverse {
		first, next = it.Last, it.Prev
	}
	var own chunks
	for n, ok := 1, first(); ok; n, ok = n+1, next() {
		if n%pace == 0 {
			if err := r.store.gate.Check(ctx); err != nil {
				return err
			}
		}
		e := kv.Entry{Key: own.copy(it.Key()[1:])}
		if !rng.KeysOnly {
			value, err := it.ValueAndErr()
			if err != nil {
				return translate(err)
			}
			e.Value = own.copy(value)
		}
		if !yield(e, nil) {
			return nil
		}
	}
	return translate(it.Error())
}

// chunks makes copies that belong to who gets them, many from one allocation.
type chunks struct {
	free []byte
	size int
}

// copy returns a copy of b, never nil, which cannot grow into another one.
func (c *chunks) copy(b []byte) []byte {
	const smallest, largest = 512, 16 << 10
	if len(b) > largest/8 {
		return append(make([]byte, 0, len(b)), b...)
	}
	if c.free == nil || len(b) > len(c.free) {
		c.size = max(smallest, len(b), min(2*c.size, largest))
		c.free = make([]byte, c.size)
	}
	out := c.free[:len(b):len(b)]
	copy(out, b)
	c.free = c.free[len(b):]
	return out
}
