package sqlitekv

import (
	"context"
	"fmt"
	"iter"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/gate"
)

// Options say how a store is opened. The zero value is right.
type Options struct {
	// Realm is what Realm returns. Empty means kv.DefaultRealm.
	Realm string

	// ReadOnly opens what is there without creating or changing anything but the
	// index of a log (-shm).
	ReadOnly bool

	// SyncWrites makes every write safe from a power loss before it returns, by a
	// sync of the log.
	SyncWrites bool
}

// Store is a store in one SQLite database.
type Store struct {
	file    file
	options Options
	gate    gate.Gate
	writer  chan *conn // holds the one connection that writes, while nobody does
	readers pool
	poison  error // guarded by having the writer: the sync that failed
	cache   kv.Cache
}

// Open opens the store at path, creates it where there is none, and brings one of an
// older version up to date, unless the options forbid it. The context is that of the
// opening alone. It returns ErrNotStore, ErrVersion, kv.ErrBusy when another process
// holds the lock for too long, and, read-only, an error that wraps fs.ErrNotExist
// where there is no store.
func Open(ctx context.Context, path string, options Options) (*Store, error) {
	f, err := locate(path)
	if err != nil {
		return nil, err
	}
	if options.Realm == "" {
		options.Realm = kv.DefaultRealm
	}
	s := &Store{file: f, options: options, writer: make(chan *conn, 1),
		readers: pool{file: f, readOnly: options.ReadOnly}}
	if !options.ReadOnly {
		if err := f.create(); err != nil {
			return nil, err
		}
	}
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	if !options.ReadOnly {
		if err := s.openWriter(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Store) openWriter(ctx context.Context) error {
	return s.patiently(ctx, func() error {
		c, err := dial(s.file, forWriting(s.options.SyncWrites))
		if err != nil {
			return err
		}
		if err := prepare(ctx, c); err != nil {
			_ = c.close() // nothing was written
			return err
		}
		s.writer <- c
		return nil
	})
}

// Close closes the store. The last process that closes one copies the log into the
// database, syncs it, and removes the log.
func (s *Store) Close() error {
	return s.gate.Close(func() error {
		s.readers.close()
		if s.options.ReadOnly {
			return nil
		}
		return s.file.explain((<-s.writer).close())
	})
}

// Realm returns the realm of the keys.
func (s *Store) Realm() string { return s.options.Realm }

// Cache returns what packages keep of the store in memory.
func (s *Store) Cache() *kv.Cache { return &s.cache }

// Get returns the value of a key.
func (s *Store) Get(ctx context.Context, col kv.Column, key []byte) (value []byte, err error) {
	if err := kv.CheckKey(key); err != nil {
		return nil, err
	}
	err = s.read(ctx, func(c *conn) (err error) {
		value, err = c.get(col, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, kv.ErrNotFound
	}
	return value, nil
}

// Put sets the value of a key.
func (s *Store) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	if err := kv.CheckKey(key); err != nil {
		return err
	}
	if err := kv.CheckValue(value, kv.MaxValueSize); err != nil {
		return err
	}
	return s.write(ctx, func(c *conn) error { return c.put(col, key, value) })
}

// Delete removes a key.
func (s *Store) Delete(ctx context.Context, col kv.Column, key []byte) (existed bool, err error) {
	if err := kv.CheckKey(key); err != nil {
		return false, err
	}
	err = s.write(ctx, func(c *conn) (err error) {
		existed, err = c.delete(col, key)
		return err
	})
	return existed, err
}

// ScanKeys yields the keys that begin with prefix.
func (s *Store) ScanKeys(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[[]byte, error] {
	return kv.KeysOf(s.ScanRange(ctx, col, kv.Range{Prefix: prefix, KeysOnly: true}))
}

// Scan yields the entries whose keys begin with prefix.
func (s *Store) Scan(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return s.ScanRange(ctx, col, kv.Range{Prefix: prefix})
}

// ScanRange yields the entries of a range.
func (s *Store) ScanRange(ctx context.Context, col kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		leave, err := s.gate.Hold(ctx)
		if err != nil {
			yield(kv.Entry{}, err)
			return
		}
		defer leave()
		sc := newScan(col, r)
		snap, err := s.snapshot(ctx, sc.fetch)
		if err != nil {
			yield(kv.Entry{}, err)
			return
		}
		defer snap.release()
		sc.yield(ctx, snap, yield)
	}
}

// read runs a call that reads, on a connection of its own.
func (s *Store) read(ctx context.Context, call func(*conn) error) error {
	leave, err := s.gate.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.patiently(ctx, func() error {
		c, err := s.readers.take()
		if err != nil {
			return err
		}
		err = call(c)
		s.readers.give(c, err)
		return err
	})
}

// write runs a call that writes, when it is its turn. The call is one statement, or
// else has no effect when it fails.
func (s *Store) write(ctx context.Context, call func(*conn) error) error {
	leave, err := s.gate.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.inTurn(ctx, func(c *conn) error {
		return s.patiently(ctx, func() error { return call(c) })
	})
}

// inTurn calls fn with the connection that writes. Writers of this process queue here;
// those of others are waited for by patiently.
func (s *Store) inTurn(ctx context.Context, fn func(*conn) error) error {
	if s.options.ReadOnly {
		return kv.ErrReadOnly
	}
	select {
	case c := <-s.writer:
		defer func() { s.writer <- c }()
		if s.poison != nil {
			return s.poison
		}
		err := fn(c)
		if failedSync(err) {
			s.poison = fmt.Errorf("%w: %s: %w", ErrPoisoned, s.file.path, err)
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.gate.Closing():
		return kv.ErrClosed
	}
}
