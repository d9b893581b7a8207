package pebblekv

import (
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/crabstore/crabstore/kv"
)

// What an open store takes of memory: the cache, and up to so many tables of so many
// bytes of what was written and is not flushed yet.
const (
	cacheSize      = 32 << 20
	memTableSize   = 16 << 20
	memTablesAtAll = 4
)

// startEngine opens a pebble database. Some damage makes pebble panic while it opens.
func startEngine(dir string, opts *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("%w: %s: %v", kv.ErrCorrupt, dir, r)
		}
	}()
	db, err = pebble.Open(dir, opts)
	if err != nil {
		return nil, translateOpening(dir, err)
	}
	return db, nil
}

// engineOptions are those of every store. What pebble has to say goes to n.
func engineOptions(fsys vfs.FS, n *news) *pebble.Options {
	opts := &pebble.Options{
		FS:                          fsys,
		FormatMajorVersion:          format,
		Merger:                      &pebble.Merger{Name: layout, Merge: pebble.DefaultMerger.Merge},
		CacheSize:                   cacheSize,
		MemTableSize:                memTableSize,
		MemTableStopWritesThreshold: memTablesAtAll,

		// Writers wait for flushes, which end, if in memory, and not for compactions,
		// which a full disk holds up for as long as it is full.
		L0StopWritesThreshold: 1000,

		Logger: n,
		EventListener: &pebble.EventListener{
			BackgroundError: n.keep,
			DataCorruption:  func(info pebble.DataCorruptionInfo) { n.keep(translate(info.Details)) },
		},
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return opts
}

// news is what pebble tells beside the answers to calls. It is kept, not logged.
type news struct {
	last  atomic.Pointer[error]
	fatal func(error) // told what pebble would end the process for
}

func (n *news) keep(err error) { n.last.Store(&err) }

// background returns the last failure of work in the background, or nil.
func (n *news) background() error {
	if err := n.last.Load(); err != nil {
		return *err
	}
	return nil
}

// Infof is of pebble.Logger.
func (n *news) Infof(string, ...any) {}

// Errorf is of pebble.Logger.
func (n *news) Errorf(string, ...any) {}

// Fatalf is of pebble.Logger, and returns.
func (n *news) Fatalf(format string, args ...any) {
	n.fatal(fmt.Errorf("pebble: "+format, args...))
}
