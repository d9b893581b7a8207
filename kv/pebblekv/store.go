package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/gate"
)

// Options say how a store is opened. The zero value is right for most.
type Options struct {
	// Realm is what Realm returns. Empty means kv.DefaultRealm. It confines nothing.
	Realm string

	// ReadOnly opens the store as it is now, for reading: also while another process
	// writes it, with no lock, and without changing a byte. What is written later is
	// not seen. One descriptor is held for each file of the store.
	ReadOnly bool

	// SyncWrites makes every write safe from a power loss before it returns; writers
	// that wait at the same time share a sync. Without it a Checkpoint does that.
	SyncWrites bool

	tune func(*pebble.Options) // for tests
}

// Store is a pebble database as a kv.KVStorage. It is a kv.Transactor, kv.Ranger,
// kv.Realmed, kv.Cacher, kv.Checkpointer, kv.Compactor, kv.Backuper, kv.Statser and
// io.Closer as well.
type Store struct {
	reader
	db    *pebble.DB
	fsys  vfs.FS // of the files of the store
	dir   string
	realm string
	cache kv.Cache
	gate  gate.Gate
	news  news

	disk   *disk   // nil when the store is read-only
	frozen *frozen // nil when it is not

	turn gate.Turn // of the writer

	commits atomic.Uint64 // how many were begun
	safe    atomic.Uint64 // so many of them are safe from a power loss
}

// Open opens the store in a directory. Without ReadOnly it makes one where there is
// nothing, and the directory itself; with it, a missing store is an error that wraps
// fs.ErrNotExist. It returns kv.ErrBusy when the store is open for writing already,
// by this process or another, ErrNotStore or ErrVersion for what it may not touch,
// and kv.ErrCorrupt for a store that is damaged.
func Open(dir string, o Options) (*Store, error) {
	real, err := resolve(dir)
	if err != nil {
		return nil, fmt.Errorf("pebblekv: %w", err)
	}
	return openOn(private{vfs.Default}, real, o)
}

func openOn(fsys vfs.FS, dir string, o Options) (*Store, error) {
	if o.Realm == "" {
		o.Realm = kv.DefaultRealm
	}
	s := &Store{dir: dir, realm: o.Realm, turn: gate.NewTurn()}
	open := s.openWritable
	if o.ReadOnly {
		open = s.openReadOnly
	}
	if err := open(fsys, o); err != nil {
		return nil, err
	}
	s.reader = reader{from: s.db, gate: &s.gate, store: s}
	return s, nil
}

func (s *Store) openWritable(fsys vfs.FS, o Options) error {
	_, err := inspect(fsys, s.dir)
	if err != nil {
		return err
	}
	if s.disk, err = newDisk(fsys, s.dir, o.SyncWrites, s.gate.Closing()); err != nil {
		return err
	}
	s.fsys, s.news.fatal = s.disk, s.disk.fail
	if s.db, err = startEngine(s.dir, engineOptions(s.fsys, &s.news, o)); err != nil {
		return errors.Join(s.disk.failed(), err)
	}
	if s.disk.failed() != nil {
		return s.Close()
	}
	return s.removeLeftovers()
}

// removeLeftovers removes what a backup that was interrupted left behind.
func (s *Store) removeLeftovers() error {
	names, err := s.fsys.List(s.dir)
	for _, name := range names {
		if strings.HasPrefix(name, backupPrefix) && err == nil {
			err = s.fsys.RemoveAll(s.fsys.PathJoin(s.dir, name))
		}
	}
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// Close closes the store. Calls that are on their way finish; a transaction whose
// function runs gets kv.ErrClosed. On a poisoned store it tells what poisoned it.
// Closing again does nothing.
func (s *Store) Close() error {
	return s.gate.Close(s.release)
}

func (s *Store) release() error {
	err := translate(s.db.Close())
	if s.frozen != nil {
		return errors.Join(err, s.frozen.close())
	}
	return errors.Join(s.disk.failed(), err)
}

// Realm returns the realm that the store was opened with.
func (s *Store) Realm() string { return s.realm }

// Cache returns what packages keep of the store in memory.
func (s *Store) Cache() *kv.Cache { return &s.cache }

// Put waits for the turn and sets the value of a key.
func (s *Store) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	if err := kv.CheckKey(key); err != nil {
		return err
	}
	if err := kv.CheckValue(value, kv.MaxValueSize); err != nil {
		return err
	}
	return s.write(ctx, func() ([]kv.Change, error) {
		return []kv.Change{{Column: col, Key: key, Value: value}}, nil
	})
}

// Delete waits for the turn and removes a key.
func (s *Store) Delete(ctx context.Context, col kv.Column, key []byte) (existed bool, err error) {
	if err := kv.CheckKey(key); err != nil {
		return false, err
	}
	err = s.write(ctx, func() (changes []kv.Change, err error) {
		if existed, err = s.has(ctx, col, key); existed {
			changes = []kv.Change{{Column: col, Key: key, Delete: true}}
		}
		return changes, err
	})
	return existed && err == nil, err
}
