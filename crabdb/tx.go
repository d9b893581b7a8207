package crabdb

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"sync"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
)

// Tx is a transaction: the store as it was when the transaction began, with what
// the transaction wrote. Its methods are safe for concurrent use, and return
// ErrClosed when its function has returned.
//
// What it writes is encoded at once as the records of a batch, for the place that
// the batch will have in the log, and indexed in a fork of the tree. So reading
// and scanning a transaction is reading and scanning the store, and committing it
// is one write and one change of a pointer.
type Tx struct {
	db    *DB
	base  *snapshot
	start int64 // where the batch will stand in the log; behind all of base

	mu       sync.Mutex
	ended    bool
	tree     *packtree.Tree // nil in a View
	batch    []byte         // the frame of a batch, and its parts
	parts    int
	live     int64 // what the commit adds to the live bytes
	replaced int64 // and to the replaced ones
}

// Update calls fn with a transaction and commits what it wrote when fn returns
// nil; when it returns an error, or panics, nothing is written. In a sealed file
// all or nothing of a transaction survives a crash.
//
// One transaction or write goes on at a time: others wait for their turn as long
// as their context lives. Readers do not wait, and see all of it or nothing. fn
// writes through tx alone; a write to the store itself, from within fn, would
// wait for ever.
func (db *DB) Update(ctx context.Context, fn func(tx *Tx) error) error {
	if err := db.beginWrite(ctx); err != nil {
		return err
	}
	log, end, err := db.update(ctx, fn)
	if err != nil || log == nil {
		return err
	}
	return db.settle(ctx, log, end)
}

// update runs a transaction with the turn held, and gives the turn back. It
// returns a nil log when nothing was written.
func (db *DB) update(ctx context.Context, fn func(tx *Tx) error) (*logFile, int64, error) {
	defer db.endWrite()
	base, err := db.acquire(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer base.log.release()
	tx := db.newTx(base)
	defer tx.end()
	if err := fn(tx); err != nil {
		return nil, 0, err
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	return tx.commit()
}

// View calls fn with the store as it is at one moment. It waits for no writer.
func (db *DB) View(ctx context.Context, fn func(tx *Tx) error) error {
	base, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer base.log.release()
	tx := &Tx{db: db, base: base, start: math.MaxInt64}
	defer tx.end()
	return fn(tx)
}

func (db *DB) newTx(base *snapshot) *Tx {
	tx := &Tx{db: db, base: base, start: base.end, tree: base.view.Tree(), batch: db.spare[:0]}
	if base.log.sealed {
		tx.batch = append(tx.batch, make([]byte, recordFrame+batchKey)...)
	}
	return tx
}

// end ends a transaction. Nobody reads its batch any more, so the next one may have
// the memory; that of an Update still holds the turn.
func (tx *Tx) end() {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.ended = true
	if tx.tree != nil && cap(tx.batch) <= maxSpare {
		tx.db.spare = tx.batch[:0]
	}
	tx.batch = nil
}

// Alive returns ErrClosed when the transaction has ended or the store was closed.
func (tx *Tx) Alive() error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.ended {
		return ErrClosed
	}
	return tx.db.isClosed()
}

// snapshot returns what the transaction sees now, with a reference to the file, which
// a reader may hold longer than the transaction.
func (tx *Tx) snapshot() (*snapshot, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.ended || !tx.base.log.acquire() {
		return nil, ErrClosed
	}
	if tx.tree == nil {
		return tx.base, nil
	}
	return &snapshot{view: tx.tree.View(), log: tx.base.log, tx: tx}, nil
}

// Get returns the value of a key, which is the caller's, or ErrNotFound.
func (tx *Tx) Get(col byte, key []byte) ([]byte, error) {
	var buf [keyBuffer]byte
	at, ok, err := tx.find(treeKey(buf[:0], col, key))
	if err != nil {
		return nil, err
	}
	defer tx.base.log.release()
	if !ok {
		return nil, ErrNotFound
	}
	s := snapshot{log: tx.base.log, tx: tx}
	return s.value(col, key, at)
}

// find looks a key up. Without an error it takes a reference to the file, as snapshot
// does.
func (tx *Tx) find(id []byte) (location, bool, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.ended || !tx.base.log.acquire() {
		return 0, false, ErrClosed
	}
	if tx.tree == nil {
		at, ok := tx.base.view.Get(id)
		return location(at), ok, nil
	}
	at, ok := tx.tree.Get(id)
	return location(at), ok, nil
}

// pending returns a value that the transaction itself wrote.
func (tx *Tx) pending(col byte, key []byte, at location) ([]byte, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.ended {
		return nil, ErrClosed
	}
	r, bad := tx.base.log.decode(tx.batch[at.offset()-tx.start:], at.offset())
	if bad != "" || r.col != col || !bytes.Equal(r.key, key) {
		return nil, corrupt(tx.db.path, at.offset(), "the pending record of column %d key %.80q: %s", col, key, bad)
	}
	return append([]byte{}, r.value...), nil
}

// Scan is DB.Scan of what the transaction sees when the iteration begins.
func (tx *Tx) Scan(ctx context.Context, col byte, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s, err := tx.snapshot()
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer s.log.release()
		s.scan(ctx, tx.Alive, col, r, yield)
	}
}

// Put sets the value of a key.
func (tx *Tx) Put(col byte, key, value []byte) error {
	if err := tx.db.layout.check(col, key, value); err != nil {
		return err
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if err := tx.writable(len(key) + len(value)); err != nil {
		return err
	}
	at := locate(tx.add(opPut, col, key, value), tx.base.log.size(len(key), len(value)))
	var buf [keyBuffer]byte
	old, existed := tx.tree.Set(treeKey(buf[:0], col, key), uint64(at))
	tx.live += int64(tx.base.log.size(len(key), len(value)))
	tx.retire(location(old), existed, len(key))
	return nil
}

// Delete removes a key and tells whether it was there.
func (tx *Tx) Delete(col byte, key []byte) (existed bool, err error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if err := tx.writable(len(key)); err != nil {
		return false, err
	}
	var buf [keyBuffer]byte
	old, existed := tx.tree.Delete(treeKey(buf[:0], col, key))
	if existed {
		tx.add(opDelete, col, key, nil)
		tx.retire(location(old), true, len(key))
	}
	return existed, nil
}

func (tx *Tx) writable(more int) error {
	switch {
	case tx.ended:
		return ErrClosed
	case tx.tree == nil:
		return ErrReadOnly
	case int64(len(tx.batch)+more)+2*recordFrame+2*sumSize > math.MaxUint32:
		return fmt.Errorf("%w: %d bytes, the limit is 4 GiB", ErrBatchTooLarge, len(tx.batch)+more)
	}
	return nil
}

// add encodes one part of the batch and returns the offset that it will have.
func (tx *Tx) add(op, col byte, key, value []byte) int64 {
	offset := tx.start + int64(len(tx.batch))
	tx.batch = tx.base.log.appendRecord(tx.batch, offset, op, col, key, value)
	tx.parts++
	return offset
}

// retire takes a replaced record from the live bytes.
func (tx *Tx) retire(old location, existed bool, keyLen int) {
	if !existed {
		return
	}
	var size int
	if old.offset() >= tx.start {
		key, value, _ := tx.base.log.lengths(tx.batch[old.offset()-tx.start:])
		size = tx.base.log.size(key, int(value))
	} else {
		size, _ = tx.base.log.sizeOf(keyLen, old) // 0 when unreadable: the count is a little high
	}
	tx.live -= int64(size)
	tx.replaced += int64(size)
}

// commit appends the batch and makes the fork the store's tree. The turn is held.
func (tx *Tx) commit() (*logFile, int64, error) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.ended = true
	if tx.parts == 0 {
		return nil, 0, nil
	}
	db, log := tx.db, tx.base.log
	if err := db.append(tx.seal()); err != nil {
		return nil, 0, err
	}
	db.change(func() {
		db.tree = tx.tree
		db.live += tx.live
		db.replaced += tx.replaced
	})
	return log, log.end.Load(), nil
}

// seal completes the frame of the batch. In a plain file there is none: the parts
// are records one after the other.
func (tx *Tx) seal() []byte {
	log := tx.base.log
	if !log.sealed {
		return tx.batch
	}
	b := tx.batch
	b[0], b[1] = opBatch, 0
	binary.LittleEndian.PutUint32(b[2:], batchKey)
	binary.LittleEndian.PutUint32(b[valueAtKey:], uint32(tx.parts))
	binary.LittleEndian.PutUint32(b[valueAtKey+batchKey:], uint32(len(b)-recordFrame-batchKey))
	return binary.LittleEndian.AppendUint32(b, recordSum(b, tx.start))
}
