package sqlitekv

import (
	"context"
	"database/sql/driver"
	"iter"
	"sync"

	"github.com/crabstore/crabstore/kv"
)

// Update runs fn as one transaction. It holds the lock for writing from the beginning,
// so that what it read stays so until it commits, and it never runs fn again.
func (s *Store) Update(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	leave, err := s.gate.Hold(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.inTurn(ctx, func(c *conn) error {
		err := s.patiently(ctx, func() error {
			_, err := c.exec(beginWriting)
			return err
		})
		if err != nil {
			return err
		}
		defer c.exec(rollback) // fails after a commit
		snap := &snapshot{store: s, conn: c}
		defer snap.end()
		changes, err := kv.Collect(ctx, s, snap, fn)
		if err != nil {
			return err
		}
		snap.end()
		return s.commit(ctx, c, changes)
	})
}

// commit makes the changes of a transaction, in the order of the table, and commits.
func (s *Store) commit(ctx context.Context, c *conn, changes []kv.Change) error {
	leave, err := s.gate.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if len(changes) == 0 {
		return nil
	}
	kv.SortChanges(changes)
	for _, change := range changes {
		var err error
		if change.Delete {
			_, err = c.delete(change.Column, change.Key)
		} else {
			err = c.put(change.Column, change.Key, change.Value)
		}
		if err != nil {
			return s.file.explain(err)
		}
	}
	_, err = c.exec(commit)
	return s.file.explain(err)
}

// View runs fn on the store as it is at one moment.
func (s *Store) View(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	leave, err := s.gate.Hold(ctx)
	if err != nil {
		return err
	}
	defer leave()
	snap, err := s.snapshot(ctx, (*snapshot).pin)
	if err != nil {
		return err
	}
	defer snap.release()
	return kv.ViewAt(ctx, s, snap, fn)
}

// snapshot is a transaction that reads, of SQLite's, as a kv.Snapshot. The connection
// is used by one goroutine at a time, and a page of entries at a time: no statement is
// open while the caller's code runs, so that none outlives the transaction.
type snapshot struct {
	store *Store
	mu    sync.Mutex
	conn  *conn // nil when the transaction has ended
	err   error // of the connection, the first one
}

// snapshot returns a snapshot of the store. SQLite takes it with the first read, which
// is first; it is repeated while another process is in the way.
func (s *Store) snapshot(ctx context.Context, first func(*snapshot) error) (snap *snapshot, err error) {
	err = s.patiently(ctx, func() error {
		c, err := s.readers.take()
		if err != nil {
			return err
		}
		snap = &snapshot{store: s, conn: c}
		if _, err = c.exec(begin); err == nil {
			err = first(snap)
		}
		if err != nil {
			s.readers.give(c, err)
		}
		return err
	})
	return snap, err
}

// use calls fn with the connection.
func (s *snapshot) use(fn func(*conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return kv.ErrClosed
	}
	err := fn(s.conn)
	if s.err == nil {
		s.err = err
	}
	return err
}

// pin makes SQLite take the snapshot.
func (s *snapshot) pin() error {
	return s.use(func(c *conn) error {
		return c.query(touch, func([]driver.Value) (bool, error) { return false, nil })
	})
}

// end ends the use of the connection and returns it, once.
func (s *snapshot) end() *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conn
	s.conn = nil
	return c
}

// release ends a transaction that read.
func (s *snapshot) release() {
	c := s.end()
	if s.err == nil {
		_, s.err = c.exec(rollback)
	}
	s.store.readers.give(c, s.err)
}

// Get returns the value of a key.
func (s *snapshot) Get(ctx context.Context, col kv.Column, key []byte) (value []byte, err error) {
	err = s.use(func(c *conn) (err error) {
		value, err = c.get(col, key)
		return err
	})
	if err != nil {
		return nil, s.store.file.explain(err)
	}
	if value == nil {
		return nil, kv.ErrNotFound
	}
	return value, nil
}

// ScanRange yields the entries of a range.
func (s *snapshot) ScanRange(ctx context.Context, col kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		sc := newScan(col, r)
		if err := sc.fetch(s); err != nil {
			yield(kv.Entry{}, s.store.file.explain(err))
			return
		}
		sc.yield(ctx, s, yield)
	}
}
