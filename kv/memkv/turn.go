package memkv

import (
	"context"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/frozen"
)

// Update waits for the turn, runs fn over the current tree, and makes what it
// wrote current in one step.
func (s *Store) Update(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	if err := s.turn.Take(ctx, &s.gate); err != nil {
		return err
	}
	defer s.turn.Pass() // also when fn panics, and then nothing was written
	changes, err := kv.Collect(ctx, s, s.current.Load(), fn)
	if err != nil {
		return err
	}
	if err := s.gate.Check(ctx); err != nil {
		return err
	}
	s.commit(changes)
	return nil
}

// View runs fn over the tree that is current now. It waits for nobody.
func (s *Store) View(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	if err := s.gate.Check(ctx); err != nil {
		return err
	}
	return kv.ViewAt(ctx, s, s.current.Load(), fn)
}

// commit makes changes part of the current tree, all at once. The caller has the
// turn, and gives the values away.
func (s *Store) commit(changes []kv.Change) {
	entries := s.current.Load().Entries
	for _, c := range changes {
		if at := frozen.Place(c.Column, c.Key); c.Delete {
			entries = entries.Delete(at)
		} else {
			entries = entries.Put(at, c.Value)
		}
	}
	s.current.Store(&frozen.Snapshot{Entries: entries, Ready: s.gate.Check})
}
