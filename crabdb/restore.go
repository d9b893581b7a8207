package crabdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
)

// Restore makes a store of what Backup wrote. Every record is checked before the
// store has its name, and the copy is durable when it returns nil; a damaged one is
// refused with ErrBadBackup. Where a store is already it fails with fs.ErrExist and
// changes nothing. Of the options it looks at none that say how a store is written:
// a copy has the format of what was copied.
func Restore(ctx context.Context, path string, backup io.Reader, opts Options) (err error) {
	real, err := resolve(path)
	if err != nil {
		return fmt.Errorf("restore %s: %w", path, err)
	}
	db := newDB(real, opts.withDefaults())
	if err := db.wantNone(); err != nil { // before a lock file is made beside it
		return err
	}
	if err := db.takeLock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.lock.Close()) }()
	if err := db.wantNone(); err != nil {
		return err
	}
	return db.place(func(file vfs.File) error {
		if _, err := io.Copy(io.NewOffsetWriter(file, 0), &reader{ctx, backup}); err != nil {
			return err
		}
		return verify(ctx, file, opts)
	})
}

// wantNone wants that there is no store yet.
func (db *DB) wantNone() error {
	info, err := db.fs.Lstat(db.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0:
		return nil
	case err == nil:
		err = fmt.Errorf("%w; move it away first", fs.ErrExist)
	}
	return fmt.Errorf("restore %s: %w", db.path, err)
}

// verify wants a file to be a store without any fault, that was copied whole.
func verify(ctx context.Context, file vfs.File, opts Options) error {
	opts.ReadOnly, opts.Salvage = true, false
	db := newDB("the backup", opts.withDefaults())
	loaded, err := db.loadFrom(ctx, file)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadBackup, err)
	}
	db.adopt(loaded)
	faults, err := db.Check(ctx)
	switch r := db.recovery; {
	case err != nil:
		return err
	case r.Torn > 0:
		return fmt.Errorf("%w: it ends in the middle of a record, at offset %d", ErrBadBackup, r.TornAt)
	case r.Distrust != "":
		return fmt.Errorf("%w: its index cannot be used: %s", ErrBadBackup, r.Distrust)
	case len(faults) > 0:
		return fmt.Errorf("%w: it has %d faults, the first at %s", ErrBadBackup, len(faults), faults[0])
	}
	return nil
}

// reader reads as long as a context lives.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r *reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}
