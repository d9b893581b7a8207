package crabdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Compact rewrites the file without what was overwritten and deleted. Reads and
// writes go on; writers wait only for the last step, in which what was written
// meanwhile is caught up with and the new file is renamed over the old. A crash at
// any point leaves the one or the other, and each holds everything acknowledged.
//
// While it runs it takes room on the disk for the live records and their index, beside
// the old file, and some 20 bytes of memory a key, for the new index and its snapshot.
func (db *DB) Compact(ctx context.Context) error {
	if db.opts.ReadOnly {
		return ErrReadOnly
	}
	if err := db.take(ctx, db.maintenance); err != nil {
		return err
	}
	defer func() { db.maintenance <- struct{}{} }()
	return db.compact(ctx)
}

// CompactIfDue compacts when Options say that it is time. A store that stays open
// does so by itself; a program that opens one for a single write calls it before it
// closes, since Close waits for nothing that can be done another time.
func (db *DB) CompactIfDue(ctx context.Context) error {
	if db.opts.ReadOnly || !db.compactionDue() {
		return db.isClosed()
	}
	return db.Compact(ctx)
}

// compactionDue tells whether dead bytes have passed the limits of the options.
func (db *DB) compactionDue() bool {
	db.treeMu.Lock()
	defer db.treeMu.Unlock()
	all := db.log.end.Load() - headerSize
	dead := deadBytes(db.log.end.Load(), db.live, db.named)
	if db.opts.CompactReplaced {
		dead = db.replaced
	}
	return db.opts.CompactRatio > 0 && dead > 0 && dead >= db.opts.CompactMin &&
		float64(dead) >= db.opts.CompactRatio*float64(all)
}

// deadBytes is what a log holds beside its header, its live records and the
// snapshot that the header names.
func deadBytes(end, live, named int64) int64 { return end - headerSize - live - named }

// compact runs a compaction. The maintenance token is held, so no checkpoint puts
// a snapshot into the log meanwhile.
func (db *DB) compact(ctx context.Context) error {
	if err := db.poisoned(); err != nil {
		return err
	}
	s, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer s.log.release()
	c := &compaction{db: db, ctx: ctx, from: s}
	if err := c.run(); err != nil {
		return fmt.Errorf("compact %s: %w", db.path, errors.Join(err, c.discard()))
	}
	return nil
}

// compaction is one under way.
type compaction struct {
	db   *DB
	ctx  context.Context
	from *snapshot

	plan *fresh
	name string  // of the sibling
	to   *loader // the sibling's log and index; nil when there is nothing to discard
	old  walker  // the old log, behind what was copied
	done int64   // up to where the old log is in the sibling
}

func (c *compaction) run() error {
	for _, step := range []func() error{c.begin, c.copy, c.approach, c.replace} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// begin lays the new file out and creates it, with the old one's mode and owner.
func (c *compaction) begin() (err error) {
	if c.plan, err = planFresh(c.from); err != nil {
		return err
	}
	info, err := c.from.log.file.Stat()
	if err != nil {
		return err
	}
	file, name, err := c.db.createSibling()
	if err != nil {
		return err
	}
	c.name = name
	log := newLogFile(c.db.path, file, c.plan.sealed)
	log.mapReads()
	c.to = &loader{ctx: c.ctx, walker: walker{log: log}, tree: c.plan.tree, live: c.plan.live, upTo: c.plan.head.watermark()}
	return log.file.Inherit(info)
}

// copy writes the live records as they were when the compaction began.
func (c *compaction) copy() error {
	if err := c.plan.write(c.ctx, c.db.isClosed, io.NewOffsetWriter(c.to.log.file, 0)); err != nil {
		return err
	}
	c.to.log.end.Store(c.to.upTo)
	c.old = walker{log: c.from.log}
	c.done = c.from.end
	return nil
}

// catchUp appends what was written to the old log since. New records have come
// when it ends, but fewer.
func (c *compaction) catchUp() error {
	c.old.size, c.old.window = c.from.log.end.Load(), c.old.window[:0]
	var b []byte
	for c.done < c.old.size {
		r, bad, err := c.old.next(c.done)
		if err != nil {
			return err
		}
		if bad != "" {
			return corrupt(c.db.path, c.done, "%s", bad)
		}
		b = c.to.log.rewrite(b[:0], r, c.done, c.to.upTo)
		if err := c.to.log.write(b); err != nil {
			return err
		}
		moved, bad := c.to.log.decode(b, c.to.upTo)
		if bad != "" || !c.to.apply(moved, c.to.upTo) {
			return corrupt(c.db.path, c.done, "the record could not be moved: %s", bad)
		}
		c.done += int64(r.size)
		c.to.upTo += int64(len(b))
	}
	return nil
}

// rewrite appends a record that stands at one offset as it has to be at another.
func (l layout) rewrite(b []byte, r record, from, to int64) []byte {
	if r.op != opBatch {
		return l.appendRecord(b, to, r.op, r.col, r.key, r.value)
	}
	var parts []byte
	at := to + recordFrame + batchKey
	l.eachInBatch(r, from, func(p record, _ int64) {
		parts = l.appendRecord(parts, at+int64(len(parts)), p.op, p.col, p.key, p.value)
	})
	return l.appendRecord(b, to, r.op, r.col, r.key, parts)
}

// approach catches up and syncs while writers go on, until what they write in the
// meantime is little, so that little is left to do when they have to wait. Where they
// write faster than the disk takes it, that never comes, and they wait for more.
func (c *compaction) approach() error {
	const little, rounds = 64 << 10, 10
	for range rounds {
		from := c.done
		if err := c.catchUp(); err != nil {
			return err
		}
		if err := c.to.log.sync(); err != nil {
			return err
		}
		if c.done-from <= little {
			break
		}
	}
	return nil
}

// replace puts the new file in the place of the old. It holds the turn: no writer
// may be acknowledged for a record in the old file once that may be gone, nor for
// one in the new file before its name is durable.
func (c *compaction) replace() error {
	db := c.db
	if err := db.beginWrite(c.ctx); err != nil {
		return err
	}
	defer db.endWrite()
	if err := c.catchUp(); err != nil {
		return err
	}
	if err := c.to.log.sync(); err != nil {
		return err
	}
	if err := c.checkPath(); err != nil {
		return err
	}
	if err := db.fs.Rename(c.name, db.path); err != nil {
		return err
	}
	// Only then is it the store's: who waits for a write in the old file to be safe
	// is told so when the new one is installed.
	if err := db.fs.SyncDir(filepath.Dir(db.path)); err != nil {
		return db.poison(fmt.Errorf("sync the directory of %s: %w", db.path, err))
	}
	c.install()
	return nil
}

// checkPath makes sure that the path still means the file that is open: what
// somebody put in its place is not ours to overwrite.
func (c *compaction) checkPath() error {
	there, err := c.db.fs.Lstat(c.db.path)
	if err != nil {
		return err
	}
	ours, err := c.from.log.file.Stat()
	if err != nil {
		return err
	}
	if !c.db.fs.SameFile(there, ours) {
		return fmt.Errorf("another file has taken the store's place; close the store and decide which to keep")
	}
	return nil
}

// install makes the new file the store's. The turn is held.
func (c *compaction) install() {
	db, to := c.db, c.to
	c.to = nil
	old := db.log
	to.log.began = to.upTo
	db.treeMu.Lock()
	db.log, db.tree, db.live, db.indexed = to.log, to.tree, to.live, to.upTo
	db.named, db.replaced = c.plan.head.indexLen, 0
	db.paved = true // its blocks are new
	db.publish()
	db.treeMu.Unlock()
	db.checkpointed.Store(c.plan.head.watermark())
	db.syncer.reset(to.log, to.upTo)
	_ = old.release() // the last reader closes it; nothing in it is needed any more
}

// discard removes the sibling of a compaction that failed.
func (c *compaction) discard() error {
	if c.to == nil {
		return nil
	}
	return errors.Join(c.to.log.release(), ignoreMissing(c.db.fs.Remove(c.name)))
}
