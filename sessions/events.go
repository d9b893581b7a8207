package sessions

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// AppendEvents adds events to a session's log and returns them as stored, with
// the sequences they got. They are to be published from what it returns, when it
// has returned: a number that a reader has seen never names another event.
func AppendEvents(ctx context.Context, s kv.KVStorage, handle string, events ...Event) ([]Event, error) {
	return commit(ctx, s, func(b *Batch) ([]Event, error) { return b.AppendEvents(ctx, handle, events...) })
}

// AppendEvents is the function of that name, in the batch. What it returns is to
// be published when the batch is committed.
func (b *Batch) AppendEvents(ctx context.Context, handle string, events ...Event) ([]Event, error) {
	d, err := b.open(ctx, handle)
	if err != nil {
		return nil, err
	}
	prefix := eventPrefix(b.tx, handle)
	present := time.Now()
	stored := make([]Event, 0, len(events))
	for _, e := range events {
		if e.At.IsZero() {
			e.At = present
		}
		e.clean()
		if err := e.validate(); err != nil {
			return nil, err
		}
		d.touch()
		d.now.LastSeq++
		e.Seq = d.now.LastSeq
		if err := kv.Store(ctx, b.tx, kv.Session, numbered(prefix, e.Seq), &e); err != nil {
			return nil, err
		}
		d.saw(e.At)
		stored = append(stored, e)
	}
	return stored, nil
}

// Events yields the events of a session behind the sequence after, in order, as
// they were when the iteration began; 0 means from the first. A sequence that the
// session has not reached is answered with ErrSeqAhead, and not with silence.
func Events(ctx context.Context, s kv.KVStorage, handle string, after int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		meta, err := loadMeta(ctx, s, handle)
		if err == nil && (after < 0 || after > meta.LastSeq) {
			err = fmt.Errorf("%w: after %d, and session %q is at %d: begin again from 0", ErrSeqAhead, after, handle, meta.LastSeq)
		}
		if err != nil {
			yield(Event{}, err)
			return
		}
		prefix := eventPrefix(s, handle)
		r := kv.Range{Prefix: prefix, After: numbered(prefix, after)} // sequence 0 is no event's
		for stored, err := range kv.ScanRange(ctx, s, kv.Session, r) {
			if err != nil {
				yield(Event{}, err)
				return
			}
			e, err := decodeEvent(prefix, stored)
			if e.Seq > meta.LastSeq {
				return // what an interrupted append left
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// decodeEvent reads a stored event. Beside kv.ErrCorrupt it returns one that has
// its sequence alone.
func decodeEvent(prefix []byte, stored kv.Entry) (Event, error) {
	seq, err := number(prefix, stored.Key)
	if err != nil {
		return Event{}, err
	}
	var e Event
	if err := kv.Unmarshal(stored.Value, &e); err != nil {
		return Event{Seq: seq}, fmt.Errorf("session %q: %w", stored.Key, err)
	}
	e.clean()
	e.Seq = seq
	return e, nil
}
