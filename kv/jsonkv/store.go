package jsonkv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/frozen"
	"github.com/crabstore/crabstore/kv/internal/gate"
)

// MaxValueSize is the size in bytes of the largest value.
const MaxValueSize = 16 << 20

// Options say how a store is opened. The zero value is right for most.
type Options struct {
	ReadOnly bool   // look at the store as it is now: lock, create and change nothing
	Realm    string // the realm of the store's keys; empty means kv.DefaultRealm
}

// Store is a store in a directory of JSON documents. It is a kv.KVStorage,
// kv.Transactor, kv.Ranger, kv.Realmed, kv.Cacher, kv.Checkpointer, kv.Backuper,
// kv.Statser and io.Closer.
type Store struct {
	dir     string
	opts    Options
	gate    gate.Gate
	cache   kv.Cache
	current atomic.Pointer[state] // what the disk holds
	turn    gate.Turn             // of the writer who makes up its mind
	queue   queue

	writing sync.Mutex // held while documents are written
	writer  writer
	lock    io.Closer // nil when the store is read-only
}

// Open opens the store in a directory, and creates both where the options do not
// forbid it. See the comment of the package for what it refuses.
func Open(dir string, o Options) (*Store, error) {
	d, err := openDisk(dir, o.ReadOnly)
	if err != nil {
		return nil, err
	}
	return open(d, dir, o)
}

// open is Open on an open disk, which is closed if it fails.
func open(d disk, dir string, o Options) (s *Store, err error) {
	if o.Realm == "" {
		o.Realm = kv.DefaultRealm
	}
	s = &Store{
		dir: dir, opts: o, turn: gate.NewTurn(),
		writer: writer{disk: d, stamps: map[string]fs.FileInfo{}},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
			s = nil
		}
	}()
	found, err := inspect(d, dir)
	switch {
	case err != nil:
		return s, err
	case !found && o.ReadOnly:
		return s, fmt.Errorf("jsonkv: there is no store in %s: %w", dir, fs.ErrNotExist)
	case !o.ReadOnly:
		if s.lock, err = d.Lock(); err != nil {
			return s, err
		}
	}
	return s, s.load()
}

// load reads the store and, to write it, makes sound on the disk what a crash left.
func (s *Store) load() error {
	texts, found, c, err := readAll(s.writer.disk)
	if err != nil {
		return fmt.Errorf("%s: %w", s.dir, err)
	}
	all, err := parseAll(s.dir, texts)
	if err != nil {
		return err
	}
	s.current.Store(&all)
	s.queue.reset(&all)
	if !s.opts.ReadOnly {
		err = s.settle(found, c)
	}
	return err
}

// settle carries out the commit that a crash left, tidies up, and makes the store
// where there was none. What was read is what is not to be changed by others.
func (s *Store) settle(found survey, c *commit) error {
	w := &s.writer
	if err := w.Mkdir(sessionsDir); err == nil {
		if err := w.SyncDir("."); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if c.Format != "" {
		if err := w.carryOut(c); err != nil {
			return err
		}
	}
	if err := w.tidy(); err != nil {
		return err
	}
	for name, from := range found {
		w.stamps[name] = from.info
		if from.info.ModTime().After(w.last) {
			w.last = from.info.ModTime()
		}
	}
	if w.stamps[storeDocument] == nil {
		return w.write(&state{}, map[string]bool{storeDocument: true})
	}
	return nil
}

// Close makes every later call return kv.ErrClosed, waits for those that are on their
// way, and gives the lock back. Closing again does nothing.
func (s *Store) Close() error {
	return s.gate.Close(s.release)
}

func (s *Store) release() error {
	err := s.writer.Close()
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// Realm returns the realm that the store was opened with.
func (s *Store) Realm() string { return s.opts.Realm }

// Cache returns what packages keep of the store.
func (s *Store) Cache() *kv.Cache { return &s.cache }

// Checkpoint does nothing, and need not: every write is on the disk when it returns.
func (s *Store) Checkpoint(ctx context.Context) error { return s.gate.Check(ctx) }

// Stats tells how many keys and documents there are.
func (s *Store) Stats(ctx context.Context) (kv.Stats, error) {
	leave, err := s.gate.Call(ctx)
	if err != nil {
		return kv.Stats{}, err
	}
	defer leave()
	now := s.current.Load()
	st := kv.Stats{Engine: "json", Location: s.dir, Keys: int64(now.entries.Len())}
	for name := range now.documents.Ascend("") {
		info, err := s.writer.Lstat(name)
		if err != nil {
			continue // it is being replaced
		}
		st.Bytes += info.Size()
	}
	for at, value := range now.entries.Ascend("") {
		st.Memory += int64(len(at) + len(value))
	}
	st.Detail = map[string]any{"documents": now.documents.Len()}
	return st, nil
}

// snapshot returns the store as the disk holds it now.
func (s *Store) snapshot() *frozen.Snapshot { return s.of(s.current.Load()) }

func (s *Store) of(st *state) *frozen.Snapshot {
	return &frozen.Snapshot{Entries: st.entries, Ready: s.gate.Check}
}

// Get returns the value of a key.
func (s *Store) Get(ctx context.Context, col kv.Column, key []byte) ([]byte, error) {
	return s.snapshot().Get(ctx, col, key)
}

// ScanKeys yields the keys that begin with prefix.
func (s *Store) ScanKeys(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[[]byte, error] {
	return kv.KeysOf(s.ScanRange(ctx, col, kv.Range{Prefix: prefix, KeysOnly: true}))
}

// Scan yields the entries whose keys begin with prefix.
func (s *Store) Scan(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return s.ScanRange(ctx, col, kv.Range{Prefix: prefix})
}

// ScanRange yields the entries of a range, as they are when the iteration begins.
func (s *Store) ScanRange(ctx context.Context, col kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) { s.snapshot().ScanRange(ctx, col, r)(yield) }
}

// View runs fn on the store as it is now. It waits for nobody.
func (s *Store) View(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	if err := s.gate.Check(ctx); err != nil {
		return err
	}
	return kv.ViewAt(ctx, s, s.snapshot(), fn)
}

// Put sets the value of a key.
func (s *Store) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	if err := kv.CheckKey(key); err != nil {
		return err
	}
	if err := kv.CheckValue(value, MaxValueSize); err != nil {
		return err
	}
	change := kv.Change{Column: col, Key: key, Value: append([]byte{}, value...)}
	return s.write(ctx, func(*frozen.Snapshot) ([]kv.Change, error) { return []kv.Change{change}, nil })
}

// Delete removes a key.
func (s *Store) Delete(ctx context.Context, col kv.Column, key []byte) (existed bool, err error) {
	if err := kv.CheckKey(key); err != nil {
		return false, err
	}
	err = s.write(ctx, func(now *frozen.Snapshot) ([]kv.Change, error) {
		if _, existed = now.Entries.Get(frozen.Place(col, key)); !existed {
			return nil, nil
		}
		return []kv.Change{{Column: col, Key: key, Delete: true}}, nil
	})
	return existed && err == nil, err
}

// Update runs fn as one transaction.
func (s *Store) Update(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	return s.write(ctx, func(now *frozen.Snapshot) ([]kv.Change, error) { return kv.Collect(ctx, s, now, fn) })
}
