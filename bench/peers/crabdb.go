package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/crabstore/crabstore/crabdb"
)

// column is the one that messages have.
const column = 1

var crabdbEngine = engine{
	name:   "crabdb",
	title:  "crabdb",
	module: "github.com/crabstore/crabstore",
	settings: "The zero Options, which are the default: a sealed file, every value verified on every read, " +
		"a checkpoint every 64 MiB. No sync: SyncCheckpoint. With fsync: SyncWrite. " +
		"Compaction by hand (CompactRatio -1) where compaction is timed or beside a writer.",
	open:  openCrabdb,
	stall: besideCompact,
}

type crabStore struct{ db *crabdb.DB }

func openCrabdb(dir string, m mode) (store, error) {
	var opts crabdb.Options
	if m.synced {
		opts.Sync = crabdb.SyncWrite
	}
	if m.manual {
		opts.CompactRatio = -1
	}
	db, err := crabdb.Open(filepath.Join(dir, "store.crmem"), opts)
	if err != nil {
		return nil, err
	}
	return crabStore{db}, nil
}

func (s crabStore) put(key, value []byte) error {
	return s.db.Put(context.Background(), column, key, value)
}

func (s crabStore) putBatch(entries []entry) error {
	return s.db.Update(context.Background(), func(tx *crabdb.Tx) error {
		for _, e := range entries {
			if err := tx.Put(column, e.key, e.value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s crabStore) get(key, buf []byte) ([]byte, error) {
	value, err := s.db.AppendValue(context.Background(), column, key, buf[:0])
	if errors.Is(err, crabdb.ErrNotFound) {
		return nil, errAbsent
	}
	return value, err
}

func (s crabStore) delete(key []byte) error {
	_, err := s.db.Delete(context.Background(), column, key)
	return err
}

func (s crabStore) scan(prefix []byte, values bool, visit func(key, value []byte)) error {
	r := crabdb.Range{Prefix: prefix, KeysOnly: !values, Lend: true}
	for e, err := range s.db.Scan(context.Background(), column, r) {
		if err != nil {
			return err
		}
		visit(e.Key, e.Value)
	}
	return nil
}

func (s crabStore) compact() error { return s.db.Compact(context.Background()) }

func (s crabStore) close() error { return s.db.Close() }
