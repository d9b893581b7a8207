package sessions

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/crabstore/crabstore/kv"
)

// Range says which messages are meant. Its zero value means all, in order.
type Range struct {
	From    int  // from this index on
	Before  int  // up to, and without, this index; 0 means to the end
	Limit   int  // at most so many; 0 means all
	Reverse bool // the last ones first
}

// Messages yields messages of a session in the order of their indices, history
// that Compact left behind included. It sees the session as it was when the
// iteration began.
//
// A message that cannot be decoded does not hide those behind it: it is yielded
// as an error that wraps kv.ErrCorrupt, with its Index, and the iteration goes on.
// Any other error ends it.
func Messages(ctx context.Context, s kv.KVStorage, handle string, r Range) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		meta, err := loadMeta(ctx, s, handle)
		if err != nil {
			yield(Message{}, err)
			return
		}
		if r.Before <= 0 || r.Before > meta.NextIndex {
			r.Before = meta.NextIndex // behind it lies only what an interrupted append left
		}
		yieldMessages(ctx, s, messagePrefix(s, handle), r, yield)
	}
}

// yieldMessages yields the messages of a range that has an end.
func yieldMessages(ctx context.Context, s kv.KVStorage, prefix []byte, r Range, yield func(Message, error) bool) {
	for e, err := range kv.ScanOn(ctx, s, kv.Session, r.keys(prefix)) {
		if err != nil && !errors.Is(err, kv.ErrCorrupt) {
			yield(Message{}, err)
			return
		}
		m, err := decodeMessage(prefix, e, err)
		if errors.Is(err, kv.ErrMalformedKey) {
			yield(m, err)
			return
		}
		if m.Index < r.From || m.Index >= r.Before {
			return
		}
		if !yield(m, err) {
			return
		}
		if r.Limit--; r.Limit == 0 {
			return
		}
	}
}

// keys returns the range as one of keys below prefix, open at its far end.
func (r Range) keys(prefix []byte) kv.Range {
	keys := kv.Range{Prefix: prefix, Reverse: r.Reverse}
	switch {
	case r.Reverse:
		keys.After = numbered(prefix, r.Before)
	case r.From > 0:
		keys.After = numbered(prefix, r.From-1)
	}
	return keys
}

// view reads s as it is at one moment, and returns what read does.
func view[T any](ctx context.Context, s kv.KVStorage, read func(s kv.KVStorage) (T, error)) (T, error) {
	var result, none T
	err := kv.View(ctx, s, func(s kv.KVStorage) (err error) {
		result, err = read(s)
		return err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// Get returns one message, or kv.ErrNotFound.
func Get(ctx context.Context, s kv.KVStorage, handle string, index int) (Message, error) {
	meta, err := loadMeta(ctx, s, handle)
	if err != nil {
		return Message{}, err
	}
	return getMessage(ctx, s, &meta, index)
}

// Get is the function of that name, in the batch.
func (b *Batch) Get(ctx context.Context, handle string, index int) (Message, error) {
	d, err := b.open(ctx, handle)
	if err != nil {
		return Message{}, err
	}
	return getMessage(ctx, b.tx, &d.now, index)
}

func getMessage(ctx context.Context, s kv.KVStorage, meta *Meta, index int) (Message, error) {
	absent := fmt.Errorf("message %d of session %q: %w", index, meta.Handle, kv.ErrNotFound)
	if index < 0 || index >= meta.NextIndex {
		return Message{}, absent
	}
	prefix := messagePrefix(s, meta.Handle)
	key := numbered(prefix, index)
	data, err := s.Get(ctx, kv.Session, key)
	if errors.Is(err, kv.ErrNotFound) {
		return Message{}, absent
	}
	if err != nil {
		return Message{}, err
	}
	return decodeMessage(prefix, kv.Entry{Key: key, Value: data}, nil)
}

// decodeMessage reads a stored message. Beside kv.ErrCorrupt it returns one that
// has its index alone. damage is why its value could not be read, if it could not.
func decodeMessage(prefix []byte, e kv.Entry, damage error) (Message, error) {
	index, err := number(prefix, e.Key)
	if err != nil {
		return Message{}, errors.Join(err, damage)
	}
	var m Message
	if damage == nil {
		damage = kv.Unmarshal(e.Value, &m)
	}
	if err := damage; err != nil {
		return Message{Index: index}, fmt.Errorf("session %q: %w", e.Key, err)
	}
	m.clean()
	m.Index = index
	return m, nil
}
