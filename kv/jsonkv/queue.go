package jsonkv

import (
	"bytes"
	"context"
	"sync"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/frozen"
)

// queue holds the writes that were decided upon and are not yet on the disk. While
// one batch of them is being written, the next gathers.
type queue struct {
	mu    sync.Mutex
	next  *state // with all writes of the queue
	batch *batch // that gathers
}

// batch is the writes that go to the disk together. Those who made them wait for it.
type batch struct {
	dirty map[string]bool // documents

	// Guarded by Store.writing.
	done bool
	err  error
}

// reset empties the queue, and returns the batch that gathered, if there is one.
func (q *queue) reset(current *state) *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	dropped := q.batch
	q.next, q.batch = current, &batch{dirty: map[string]bool{}}
	return dropped
}

// begin returns the state on which a write decides, and the batch of which that is.
func (q *queue) begin() (*state, *batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.next, q.batch
}

// take returns what has gathered, and lets the next batch gather.
func (q *queue) take() (*state, *batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.batch
	q.batch = &batch{dirty: map[string]bool{}}
	return q.next, taken
}

// add puts changes, which were decided upon in state base, into the batch that
// gathers. It fails when the queue was reset, since what base held could not be
// written; nothing else comes between begin and add, for there is the turn.
func (q *queue) add(base *state, changes []kv.Change) (b *batch, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.next != base {
		return nil, false
	}
	next := *base
	for _, c := range changes {
		at, name := frozen.Place(c.Column, c.Key), documentOf(c.Column, c.Key)
		was, existed := next.entries.Get(at)
		switch {
		case c.Delete && existed:
			next.delete(name, at)
		case !c.Delete && !(existed && bytes.Equal(was, c.Value)):
			next.put(name, at, c.Value)
		default:
			continue
		}
		q.batch.dirty[name] = true
	}
	q.next = &next
	return q.batch, true
}

// write lets decide make up its mind about what is to be written, over the store as
// it is with all writes before, and waits until that is on the disk.
func (s *Store) write(ctx context.Context, decide func(now *frozen.Snapshot) ([]kv.Change, error)) error {
	if err := s.gate.Check(ctx); err != nil {
		return err
	}
	if s.opts.ReadOnly {
		return kv.ErrReadOnly
	}
	if err := s.turn.Take(ctx, &s.gate); err != nil {
		return err
	}
	b, leave, err := s.enqueue(ctx, decide)
	if err != nil {
		return err
	}
	defer leave()
	return s.flush(b)
}

// enqueue has the turn, and passes it on.
func (s *Store) enqueue(ctx context.Context, decide func(now *frozen.Snapshot) ([]kv.Change, error)) (b *batch, leave func(), err error) {
	defer s.turn.Pass() // also when decide panics
	base, of := s.queue.begin()
	changes, err := decide(s.of(base))
	if err != nil {
		return nil, nil, err
	}
	for _, c := range changes {
		if err := kv.CheckValue(c.Value, MaxValueSize); err != nil {
			return nil, nil, err
		}
	}
	if leave, err = s.gate.Call(ctx); err != nil {
		return nil, nil, err
	}
	b, ok := s.queue.add(base, changes)
	if !ok {
		leave()
		return nil, nil, s.flush(of)
	}
	return b, leave, nil
}

// flush writes the batch that gathers, unless b, which one waits for, has been
// written meanwhile. What could not be written takes with it all that was decided
// upon after it.
func (s *Store) flush(b *batch) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if b.done {
		return b.err
	}
	next, b := s.queue.take()
	b.err, b.done = s.writer.write(next, b.dirty), true
	if b.err == nil {
		s.current.Store(next)
		return nil
	}
	after := s.queue.reset(s.current.Load())
	after.err, after.done = b.err, true
	return b.err
}
