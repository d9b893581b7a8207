package crabdb

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
)

// Open opens the store in a file, and by default creates it. Its directory must
// exist. The file is locked for writing as long as the store is open.
func Open(path string, opts Options) (*DB, error) {
	real, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	opts = opts.withDefaults()
	opts.ReadOnly = opts.ReadOnly || opts.Salvage
	db := newDB(real, opts)
	if err := db.open(); err != nil {
		if db.log != nil {
			err = errors.Join(err, db.log.release())
		}
		if db.lock != nil {
			err = errors.Join(err, db.lock.Close())
		}
		return nil, err
	}
	db.startBackground()
	return db, nil
}

func newDB(path string, opts Options) *DB {
	db := &DB{
		path: path, opts: opts, fs: opts.fs,
		turn:        make(chan struct{}, 1),
		maintenance: make(chan struct{}, 1),
		closing:     make(chan struct{}),
	}
	db.turn <- struct{}{}
	db.maintenance <- struct{}{}
	return db
}

func (db *DB) open() error {
	if !db.opts.ReadOnly {
		if err := db.inspect(); err != nil {
			return err
		}
		if err := db.takeLock(); err != nil {
			return err
		}
		if err := db.removeLeftovers(); err != nil {
			return err
		}
		if err := db.create(); err != nil {
			return err
		}
	}
	loaded, err := db.loadFile(context.Background())
	if err != nil {
		return err
	}
	if !db.opts.ReadOnly {
		if err := db.repair(loaded); err != nil {
			return fmt.Errorf("recover %s: %w", db.path, errors.Join(err, loaded.log.release()))
		}
	}
	db.layout = loaded.log.layout
	db.adopt(loaded)
	if !db.opts.ReadOnly && loaded.recovery.Distrust != "" {
		db.report(db.renewIndex(loaded.skipped)) // the records are there without it
	}
	return nil
}

// renewIndex gives the file an index to be trusted. Where the log holds the remains
// of a damaged one the file is written anew without them: they were passed over
// because the header named them, and it will name another place.
func (db *DB) renewIndex(remains bool) error {
	if remains {
		if err := db.compact(context.Background()); err == nil {
			return nil
		}
	}
	return db.checkpoint(context.Background())
}

// repair leaves a file to which records can be appended: without a torn tail, and
// without a header that names a place where no snapshot is. A header that names a
// damaged one stays until there is a better, since it tells where to read on.
func (db *DB) repair(l *loader) error {
	if l.recovery.Distrust != "" && !l.skipped {
		if err := errors.Join(l.log.writeHeader(header{sealed: l.log.sealed}), l.log.sync()); err != nil {
			return err
		}
	}
	if l.recovery.Torn > 0 {
		return db.cutTail(l)
	}
	if l.spare > 0 {
		return l.log.cut()
	}
	return nil
}

// inspect refuses what is no store before a lock file is made beside it. With the
// lock held it is looked at again.
func (db *DB) inspect() error {
	file, err := db.openFile(os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !db.opts.MustExist:
		return nil
	case err != nil:
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Size() > 0 {
		_, err = db.readHeader(file)
	}
	return errors.Join(err, file.Close())
}

// openFile opens the store's file, which must be a regular one.
func (db *DB) openFile(flag int) (vfs.File, error) {
	info, err := db.fs.Lstat(db.path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", db.path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: it is not a regular file but %s", db.path, info.Mode().Type())
	}
	file, err := db.fs.OpenFile(db.path, flag, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", db.path, err)
	}
	return file, nil
}

func (db *DB) takeLock() error {
	lock, err := db.fs.Lock(db.path+lockSuffix, fmt.Sprintf("pid %d", os.Getpid()))
	var held *vfs.LockedError
	switch {
	case errors.As(err, &held):
		return fmt.Errorf("%w: %s is held by %s (lock file %s)", ErrLocked, db.path, orUnknown(held.Note), held.Path)
	case err != nil:
		return fmt.Errorf("open %s: %w", db.path, err)
	}
	db.lock = lock
	return nil
}

func orUnknown(holder string) string {
	if holder == "" {
		return "an unknown process"
	}
	return holder
}

// removeLeftovers removes the siblings that a compaction or a creation left when
// it was cut short. With the lock held nobody else can be using them. They are
// never read: the store's own file alone decides.
func (db *DB) removeLeftovers() error {
	dir, base := filepath.Split(db.path)
	entries, err := db.fs.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("open %s: %w", db.path, err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !isSibling(e.Name(), base, compactSuffix) {
			continue
		}
		if db.fs.Remove(filepath.Join(dir, e.Name())) == nil { // else it stays, and does no harm
			db.recovery.Leftover++
		}
	}
	return nil
}

// create makes a new, empty store where there is no file, or one of no bytes.
func (db *DB) create() error {
	info, err := db.fs.Lstat(db.path)
	switch {
	case err == nil && (info.Size() > 0 || !info.Mode().IsRegular()):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open %s: %w", db.path, err)
	case err != nil && db.opts.MustExist:
		return fmt.Errorf("open %s: %w", db.path, err)
	}
	return db.place(func(file vfs.File) error {
		err := newLogFile(db.path, file, !db.opts.Plain).writeHeader(header{sealed: !db.opts.Plain})
		if err == nil && info != nil {
			err = file.Inherit(info)
		}
		return err
	})
}

// place makes a file that a function writes the store's, where there is none or an
// empty one. It is written beside and renamed, so that a crash leaves it whole or not
// at all.
func (db *DB) place(write func(file vfs.File) error) error {
	file, name, err := db.createSibling()
	if err != nil {
		return fmt.Errorf("create %s: %w", db.path, err)
	}
	if err = write(file); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = db.fs.Rename(name, db.path)
	}
	if err == nil {
		err = db.fs.SyncDir(filepath.Dir(db.path))
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", db.path, errors.Join(err, ignoreMissing(db.fs.Remove(name))))
	}
	db.paved = true // its block is new
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// createSibling creates a file beside the store that will take its place.
func (db *DB) createSibling() (vfs.File, string, error) {
	var unique [8]byte
	_, _ = rand.Read(unique[:]) // never fails, as of Go 1.24
	name := db.path + compactSuffix + hex.EncodeToString(unique[:])
	f, err := db.fs.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	return f, name, err
}

// loadFile opens the file and makes its index.
func (db *DB) loadFile(ctx context.Context) (*loader, error) {
	flag := os.O_RDWR
	if db.opts.ReadOnly {
		flag = os.O_RDONLY
	}
	file, err := db.openFile(flag)
	if err != nil {
		return nil, err
	}
	l, err := db.loadFrom(ctx, file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	l.log.mapReads()
	return l, nil
}

func (db *DB) loadFrom(ctx context.Context, file vfs.File) (*loader, error) {
	head, err := db.readHeader(file)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", db.path, err)
	}
	return load(ctx, newLogFile(db.path, file, head.sealed), head, info.Size(), db.opts.Salvage)
}

// readHeader reads the header of a file. A reader beside a writer may come in the
// moment in which the header is written, so it looks again before it takes a
// header for damaged.
func (db *DB) readHeader(file vfs.File) (header, error) {
	var head header
	for range 3 {
		b := make([]byte, headerSize)
		n, err := file.ReadAt(b, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return header{}, fmt.Errorf("read the header of %s: %w", db.path, err)
		}
		head, err = decodeHeader(db.path, b[:n])
		if err != nil && db.opts.Salvage && !errors.Is(err, ErrVersion) {
			return guessHeader(db.path, file)
		}
		if err != nil || !head.damaged {
			return head, err
		}
	}
	return head, nil
}

// cutTail cuts a torn tail off the file, and syncs that, before anything is
// appended: records behind torn bytes would be lost at the next recovery. A tail
// that holds whole records is copied to a file beside the store first.
func (db *DB) cutTail(l *loader) error {
	holds, err := l.holdsRecords()
	if err == nil && holds {
		err = db.keepTail(l)
	}
	if err != nil {
		return err
	}
	if err := l.log.cut(); err != nil {
		return err
	}
	return l.log.sync()
}

func (db *DB) keepTail(l *loader) error {
	var name string
	var f vfs.File
	for i := range 1000 {
		name = fmt.Sprintf("%s%s%016x", db.path, tornSuffix, l.recovery.TornAt+int64(i)<<48)
		var err error
		if f, err = db.fs.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			break
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if f == nil {
		return fmt.Errorf("too many files named %s%s*: move them away", db.path, tornSuffix)
	}
	if err := errors.Join(l.copyTo(f, l.recovery.TornAt, l.size), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, db.fs.Remove(name))
	}
	l.recovery.KeptAs = name
	return db.fs.SyncDir(filepath.Dir(db.path))
}

// copyTo copies a stretch of the file to the start of another.
func (w *walker) copyTo(f vfs.File, from, to int64) error {
	for at := from; at < to; {
		b, err := w.peek(at, int(min(to-at, windowSize)))
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(b, at-from); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

// adopt makes what was loaded the store's state.
func (db *DB) adopt(l *loader) {
	l.recovery.Leftover = db.recovery.Leftover
	db.treeMu.Lock()
	defer db.treeMu.Unlock()
	db.log, db.tree, db.live, db.recovery = l.log, l.tree, l.live, l.recovery
	db.log.began = l.upTo
	watermark := int64(headerSize)
	db.indexed, db.named, db.replaced = l.upTo, 0, 0
	if l.recovery.Snapshot {
		watermark, db.named = l.head.watermark(), l.head.indexLen
	}
	db.checkpointed.Store(watermark)
	db.syncer.reset(l.log, watermark)
	db.publish()
}
