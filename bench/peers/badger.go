package main

import (
	"errors"
	"path/filepath"
	"runtime"

	"github.com/dgraph-io/badger/v4"
)

var badgerEngine = engine{
	name:   "badger",
	title:  "badger",
	module: "github.com/dgraph-io/badger/v4",
	settings: "DefaultOptions, which its documentation recommends: Snappy, memtables of 64 MiB, 4 compactors; but for the " +
		"block cache, which is of 512 MiB to hold all that is read. No sync: SyncWrites off (the default). With fsync: SyncWrites. Compaction: Close with " +
		"CompactL0OnClose, which alone brings memtables to the disk, then Flatten and RunValueLogGC. That excludes " +
		"writers, so its stalls are those beside its own compactors while a quarter of the store is overwritten.",
	open:  openBadger,
	stall: besideItself,
}

type badgerStore struct {
	db   *badger.DB
	opts badger.Options
}

func openBadger(dir string, m mode) (store, error) {
	opts := badger.DefaultOptions(filepath.Join(dir, "badger")).
		WithLogger(nil).WithSyncWrites(m.synced).WithBlockCacheSize(512 << 20)
	db, err := badger.Open(opts)
	if err != nil {
		return nil, err
	}
	return &badgerStore{db, opts}, nil
}

func (s *badgerStore) put(key, value []byte) error {
	return s.db.Update(func(tx *badger.Txn) error { return tx.Set(key, value) })
}

func (s *badgerStore) putBatch(entries []entry) error {
	return s.db.Update(func(tx *badger.Txn) error {
		for _, e := range entries {
			if err := tx.Set(e.key, e.value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *badgerStore) get(key, buf []byte) ([]byte, error) {
	err := s.db.View(func(tx *badger.Txn) error {
		item, err := tx.Get(key)
		if err != nil {
			return err
		}
		buf, err = item.ValueCopy(buf)
		return err
	})
	if errors.Is(err, badger.ErrKeyNotFound) {
		err = errAbsent
	}
	return buf, err
}

func (s *badgerStore) delete(key []byte) error {
	return s.db.Update(func(tx *badger.Txn) error { return tx.Delete(key) })
}

func (s *badgerStore) scan(prefix []byte, values bool, visit func(key, value []byte)) error {
	return s.db.View(func(tx *badger.Txn) error {
		opts := badger.DefaultIteratorOptions
		opts.Prefix = prefix
		opts.PrefetchValues = values
		it := tx.NewIterator(opts)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			item := it.Item()
			if !values {
				visit(item.Key(), nil)
				continue
			}
			err := item.Value(func(value []byte) error { visit(item.Key(), value); return nil })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// compact merges all tables into one level, each key in its last version. Nothing
// else may go on, since memtables come to the disk only by closing.
func (s *badgerStore) compact() error {
	if err := s.reopen(); err != nil {
		return err
	}
	if err := s.db.Flatten(runtime.NumCPU()); err != nil {
		return err
	}
	for {
		err := s.db.RunValueLogGC(0.5)
		if errors.Is(err, badger.ErrNoRewrite) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *badgerStore) reopen() error {
	if err := s.db.Close(); err != nil {
		return err
	}
	db, err := badger.Open(s.opts.WithCompactL0OnClose(true))
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	s.db, err = badger.Open(s.opts)
	return err
}

func (s *badgerStore) close() error { return s.db.Close() }
