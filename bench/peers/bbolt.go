package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

var bboltEngine = engine{
	name:   "bbolt",
	title:  "bbolt",
	module: "go.etcd.io/bbolt",
	settings: "FreelistType map and NoFreelistSync, both for faster writes (which makes opening read the whole file), " +
		"InitialMmapSize 4 GiB so that readers do not hold up a writer that grows the file. " +
		"No sync: NoSync, which the documentation calls unsafe: a power loss may take the file. " +
		"With fsync: DB.Batch with MaxBatchSize 16 and MaxBatchDelay 1 ms. Compaction: Compact to another file and a rename.",
	open:  openBbolt,
	stall: excludesWriter,
}

var bucketName = []byte("messages")

type boltStore struct {
	db     *bbolt.DB
	path   string
	synced bool
}

func openBbolt(dir string, m mode) (store, error) {
	s := &boltStore{path: filepath.Join(dir, "bolt.db"), synced: m.synced}
	if err := s.open(); err != nil {
		return nil, err
	}
	err := s.db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucketName)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

func (s *boltStore) open() (err error) {
	s.db, err = bbolt.Open(s.path, 0o600, &bbolt.Options{
		NoSync:          !s.synced,
		NoFreelistSync:  true,
		FreelistType:    bbolt.FreelistMapType,
		InitialMmapSize: 4 << 30,
	})
	if err != nil {
		return err
	}
	s.db.MaxBatchSize = syncWriters
	s.db.MaxBatchDelay = time.Millisecond
	return nil
}

func (s *boltStore) update(fn func(*bbolt.Bucket) error) error {
	commit := s.db.Update
	if s.synced {
		commit = s.db.Batch
	}
	return commit(func(tx *bbolt.Tx) error { return fn(tx.Bucket(bucketName)) })
}

func (s *boltStore) view(fn func(*bbolt.Bucket)) error {
	return s.db.View(func(tx *bbolt.Tx) error { fn(tx.Bucket(bucketName)); return nil })
}

func (s *boltStore) put(key, value []byte) error {
	return s.update(func(b *bbolt.Bucket) error { return b.Put(key, value) })
}

func (s *boltStore) putBatch(entries []entry) error {
	return s.update(func(b *bbolt.Bucket) error {
		for _, e := range entries {
			if err := b.Put(e.key, e.value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *boltStore) get(key, buf []byte) ([]byte, error) {
	found := false
	err := s.view(func(b *bbolt.Bucket) {
		if value := b.Get(key); value != nil {
			buf, found = append(buf[:0], value...), true
		}
	})
	if err == nil && !found {
		err = errAbsent
	}
	return buf, err
}

func (s *boltStore) delete(key []byte) error {
	return s.update(func(b *bbolt.Bucket) error { return b.Delete(key) })
}

func (s *boltStore) scan(prefix []byte, values bool, visit func(key, value []byte)) error {
	return s.view(func(b *bbolt.Bucket) {
		c := b.Cursor()
		for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			if !values {
				v = nil
			}
			visit(k, v)
		}
	})
}

// compact writes a compact copy and renames it over the file. Nothing else may go
// on, as there is no way to catch up with what is written meanwhile.
func (s *boltStore) compact() error {
	sibling := s.path + ".compact"
	to, err := bbolt.Open(sibling, 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: true})
	if err != nil {
		return err
	}
	err = errors.Join(bbolt.Compact(to, s.db, 64<<20), to.Sync(), to.Close(), s.db.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(sibling, s.path); err != nil {
		return err
	}
	return s.open()
}

func (s *boltStore) close() error { return errors.Join(s.db.Sync(), s.db.Close()) }
