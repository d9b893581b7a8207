package crabdb

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// worker is the goroutine that does beside reads and writes what they make due:
// compactions, checkpoints, and the syncs of SyncInterval.
type worker struct {
	kick   chan struct{} // holds a token when there may be something due
	cancel context.CancelFunc
	done   sync.WaitGroup
	hold   atomic.Int64          // where the log must have come before a failed compaction is tried again
	failed atomic.Pointer[error] // the last outcome, nil after a success
}

func (w *worker) wake() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// stop ends what is under way and waits for it.
func (w *worker) stop() {
	if w.cancel != nil {
		w.cancel()
		w.done.Wait()
	}
}

// startBackground starts the worker of a store that is open for writing.
func (db *DB) startBackground() {
	db.background.kick = make(chan struct{}, 1)
	if db.opts.ReadOnly {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	db.background.cancel = cancel
	db.background.done.Go(func() { db.work(ctx) })
}

func (db *DB) work(ctx context.Context) {
	var tick <-chan time.Time
	if db.opts.Sync == SyncInterval {
		t := time.NewTicker(db.opts.SyncEvery)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			if err := db.Sync(); err != nil { // a success says nothing of a compaction that failed
				db.report(err)
			}
		case <-db.background.kick:
			db.doDue(ctx)
		}
	}
}

// doDue does what has become due.
func (db *DB) doDue(ctx context.Context) {
	if !db.opts.CompactInline && db.compactionDue() && db.end() >= db.background.hold.Load() {
		db.compactNow(ctx)
	}
	if db.checkpointDue(db.end()) {
		db.report(db.Checkpoint(ctx))
	}
}

// compactNow runs a compaction that nobody asked for. One that failed, for a full
// disk say, is put off until a good deal more has been written.
func (db *DB) compactNow(ctx context.Context) {
	err := db.Compact(ctx)
	db.report(err)
	hold := int64(0)
	if err != nil {
		end := db.end()
		hold = end + end/8 + max(db.opts.CompactMin, 0)
	}
	db.background.hold.Store(hold)
}

// end returns where the log ends.
func (db *DB) end() int64 {
	db.treeMu.Lock()
	defer db.treeMu.Unlock()
	return db.log.end.Load()
}

// report keeps the outcome of work that nobody waits for, for Stats.
func (db *DB) report(err error) {
	switch {
	case errors.Is(err, ErrClosed), errors.Is(err, context.Canceled):
	case err == nil:
		db.background.failed.Store(nil)
	default:
		db.background.failed.Store(&err)
	}
}
