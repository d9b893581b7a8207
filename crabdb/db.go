package crabdb

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
	"github.com/crabstore/crabstore/crabdb/internal/vfs"
)

// DB is an open store. All methods are safe for concurrent use.
//
// Who may touch what: the turn, a channel of one place, belongs to one writer at
// a time, through its system calls and, for an Update, through its function; the
// holder alone moves the end of the log. treeMu guards the tree and is held for
// the microsecond of one change to it, or of looking one key up. Scans, and many
// reads between two writes, take neither: they work on the published version, which
// is made anew after a change when somebody wants it.
type DB struct {
	path   string // of the data file, resolved
	opts   Options
	fs     vfs.FS
	lock   io.Closer // nil when read-only
	layout           // set when the file is opened, and the same for good

	turn        chan struct{} // holds one token; taken to write
	maintenance chan struct{} // holds one token; taken to checkpoint, compact or refresh
	closing     chan struct{} // closed by Close
	closeOnce   sync.Once
	closeErr    error
	background  worker

	treeMu   sync.Mutex
	tree     *packtree.Tree
	log      *logFile // changed with treeMu and the turn
	indexed  int64    // up to where the log is in the tree
	live     int64    // bytes of the records that the tree points at
	named    int64    // bytes of the snapshot that the header names
	replaced int64    // bytes of the puts replaced or deleted since the last compaction
	stale    atomic.Bool
	looked   int // keys that were looked up in the tree itself since its last change
	latest   atomic.Pointer[snapshot]

	paved    bool   // the turn holder's: the disk holds nothing behind the end of the file
	scratch  []byte // the turn holder's, for encoding a record
	spare    []byte // and for the batch of a transaction
	syncer   syncer
	failure  atomic.Pointer[error]
	recovery Recovery

	checkpointed atomic.Int64 // the watermark of the header as it is on disk
}

// Sealed tells whether the file is in the sealed format, in which a transaction is
// all or nothing over a crash.
func (db *DB) Sealed() bool { return db.sealed }

// take waits for a token, as long as the context and the store live.
func (db *DB) take(ctx context.Context, token chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-db.closing:
		return ErrClosed
	default:
	}
	select {
	case <-token:
		return nil
	default:
	}
	select {
	case <-token:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-db.closing:
		return ErrClosed
	}
}

// beginWrite takes the turn of a store that may be written.
func (db *DB) beginWrite(ctx context.Context) error {
	if db.opts.ReadOnly {
		return fmt.Errorf("%w: %s", ErrReadOnly, db.path)
	}
	if err := db.take(ctx, db.turn); err != nil {
		return err
	}
	if err := db.poisoned(); err != nil {
		db.endWrite()
		return err
	}
	return nil
}

func (db *DB) endWrite() { db.turn <- struct{}{} }

// poison makes every later write fail with the first cause.
func (db *DB) poison(cause error) error {
	err := fmt.Errorf("%w: %w", ErrPoisoned, cause)
	db.failure.CompareAndSwap(nil, &err)
	return db.poisoned()
}

func (db *DB) poisoned() error {
	if err := db.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// snapshot is the store as it was at one moment: a frozen index and the file that
// it points into.
type snapshot struct {
	view  packtree.View
	log   *logFile
	end   int64 // where the log ended
	live  int64
	named int64 // bytes of the snapshot that the header named
	tx    *Tx   // the transaction whose writes it sees, if any
}

// acquire returns the store as it is now, with a reference to its file.
func (db *DB) acquire(ctx context.Context) (*snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for {
		if db.stale.Load() {
			db.treeMu.Lock()
			if db.stale.Load() {
				db.publish()
			}
			db.treeMu.Unlock()
		}
		s := db.latest.Load()
		if s == nil {
			return nil, ErrClosed
		}
		if s.log.acquire() {
			return s, nil
		} // a compaction has just put this file aside; its successor is published
	}
}

// publish makes the tree as it is the version that readers take. treeMu is held.
func (db *DB) publish() {
	db.latest.Store(&snapshot{view: db.tree.View(), log: db.log, end: db.indexed, live: db.live, named: db.named})
	db.stale.Store(false)
}

// change changes the tree under treeMu, to have what the log has. The turn is
// held, so that no record is in the log and not in the tree when it returns.
func (db *DB) change(fn func()) {
	db.treeMu.Lock()
	defer db.treeMu.Unlock()
	fn()
	db.indexed = db.log.end.Load()
	db.looked = 0
	db.stale.Store(true)
}

// patience is how many keys are looked up in the tree itself, between one change of it
// and the next, before there is a version of it for readers to share. A version costs
// the next change a copy of each node on its way, two microseconds; to look into the
// tree costs a writer and readers half a one in which they wait for each other.
const patience = 8

// lookUp finds a key in the store as it is now. Unless there is an error it returns a
// reference to the file too, which the caller lets go.
func (db *DB) lookUp(ctx context.Context, col byte, key []byte) (*logFile, location, bool, error) {
	var buf [keyBuffer]byte
	id := treeKey(buf[:0], col, key)
	if db.stale.Load() && ctx.Err() == nil {
		if log, at, ok := db.lookInTree(id); log != nil {
			return log, at, ok, nil
		}
	}
	s, err := db.acquire(ctx)
	if err != nil {
		return nil, 0, false, err
	}
	at, ok := s.view.Get(id)
	return s.log, location(at), ok, nil
}

// lookInTree finds a key in the tree itself, if there is no version of it as it is and
// none should be made.
func (db *DB) lookInTree(id []byte) (*logFile, location, bool) {
	db.treeMu.Lock()
	defer db.treeMu.Unlock()
	if !db.stale.Load() || db.looked == patience {
		return nil, 0, false
	}
	db.looked++
	db.log.acquire() // which the store holds one of, as long as the tree is changed
	at, ok := db.tree.Get(id)
	return db.log, location(at), ok
}

// Get returns the value of a key, which is the caller's, or ErrNotFound.
func (db *DB) Get(ctx context.Context, col byte, key []byte) ([]byte, error) {
	log, at, ok, err := db.lookUp(ctx, col, key)
	if err != nil {
		return nil, err
	}
	defer log.release()
	if !ok {
		return nil, ErrNotFound
	}
	r, err := log.record(col, key, at)
	return r.value, err
}

// Has tells whether a key is present, without reading its value.
func (db *DB) Has(ctx context.Context, col byte, key []byte) (bool, error) {
	log, _, ok, err := db.lookUp(ctx, col, key)
	if err == nil {
		_ = log.release()
	}
	return ok, err
}

// Put sets the value of a key. When it has returned nil, every later read sees
// the value, and it outlives the process; Options.Sync says when it outlives a
// power loss.
func (db *DB) Put(ctx context.Context, col byte, key, value []byte) error {
	if err := db.layout.check(col, key, value); err != nil {
		return err
	}
	return db.writeOne(ctx, func() (bool, error) { return true, db.put(col, key, value) })
}

// Delete removes a key and tells whether it was there. An absent key writes
// nothing.
func (db *DB) Delete(ctx context.Context, col byte, key []byte) (existed bool, err error) {
	err = db.writeOne(ctx, func() (bool, error) {
		existed, err = db.delete(col, key)
		return existed, err
	})
	return existed && err == nil, err
}

// writeOne runs one write in turn, and what has to follow a write.
func (db *DB) writeOne(ctx context.Context, write func() (wrote bool, err error)) error {
	if err := db.beginWrite(ctx); err != nil {
		return err
	}
	wrote, err := write()
	log, end := db.log, db.log.end.Load()
	db.endWrite()
	if err != nil || !wrote {
		return err
	}
	return db.settle(ctx, log, end)
}

// settle does what a finished write brings about: the sync that it promised, and
// a checkpoint or compaction that has become due. The write has succeeded whatever
// becomes of those.
func (db *DB) settle(ctx context.Context, log *logFile, end int64) error {
	if db.opts.Sync == SyncWrite {
		if err := db.syncTo(log, end); err != nil {
			return err
		}
	}
	compact := db.compactionDue() && end >= db.background.hold.Load()
	switch {
	case compact && db.opts.CompactInline:
		db.compactNow(ctx)
	case compact || db.checkpointDue(end):
		db.background.wake()
	}
	return nil
}

// put appends the record of a put and indexes it. The turn is held.
func (db *DB) put(col byte, key, value []byte) error {
	offset := db.log.end.Load()
	if err := db.append(db.encode(opPut, col, key, value)); err != nil {
		return err
	}
	size := db.log.size(len(key), len(value))
	var buf [keyBuffer]byte
	id := treeKey(buf[:0], col, key)
	db.change(func() {
		old, existed := db.tree.Set(id, uint64(locate(offset, size)))
		db.live += int64(size)
		if existed {
			db.retire(location(old), len(key))
		}
	})
	return nil
}

// delete appends the record of a delete and takes the key from the index. The
// turn is held.
func (db *DB) delete(col byte, key []byte) (existed bool, err error) {
	var buf [keyBuffer]byte
	id := treeKey(buf[:0], col, key)
	old, existed := db.tree.Get(id) // the turn holder alone changes the tree
	if !existed {
		return false, nil
	}
	if err := db.append(db.encode(opDelete, col, key, nil)); err != nil {
		return false, err
	}
	db.change(func() {
		db.tree.Delete(id)
		db.retire(location(old), len(key))
	})
	return true, nil
}

// retire takes a replaced record from the live bytes, at the same moment as from the
// index: a snapshot has both. The size of a long one has to be read; if it cannot be,
// it stays counted as live, and compaction comes a little later. treeMu is held.
func (db *DB) retire(old location, keyLen int) {
	size, _ := db.log.sizeOf(keyLen, old)
	db.live -= int64(size)
	db.replaced += int64(size)
}

// keyBuffer is the room for a key of the index on the stack of a call.
const keyBuffer = 1 + 1024

// treeKey appends the key of the index for a column and key: the column's byte
// comes first, so that columns are ranges of one tree.
func treeKey(b []byte, col byte, key []byte) []byte {
	return append(append(b, col), key...)
}
