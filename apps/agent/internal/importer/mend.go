package importer

import (
	"context"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/sessions"
)

// In a store without transactions an import that was cut short may leave messages
// that the text index does not have, and the next one would find them stored and
// pass over them. So a mark stands in the store while chunks are written, and an
// import that finds one has the indexes made anew before it begins.

func markKey(s kv.KVStorage) []byte { return kv.Key(s, "import", "writing") }

// begin makes good what an import before left.
func (s *storing) begin(ctx context.Context) error {
	if s.atomic {
		return nil
	}
	left, err := kv.Has(ctx, s.store, kv.Config, markKey(s.store))
	if err != nil || !left {
		return err
	}
	if _, err := sessions.ReindexAll(ctx, s.store, nil); err != nil {
		return err
	}
	s.marked = true
	return nil
}

// mark says that a chunk may be half written from now on.
func (s *storing) mark(ctx context.Context) error {
	if s.atomic || s.marked {
		return nil
	}
	s.marked = true
	return s.store.Put(ctx, kv.Config, markKey(s.store), nil)
}

// end says that none is.
func (s *storing) end(ctx context.Context) error {
	if !s.marked {
		return nil
	}
	_, err := s.store.Delete(ctx, kv.Config, markKey(s.store))
	return err
}
