package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

var pebbleEngine = engine{
	name:   "pebble",
	title:  "pebble",
	module: "github.com/cockroachdb/pebble/v2",
	settings: "As the project's own benchmark opens it: the newest format with columnar blocks, MemTableSize 64 MiB, " +
		"L0CompactionThreshold 2, LBaseMaxBytes 64 MiB, up to 3 compactions at once, blocks of 32 KiB; for point reads " +
		"Bloom filters of 10 bits on every level, and a block cache of 512 MiB, which holds all that is read (with 256 MiB, " +
		"or blocks of 4 KiB, reads were slower). " +
		"No sync: NoSync, which hands the log to the operating system later. With fsync: Sync.",
	open:  openPebble,
	stall: besideCompact,
}

type pebbleStore struct {
	db    *pebble.DB
	write *pebble.WriteOptions
}

func openPebble(dir string, m mode) (store, error) {
	opts := &pebble.Options{
		CacheSize:                   512 << 20,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                64 << 20,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       1000,
		LBaseMaxBytes:               64 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 3 },
		Logger:                      quiet{},
	}
	opts.Experimental.EnableColumnarBlocks = func() bool { return true }
	for i := range opts.Levels {
		opts.Levels[i].BlockSize = 32 << 10
		opts.Levels[i].IndexBlockSize = 256 << 10
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	db, err := pebble.Open(filepath.Join(dir, "pebble"), opts)
	if err != nil {
		return nil, err
	}
	if m.synced {
		return &pebbleStore{db, pebble.Sync}, nil
	}
	return &pebbleStore{db, pebble.NoSync}, nil
}

func (s *pebbleStore) put(key, value []byte) error { return s.db.Set(key, value, s.write) }

func (s *pebbleStore) putBatch(entries []entry) error {
	b := s.db.NewBatch()
	defer b.Close()
	for _, e := range entries {
		if err := b.Set(e.key, e.value, nil); err != nil {
			return err
		}
	}
	return b.Commit(s.write)
}

func (s *pebbleStore) get(key, buf []byte) ([]byte, error) {
	value, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, errAbsent
	}
	if err != nil {
		return nil, err
	}
	buf = append(buf[:0], value...)
	return buf, closer.Close()
}

func (s *pebbleStore) delete(key []byte) error { return s.db.Delete(key, s.write) }

func (s *pebbleStore) scan(prefix []byte, values bool, visit func(key, value []byte)) error {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		var value []byte
		if values {
			if value, err = it.ValueAndErr(); err != nil {
				break
			}
		}
		visit(it.Key(), value)
	}
	return errors.Join(err, it.Close())
}

func (s *pebbleStore) compact() error {
	return s.db.Compact(context.Background(), []byte{0}, []byte{0xff}, true)
}

func (s *pebbleStore) close() error { return s.db.Close() }

// quiet is a logger that says nothing, and stops at what pebble cannot go on from.
type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(string, ...any)             {}
func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
