package crabdb

import (
	"errors"
	"fmt"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
)

// append writes encoded records at the end of the log. The turn is held. When it
// fails the file is cut back to where it ended, so that the write is undone; when
// the failure is another than a full disk, or the cut fails, it is not known what
// the file holds, and the store is poisoned.
func (db *DB) append(b []byte) error {
	if err := db.pave(); err != nil {
		return err
	}
	db.reserve(int64(len(b)))
	err := db.log.write(b)
	if err == nil || errors.Is(err, ErrFull) {
		return err
	}
	return db.undo(err)
}

// undo cuts off what a write that failed left behind the end of the log.
func (db *DB) undo(err error) error {
	if cut := db.log.cut(); cut != nil {
		return db.poison(errors.Join(err, cut))
	}
	if !vfs.IsFull(err) {
		return db.poison(err)
	}
	return err
}

// leastSpace is what a store appends before it reserves space, and mostSpace what it
// reserves at a time, in bytes.
const (
	leastSpace = 64 << 10
	mostSpace  = 16 << 20
)

// never is, as where the log began, so far off that no space is reserved any more.
const never = MaxFile

// reserve takes space for the next appends: as much as this handle has appended so far,
// between the two bounds, so that a store opened for a few writes takes none. A write
// into it need not make the file longer, which costs a file system more than the bytes
// do, and can go by way of memory, without a system call. It is as good as one: the
// bytes are the operating system's as soon as they are copied, since the memory is its
// page of the file. Where space cannot be had, appends do without.
//
// In a sealed file alone, where the zeros behind the log are no record.
func (db *DB) reserve(n int64) {
	log := db.log
	end := log.end.Load()
	space := min(end-log.began, mostSpace)
	if end+n <= log.reserved || !log.sealed || space < db.opts.leastSpace {
		return
	}
	memory := db.opts.Sync != SyncWrite // a page that is synced at each write is mapped anew each time
	if err := log.file.Reserve(end, end+n+space, memory); err != nil {
		log.began = never
		_ = log.cut() // or there are zeros behind the log, which do no harm
		return
	}
	log.reserved = end + n + space
}

// maxBlock is the largest block that file systems are made with.
const maxBlock = 64 << 10

// pave makes the disk hold zeros behind the end of the log, before the first append
// after opening. A power loss may have left records there, in the last block, that
// were written when the length of the file was not yet. Were the file to grow over
// them and the power to go again, with the length on the disk and the bytes not,
// they would be back: whole, at their offsets, where newer ones were acknowledged.
func (db *DB) pave() error {
	end := db.log.end.Load()
	if rest := -end & (maxBlock - 1); !db.paved && rest > 0 {
		if _, err := db.log.file.WriteAt(make([]byte, rest), end); err != nil {
			return db.undo(fmt.Errorf("pave %s at offset %d: %w", db.path, end, err))
		}
		if err := db.log.sync(); err != nil {
			return db.poison(err)
		}
		err := db.log.cut()
		if err == nil && !db.sealed { // in which zeros would be the rest of a record that was not written whole
			err = db.log.sync()
		}
		if err != nil {
			return db.poison(err)
		}
	}
	db.paved = true
	return nil
}

// maxScratch and maxSpare bound the memory that is kept between writes and between
// transactions for the next one.
const (
	maxScratch = 1 << 20
	maxSpare   = 8 << 20
)

// encode returns the record that comes next in the log. The turn is held, until
// the record is written.
func (db *DB) encode(op, col byte, key, value []byte) []byte {
	b := db.log.appendRecord(db.scratch[:0], db.log.end.Load(), op, col, key, value)
	if cap(b) <= maxScratch {
		db.scratch = b[:0]
	}
	return b
}
