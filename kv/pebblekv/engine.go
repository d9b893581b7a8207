package pebblekv

import (
	"fmt"
	"sync"

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
func engineOptions(fsys vfs.FS, n *news, o Options) *pebble.Options {
	opts := &pebble.Options{
		FS:                          fsys,
		ReadOnly:                    o.ReadOnly,
		FormatMajorVersion:          format,
		Merger:                      &pebble.Merger{Name: layout, Merge: pebble.DefaultMerger.Merge},
		Cleaner:                     cleaner{},
		CacheSize:                   cacheSize,
		MemTableSize:                memTableSize,
		MemTableStopWritesThreshold: memTablesAtAll,

		// Writers wait for flushes, which end, if in memory, and not for compactions,
		// which a full disk holds up for as long as it is full.
		L0StopWritesThreshold: 1000,

		Logger: n,
		EventListener: &pebble.EventListener{
			BackgroundError: n.keep,
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				n.keep(fmt.Errorf("%w: %s: %w", kv.ErrCorrupt, info.Path, info.Details))
			},
		},
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	if o.tune != nil {
		o.tune(opts)
	}
	return opts
}

// cleaner is pebble's DeleteCleaner, but that logs are deleted at once too: pebble keeps
// some to write over them, which would change them under those who read beside us, and
// after a power loss show old records where new ones were lost. It does not do that where
// the cleaner is an ArchiveCleaner, or has what makes one.
type cleaner struct {
	pebble.DeleteCleaner
	noReuse
}

type noReuse struct{ pebble.ArchiveCleaner }

// news is what pebble tells beside the answers to calls. It is kept, not logged.
type news struct {
	fatal func(error) // told what pebble would end the process for

	mu   sync.Mutex
	last error         // of work in the background
	more chan struct{} // closed, if it is there, when another one comes
}

func (n *news) keep(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = translate(err)
	if n.more != nil {
		close(n.more)
		n.more = nil
	}
}

// background returns what is closed at the next failure of work in the background, and
// the last one, or nil.
func (n *news) background() (next <-chan struct{}, last error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.more == nil {
		n.more = make(chan struct{})
	}
	return n.more, n.last
}

// Infof is of pebble.Logger.
func (n *news) Infof(string, ...any) {}

// Errorf is of pebble.Logger.
func (n *news) Errorf(string, ...any) {}

// Fatalf is of pebble.Logger, and returns.
func (n *news) Fatalf(format string, args ...any) {
	n.fatal(fmt.Errorf("pebble: "+format, args...))
}
