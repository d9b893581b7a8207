package crabdb

import (
	"context"
	"errors"
	"fmt"
)

// Refresh brings a store that was opened read-only up to what its writer has
// written since: by reading on in the same file, or, after a compaction, by opening
// the new one. Reads and scans that are under way keep what they began with. On a
// store that is open for writing it does nothing.
func (db *DB) Refresh(ctx context.Context) error {
	if !db.opts.ReadOnly {
		return db.isClosed()
	}
	if err := db.take(ctx, db.maintenance); err != nil {
		return err
	}
	defer func() { db.maintenance <- struct{}{} }()
	there, err := db.fs.Lstat(db.path)
	if err != nil {
		return fmt.Errorf("refresh %s: %w", db.path, err)
	}
	ours, err := db.log.file.Stat()
	if err != nil {
		return fmt.Errorf("refresh %s: %w", db.path, err)
	}
	if db.fs.SameFile(there, ours) && !db.opts.Salvage {
		return db.readOn(ctx, ours.Size())
	}
	l, err := db.loadFile(ctx)
	if err != nil {
		return err
	}
	if l.log.sealed != db.sealed {
		return errors.Join(fmt.Errorf("refresh %s: a file of the other format has taken its place; open it anew", db.path), l.log.release())
	}
	old := db.log
	db.adopt(l)
	return old.release()
}

// readOn applies what came behind the log's end as it was known.
func (db *DB) readOn(ctx context.Context, size int64) error {
	log := db.log
	if size < log.end.Load() {
		return corrupt(db.path, size, "the file ends here, and was read up to %d before; it was cut", log.end.Load())
	}
	l := &loader{
		ctx: ctx, walker: walker{log: log, size: size}, head: header{sealed: log.sealed},
		tree: db.tree.View().Tree(), live: db.live, upTo: log.end.Load(), trusted: headerSize,
		recovery: Recovery{Snapshot: true}, follows: true,
	}
	log.end.Store(size)
	err := l.replay()
	log.end.Store(l.upTo)
	if err != nil {
		return err
	}
	l.recovery = db.recovery
	db.treeMu.Lock()
	defer db.treeMu.Unlock()
	db.tree, db.live, db.indexed = l.tree, l.live, l.upTo
	db.publish()
	return nil
}
