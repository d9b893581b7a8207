package pebblekv

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/gate"
)

// maxBatch is the most bytes that one commit may hold. Pebble's own limit is twice
// that, or as much where an int has 32 bits.
const maxBatch = 1<<31 - 1

// Update waits for the turn, runs fn over the store, and commits what it wrote.
func (s *Store) Update(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	return s.write(ctx, func() ([]kv.Change, error) {
		// Nobody else writes in our turn, so the store as it goes is one moment.
		return kv.Collect(ctx, s, &s.reader, fn)
	})
}

// View runs fn over the store as it is now. It waits for nobody.
func (s *Store) View(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	leave, err := s.gate.Hold(ctx)
	if err != nil {
		return err
	}
	snap := s.db.NewSnapshot()
	use := new(gate.Gate) // what fn began and left behind may outlive fn
	defer use.Close(func() error {
		defer leave()
		return snap.Close()
	})
	return kv.ViewAt(ctx, s, &reader{from: snap, gate: use, store: s}, fn)
}

// write commits, in a turn, the changes that prepare returns. It returns when they
// are with the operating system or, where writes sync, on the disk.
func (s *Store) write(ctx context.Context, prepare func() ([]kv.Change, error)) error {
	batch, leave, err := s.begin(ctx, prepare)
	if err != nil {
		return err
	}
	defer leave()
	if batch == nil {
		return nil
	}
	// The turn has passed on: those who come next share the sync that we wait for.
	// They read what we wrote and may fail to be written only if that does too.
	err = batch.SyncWait()
	if failed := s.disk.failed(); failed != nil {
		return failed
	}
	if err != nil {
		return translate(err)
	}
	return batch.Close()
}

// begin does what needs the turn. The store stays open until leave is called. There is
// no batch when there is nothing to write.
func (s *Store) begin(ctx context.Context, prepare func() ([]kv.Change, error)) (batch *pebble.Batch, leave func(), err error) {
	if err := s.writable(ctx); err != nil {
		return nil, nil, err
	}
	if err := s.turn.Take(ctx, &s.gate); err != nil {
		return nil, nil, err
	}
	defer s.turn.Pass() // also when prepare panics, and then nothing was written
	changes, err := prepare()
	if err != nil {
		return nil, nil, err
	}
	if leave, err = s.gate.Call(ctx); err != nil {
		return nil, nil, err
	}
	if len(changes) > 0 {
		batch, err = s.apply(changes)
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return batch, leave, nil
}

// apply hands changes to the log and makes them visible, all at once.
func (s *Store) apply(changes []kv.Change) (*pebble.Batch, error) {
	size, err := batchSize(changes)
	if err != nil {
		return nil, err
	}
	batch := s.db.NewBatchWithSize(size)
	for _, c := range changes {
		if c.Delete {
			err = batch.Delete(place(c.Column, c.Key), nil)
		} else {
			err = batch.Set(place(c.Column, c.Key), c.Value, nil)
		}
		if err != nil {
			return nil, translate(err)
		}
	}
	s.commits.Add(1)
	return batch, translate(s.db.ApplyNoSyncWait(batch, pebble.Sync))
}

// batchSize returns how many bytes pebble needs at most for a batch of changes.
func batchSize(changes []kv.Change) (int, error) {
	const header, perChange = 12, 1 + 2*5 + 1 // kind, two lengths, column
	size := int64(header)
	for _, c := range changes {
		size += perChange + int64(len(c.Key)) + int64(len(c.Value))
	}
	if size > maxBatch {
		return 0, fmt.Errorf("%w: %d bytes, the limit is %d", kv.ErrTxTooLarge, size, maxBatch)
	}
	return int(size), nil
}

// writable returns the error of a write that begins now.
func (s *Store) writable(ctx context.Context) error {
	if err := s.gate.Check(ctx); err != nil {
		return err
	}
	if s.disk == nil {
		return kv.ErrReadOnly
	}
	return s.disk.failed()
}
