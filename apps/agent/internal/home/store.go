package home

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
)

// Store is an open store.
type Store interface {
	kv.KVStorage
	io.Closer
}

// OpenRead opens a store that exists, to be read. It works beside a program that
// writes it, and where nothing can be written.
func OpenRead(ctx context.Context, l Location) (Store, error) {
	s, err := Open(ctx, l, Read, nil)
	if err != nil {
		return nil, err
	}
	return checked(ctx, s, refuseNewer)
}

// OpenWrite opens a store to be read and written, and creates it where it is
// missing, with the home directory if it lies there. An older keyspace is brought
// up to date; tell is called, with what is being done, where that takes a while. For
// a program that writes the store it waits a few seconds, and then returns kv.ErrBusy.
func OpenWrite(ctx context.Context, l Location, tell func(string)) (Store, error) {
	s, err := Open(ctx, l, Make, tell)
	if err != nil {
		return nil, err
	}
	return checked(ctx, s, func(ctx context.Context, s kv.KVStorage) error { return upgrade(ctx, s, tell) })
}

// Open opens a store whatever its keyspace: for what is asked of the store and not of
// the packages above it. It waits and tells as OpenWrite does; tell may be nil. A store into which a migration is not finished is
// ErrHalfMigrated.
func Open(ctx context.Context, l Location, access Access, tell func(string)) (Store, error) {
	s, err := open(ctx, l, access, tell)
	if err != nil {
		return nil, err
	}
	return checked(ctx, s, refuseHalf)
}

func open(ctx context.Context, l Location, access Access, tell func(string)) (Store, error) {
	b, _ := find(l.Backend)
	if b.open == nil {
		return nil, fmt.Errorf("%s: %w", l, b.notBuiltIn())
	}
	if err := l.suits(b, access); err != nil {
		return nil, err
	}
	if access == Make {
		if err := MakeDir(l); err != nil {
			return nil, err
		}
	}
	s, err := waiting(ctx, tell, func() (Store, error) { return b.open(ctx, l.Place, access) })
	if access != Make {
		err = l.missing(err)
	}
	return s, err
}

// suits refuses a path at which the store of another backend lies, and one at which
// there is none where there has to be.
func (l Location) suits(b backend, access Access) error {
	if b.remote() {
		return nil
	}
	if !something(l.Place) {
		if access != Make {
			return l.missing(fs.ErrNotExist)
		}
		return nil
	}
	if kind := kindAt(l.Place); kind != "" && kind != l.Backend {
		return fmt.Errorf("%w: %s is a store of %s; write %s:%s", ErrBackend, l.Place, kind, kind, l.Place)
	}
	return nil
}

// missing makes an error of ErrNoStore where it comes of nothing being there.
func (l Location) missing(err error) error {
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, crabdb.ErrNotStore) {
		return err
	}
	switch _, there := os.Stat(l.Place); {
	case errors.Is(there, fs.ErrNotExist):
		return fmt.Errorf("%w: %s", ErrNoStore, l.Place)
	case there == nil && !something(l.Place):
		return fmt.Errorf("%w: %s is empty", ErrNoStore, l.Place)
	}
	return err
}

// OnlyCrabdb returns ErrUnable for the store of another backend.
func OnlyCrabdb(l Location) error {
	if l.Backend == Crabdb {
		return nil
	}
	return fmt.Errorf("%w: it is for a file of crabdb, and %s is none", ErrUnable, l)
}

// Restore makes a store of what a backup of the same backend holds, where there is
// none yet.
func Restore(ctx context.Context, l Location, r io.Reader) error {
	b, _ := find(l.Backend)
	if b.restore == nil {
		return fmt.Errorf("%w: a store of %s is restored by the tools of its server", ErrUnable, l.Backend)
	}
	if err := MakeDir(l); err != nil {
		return err
	}
	return b.restore(ctx, l.Place, r)
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

// checked returns the store when the check of what it holds is content with it.
func checked(ctx context.Context, s Store, check func(context.Context, kv.KVStorage) error) (Store, error) {
	if err := check(ctx, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// MakeDir makes the home directory, for its owner alone. Elsewhere the directory
// of a store has to be there: a path that was mistyped is not made true.
func MakeDir(l Location) error {
	if l.Home == "" {
		return nil
	}
	return os.MkdirAll(l.Home, 0o700)
}
