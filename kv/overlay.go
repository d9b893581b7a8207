package kv

import (
	"context"
	"errors"
	"iter"
	"sync"
)

// Overlay is a store whose writes are held in memory above another store, which
// it reads and never writes: a transaction in the making. Update uses it for a
// store that has no transactions, and adapters use it to build theirs. It keeps
// the promises of KVStorage as far as the store below does.
//
// Update on an Overlay joins it, since the overlay is the transaction.
type Overlay struct {
	base     KVStorage
	inPieces bool // it will be applied one by one: not atomic

	mu      sync.Mutex
	closed  bool
	pending map[string]*Change // by column byte and key
	order   []*Change          // in the order in which the keys were first touched
	sorted  []*Change          // the first so many of order, by column and key
}

// Change is what an Overlay holds for one key: the last write to it.
type Change struct {
	Column Column
	Key    []byte
	Value  []byte // never nil for a put
	Delete bool
}

// NewOverlay returns an empty overlay above base.
func NewOverlay(base KVStorage) *Overlay {
	return &Overlay{base: base, pending: map[string]*Change{}}
}

// newOverlayInPieces is the transaction of a store that has none.
func newOverlayInPieces(base KVStorage) *Overlay {
	o := NewOverlay(base)
	o.inPieces = true
	return o
}

// Changes returns the held writes, one a key, in the order in which the keys
// were first touched. The slices are shared with the overlay: read them only.
func (o *Overlay) Changes() []Change {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]Change, len(o.order))
	for i, c := range o.order {
		out[i] = *c
	}
	return out
}

// Cache returns the cache of the store below.
func (o *Overlay) Cache() *Cache { return CacheOf(o.base) }

// Apply makes the held writes on s, one by one, in order.
func (o *Overlay) Apply(ctx context.Context, s KVStorage) error {
	for _, c := range o.Changes() {
		if c.Delete {
			if _, err := s.Delete(ctx, c.Column, c.Key); err != nil {
				return err
			}
		} else if err := s.Put(ctx, c.Column, c.Key, c.Value); err != nil {
			return err
		}
	}
	return nil
}

// Close makes every later call return ErrClosed. The store below stays open.
func (o *Overlay) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return nil
}

// Atomic is false for the transaction of a store that has none, and makes its
// writes one by one.
func (o *Overlay) Atomic() bool { return !o.inPieces }

// Realm returns the realm of the store below.
func (o *Overlay) Realm() string { return RealmOf(o.base) }

// Update calls fn with o: a transaction inside a transaction joins it.
func (o *Overlay) Update(ctx context.Context, fn func(tx KVStorage) error) error {
	if err := o.ready(ctx); err != nil {
		return err
	}
	return fn(o)
}

// View calls fn with o, through which it cannot write.
func (o *Overlay) View(ctx context.Context, fn func(tx KVStorage) error) error {
	if err := o.ready(ctx); err != nil {
		return err
	}
	return fn(&readOnly{o})
}

func (o *Overlay) ready(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.readyLocked(ctx)
}

func (o *Overlay) readyLocked(ctx context.Context) error {
	if o.closed {
		return ErrClosed
	}
	return ctx.Err()
}

// Get returns what the overlay holds, else what the store below does.
func (o *Overlay) Get(ctx context.Context, col Column, key []byte) ([]byte, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	c, err := o.find(ctx, col, key)
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return o.base.Get(ctx, col, key)
	case c.Delete:
		return nil, ErrNotFound
	}
	return append([]byte{}, c.Value...), nil
}

// find returns a copy of the change held for a key, or nil.
func (o *Overlay) find(ctx context.Context, col Column, key []byte) (*Change, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.readyLocked(ctx); err != nil {
		return nil, err
	}
	if c := o.pending[pendingKey(col, key)]; c != nil {
		held := *c
		return &held, nil
	}
	return nil, nil
}

// Put holds a write.
func (o *Overlay) Put(ctx context.Context, col Column, key, value []byte) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if err := CheckValue(value, MaxValueSize); err != nil {
		return err
	}
	_, err := o.hold(ctx, Change{Column: col, Key: key, Value: append([]byte{}, value...)})
	return err
}

// Delete holds a deletion.
func (o *Overlay) Delete(ctx context.Context, col Column, key []byte) (bool, error) {
	switch _, err := o.Get(ctx, col, key); {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	was, err := o.hold(ctx, Change{Column: col, Key: key, Delete: true})
	return err == nil && !was.Delete, err // another goroutine may have been faster
}

// hold takes a change for its key in place of what it held, which it returns.
func (o *Overlay) hold(ctx context.Context, c Change) (was Change, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.readyLocked(ctx); err != nil {
		return Change{}, err
	}
	id := pendingKey(c.Column, c.Key)
	if held := o.pending[id]; held != nil {
		was = *held
		held.Value, held.Delete = c.Value, c.Delete
		return was, nil
	}
	c.Key = []byte(id[1:])
	o.pending[id] = &c
	o.order = append(o.order, &c)
	return Change{}, nil
}

func pendingKey(col Column, key []byte) string {
	b := make([]byte, 0, 1+len(key))
	return string(append(append(b, byte(col)), key...))
}

// ScanKeys scans keys of the store below with the held writes over them.
func (o *Overlay) ScanKeys(ctx context.Context, col Column, prefix []byte) iter.Seq2[[]byte, error] {
	return KeysOf(o.ScanRange(ctx, col, Range{Prefix: prefix, KeysOnly: true}))
}

// Scan scans the store below with the held writes over it.
func (o *Overlay) Scan(ctx context.Context, col Column, prefix []byte) iter.Seq2[Entry, error] {
	return o.ScanRange(ctx, col, Range{Prefix: prefix})
}
