package crabdb

import "sync"

// syncer knows how much of the log has reached the disk, and lets writers that
// wait for it share a sync: the first to come syncs for all whose records are in
// the file by then.
type syncer struct {
	mu      sync.Mutex
	cond    *sync.Cond
	log     *logFile // the file that durable speaks of
	durable int64    // everything below was synced
	running bool
}

// reset starts anew for a file that is durable up to an offset.
func (s *syncer) reset(log *logFile, durable int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cond == nil {
		s.cond = sync.NewCond(&s.mu)
	}
	s.log, s.durable = log, durable
	s.cond.Broadcast()
}

// lead waits until the log is durable up to an offset (false), or until it is the
// caller who has to sync (true).
func (s *syncer) lead(log *logFile, offset int64, failed func() error) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		// A compaction syncs its file before it takes the place of the old one.
		if s.log != log || s.durable >= offset {
			return false, nil
		}
		if err := failed(); err != nil {
			return false, err
		}
		if !s.running {
			s.running = true
			return true, nil
		}
		s.cond.Wait()
	}
}

// done ends a lead: the log is durable up to an offset, or is not if it is 0.
func (s *syncer) done(log *logFile, durable int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
	if s.log == log {
		s.durable = max(s.durable, durable)
	}
	s.cond.Broadcast()
}

// syncTo returns when the log is durable up to an offset. A sync that fails
// poisons the store: the pages that it should have written may be gone, and a
// later success would say nothing of them.
func (db *DB) syncTo(log *logFile, offset int64) error {
	lead, err := db.syncer.lead(log, offset, db.poisoned)
	if err != nil || !lead {
		return err
	}
	end := int64(0)
	if log.acquire() { // else a compaction replaced it, synced, since lead looked
		end = log.end.Load()
		if err = log.sync(); err != nil {
			err, end = db.poison(err), 0
		}
		log.release()
	}
	db.syncer.done(log, end)
	return err
}

// Sync makes every write that has returned safe from a power loss.
func (db *DB) Sync() error {
	if err := db.isClosed(); err != nil || db.opts.ReadOnly {
		return err
	}
	db.treeMu.Lock()
	log := db.log
	db.treeMu.Unlock()
	return db.syncTo(log, log.end.Load())
}
