package home

import (
	"context"
	"io"
	"os"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
)

func crabdbBackend() backend {
	return backend{
		name: Crabdb, file: "store.crmem", form: "crabdb:FILE",
		open: func(_ context.Context, place string, access Access) (Store, error) {
			return asStore(crabkv.Open(place, crabdb.Options{ReadOnly: access == Read, MustExist: access == Change}))
		},
		restore: func(ctx context.Context, place string, r io.Reader) error {
			return crabdb.Restore(ctx, place, r, crabdb.Options{})
		},
		is: func(path string, info os.FileInfo) bool { return begins(path, info, "CRMEM\x00") },
	}
}

// asStore keeps a nil pointer from becoming a store.
func asStore[S Store](s S, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// OpenCrabdb opens a store of crabdb as only that can be opened: with salvage, or in
// its plain format. The store of another backend is ErrUnable. It waits and tells as
// OpenWrite does.
func OpenCrabdb(ctx context.Context, l Location, opts crabdb.Options, tell func(string)) (*crabkv.Store, error) {
	if err := OnlyCrabdb(l); err != nil {
		return nil, err
	}
	s, err := waiting(ctx, tell, func() (*crabkv.Store, error) { return crabkv.Open(l.Place, opts) })
	return s, l.missing(err)
}

// Whole returns the store with what only its engine can express, for who copies it.
func Whole(s kv.KVStorage) kv.KVStorage {
	if c, ok := kv.As[*crabkv.Store](s); ok {
		return c.Whole()
	}
	return s
}

// Engine returns the engine of a store, if that is crabdb.
func Engine(s kv.KVStorage) (*crabdb.DB, bool) {
	c, ok := kv.As[*crabkv.Store](s)
	if !ok {
		return nil, false
	}
	return c.DB(), true
}
