package crabdb

import "context"

// Checkpoint makes everything written so far safe from a power loss, and writes a
// snapshot of the index, so that the next opening need not replay the log. Reads
// and writes go on meanwhile.
func (db *DB) Checkpoint(ctx context.Context) error {
	if db.opts.ReadOnly {
		return ErrReadOnly
	}
	if err := db.take(ctx, db.maintenance); err != nil {
		return err
	}
	defer func() { db.maintenance <- struct{}{} }()
	return db.checkpoint(ctx)
}

// checkpointDue tells whether so much was written since the last checkpoint that
// the next should come by itself: what the options say, and enough beside the size
// of the snapshot that snapshots stay a small part of what is written.
func (db *DB) checkpointDue(end int64) bool {
	since := end - db.checkpointed.Load()
	every := db.opts.CheckpointEvery
	return db.sealed && every > 0 && since >= every && since >= 4*db.indexBytes()
}

// indexBytes is about how many bytes a snapshot of the index has.
func (db *DB) indexBytes() int64 {
	const perKey = 16 // measured: package packtree's own figures, and a margin
	db.treeMu.Lock()
	defer db.treeMu.Unlock()
	return perKey * int64(db.tree.Len())
}

// checkpoint runs a checkpoint. The maintenance token is held.
//
// The order is what makes it safe: the snapshot is appended, everything up to its
// end is synced, and only then the header names it. A crash before leaves the old
// header, and the snapshot as a record that a replay passes over.
func (db *DB) checkpoint(ctx context.Context) error {
	if db.sealed && db.log.end.Load() == db.checkpointed.Load() {
		return db.poisoned()
	}
	var b []byte
	var err error
	if db.sealed {
		if b, err = db.encodeSnapshot(); err != nil {
			return err
		}
	}
	if err := db.beginWrite(ctx); err != nil {
		return err
	}
	log := db.log
	if !db.sealed { // a plain snapshot covers all that stands before it, so nothing may come between
		b, err = db.encodeSnapshot()
	}
	var place header
	if err == nil {
		place, err = db.appendSnapshot(b)
	}
	db.endWrite()
	if err != nil {
		return err
	}
	return db.nameSnapshot(log, place)
}

// encodeSnapshot returns the bytes of a snapshot of the store as it is now; in a sealed
// file without the checksum.
func (db *DB) encodeSnapshot() ([]byte, error) {
	s, err := db.acquire(context.Background())
	if err != nil {
		return nil, err
	}
	defer s.log.release()
	return db.layout.encodeSnapshot(s)
}

// appendSnapshot appends a snapshot to the log and returns the header that will
// name it. The turn is held.
func (db *DB) appendSnapshot(b []byte) (header, error) {
	at := db.log.end.Load()
	b = db.placeSnapshot(b, at)
	if err := db.append(b); err != nil {
		return header{}, err
	}
	db.change(func() {}) // the log's end moved: who reads a version next sees it
	return header{sealed: db.sealed, indexAt: at, indexLen: int64(len(b))}, nil
}

// nameSnapshot makes the log durable up to the end of a snapshot, and then the
// header that names it.
func (db *DB) nameSnapshot(log *logFile, h header) error {
	if err := db.syncTo(log, h.watermark()); err != nil {
		return err
	}
	if err := log.writeHeader(h); err != nil {
		return db.poison(err)
	}
	if err := log.sync(); err != nil {
		return db.poison(err)
	}
	db.checkpointed.Store(h.watermark())
	db.treeMu.Lock()
	defer db.treeMu.Unlock()
	db.named = h.indexLen
	db.stale.Store(true)
	return nil
}
