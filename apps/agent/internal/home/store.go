package home

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
)

// Store is an open store.
type Store interface {
	kv.KVStorage
	io.Closer
}

// OpenRead opens a store that exists, to be read. It works beside a program that
// writes it, and where nothing can be written.
func OpenRead(ctx context.Context, l Location) (Store, error) {
	s, err := OpenEngine(ctx, l, crabdb.Options{ReadOnly: true}, nil)
	if err != nil {
		return nil, err
	}
	return checked(ctx, s, refuseNewer)
}

// OpenWrite opens a store to be read and written, and creates it where it is
// missing, with the directory of the default store. An older keyspace is brought
// up to date; tell is called, with what is being done, where that takes a while. For
// a program that writes the store it waits a few seconds, and then returns kv.ErrBusy.
func OpenWrite(ctx context.Context, l Location, tell func(string)) (Store, error) {
	if err := MakeDir(l); err != nil {
		return nil, err
	}
	s, err := OpenEngine(ctx, l, crabdb.Options{}, tell)
	if err != nil {
		return nil, err
	}
	return checked(ctx, s, func(ctx context.Context, s kv.KVStorage) error { return upgrade(ctx, s, tell) })
}

// OpenEngine opens the engine's own store, whatever its keyspace: for what is
// asked of the engine and not of the packages above it. It waits and tells as
// OpenWrite does; to be read a store is never busy, and needs no tell.
func OpenEngine(ctx context.Context, l Location, opts crabdb.Options, tell func(string)) (*crabkv.Store, error) {
	s, err := waiting(ctx, tell, func() (*crabkv.Store, error) { return crabkv.Open(l.Place, opts) })
	if errors.Is(err, fs.ErrNotExist) && missing(l.Place) {
		return nil, fmt.Errorf("%w: %s", ErrNoStore, l.Place)
	}
	if errors.Is(err, crabdb.ErrNotStore) && empty(l.Place) {
		return nil, fmt.Errorf("%w: %s is empty", ErrNoStore, l.Place)
	}
	return s, err
}

// empty tells of a file of no bytes. A store is made in it as where none is.
func empty(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() == 0
}

// Done closes a store that was opened for one command, which has done its work; it
// compacts first if that is due, for a store that is open so shortly has no time to
// do so by itself. Where there is no room for that the next command tries again.
func Done(ctx context.Context, s Store) error {
	if c, ok := kv.As[interface{ CompactIfDue(context.Context) error }](s); ok {
		_ = c.CompactIfDue(ctx)
	}
	return s.Close()
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// checked returns the store when the check of its keyspace is content with it.
func checked(ctx context.Context, s Store, check func(context.Context, kv.KVStorage) error) (Store, error) {
	if err := check(ctx, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// MakeDir makes the home directory, for its owner alone. Elsewhere the directory
// of a store has to be there: a path that was mistyped is not made true.
func MakeDir(l Location) error {
	if !l.Own {
		return nil
	}
	return os.MkdirAll(filepath.Dir(l.Place), 0o700)
}
