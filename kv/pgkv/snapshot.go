package pgkv

import (
	"context"
	"iter"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/crabstore/crabstore/kv"
)

// snapshot is a transaction that holds a connection while the caller's code runs. It
// reads the table as it was when it began.
type snapshot struct {
	table *table
	turn  chan struct{} // holds a token while the connection is used: it is for one at a time

	mu     sync.Mutex // guards failed, which is asked for while others may read
	failed error      // what broke the transaction: a *fault, or the caller's error
	conn   *pgxpool.Conn
}

// hold waits for a connection that may be held and begins a transaction on it.
func (t *table) hold(ctx context.Context, how string) (*snapshot, error) {
	const advice = "every connection that transactions and long scans may hold is held; " +
		"nest them less, or raise pool_max_conns in the address of the database"
	if err := t.take(ctx, t.slots, t.wait, advice); err != nil {
		return nil, err
	}
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		<-t.slots
		return nil, t.failure(ctx, nil, err)
	}
	s := &snapshot{table: t, turn: make(chan struct{}, 1), conn: conn}
	if err := t.failure(ctx, conn.Conn(), begin(ctx, conn.Conn(), how)); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// holdToRead is hold for what reads alone.
func (t *table) holdToRead(ctx context.Context) (s *snapshot, err error) {
	err = t.retry(ctx, func() error {
		s, err = t.hold(ctx, beginRead+freeze)
		return err
	})
	return s, err
}

// end ends the transaction and gives the connection back. It waits for a read that
// another goroutine has under way.
func (s *snapshot) end() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	release(s.conn)
	s.conn = nil
	<-s.table.slots
}

// failure returns what broke the transaction.
func (s *snapshot) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// fail notes what broke the transaction and returns what the caller gets of it.
func (s *snapshot) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	if f, ok := err.(*fault); ok {
		return s.table.tell(f)
	}
	return err
}

// use runs a step on the connection when nobody else does.
func (s *snapshot) use(ctx context.Context, step func(*pgx.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.conn == nil {
		return kv.ErrClosed
	}
	if err := s.failure(); err != nil {
		return s.fail(err)
	}
	conn := s.conn.Conn()
	if err := s.table.failure(ctx, conn, step(conn)); err != nil {
		return s.fail(err)
	}
	return nil
}

// Get returns the value of a key.
func (s *snapshot) Get(ctx context.Context, col kv.Column, key []byte) (value []byte, err error) {
	err = s.use(ctx, func(conn *pgx.Conn) (err error) {
		value, err = s.table.get(ctx, conn, col, key)
		return err
	})
	return found(value, err)
}

// ScanRange yields the entries of a range.
func (s *snapshot) ScanRange(ctx context.Context, col kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) { s.scan(ctx, spanOf(col, r), yield) }
}

// commit makes changes part of the store.
func (s *snapshot) commit(ctx context.Context, changes []kv.Change) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	_, err := s.table.send(ctx, s.conn.Conn(), "", changes)
	return err
}
