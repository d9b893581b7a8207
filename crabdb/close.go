package crabdb

import "errors"

func (db *DB) isClosed() error {
	select {
	case <-db.closing:
		return ErrClosed
	default:
		return nil
	}
}

// Close waits for the write, checkpoint or compaction at hand, makes everything
// safe from a power loss, and gives the lock back; what it could not make safe, on
// account of an earlier failure too, is its error. Reads and scans that are under
// way finish or return ErrClosed, as every later call does. Closing again does
// nothing and returns the first outcome.
func (db *DB) Close() error {
	db.closeOnce.Do(func() { db.closeErr = db.close() })
	return db.closeErr
}

func (db *DB) close() error {
	close(db.closing)
	db.background.stop()
	<-db.maintenance // whoever comes now finds the store closing, and never gets them
	<-db.turn
	err := db.poisoned() // told again: nobody may have asked since a sync in the background failed
	if !db.opts.ReadOnly && err == nil {
		err = db.settleLog()
	}
	db.treeMu.Lock()
	db.latest.Store(nil)
	db.stale.Store(false)
	db.treeMu.Unlock()
	err = errors.Join(err, db.log.release())
	if db.lock != nil {
		err = errors.Join(err, db.lock.Close())
	}
	return err
}

// settleLog gives back what was reserved and makes the log durable at Close: with a
// checkpoint where replaying what came since the last one would cost more than a
// quarter of the snapshot to be written, with a sync otherwise. A plain file gets the sync alone, and so does one
// for whose snapshot there is no room.
func (db *DB) settleLog() error {
	db.log.began = never // for the snapshot that may come
	if db.log.reserved > 0 {
		if err := db.log.cut(); err != nil {
			return db.poison(err)
		}
	}
	end := db.log.end.Load()
	since := end - db.checkpointed.Load()
	if db.sealed && since > 0 && since*4 >= db.indexBytes() {
		err := db.lastCheckpoint()
		if err == nil || db.poisoned() != nil {
			return err
		}
	}
	return db.syncTo(db.log, end)
}

// lastCheckpoint is a checkpoint with the turn held.
func (db *DB) lastCheckpoint() error {
	value, err := db.encodeSnapshot()
	if err != nil {
		return err
	}
	at, err := db.appendSnapshot(value)
	if err != nil {
		return err
	}
	return db.nameSnapshot(db.log, at)
}
