package sessions

import (
	"context"
	"errors"
	"fmt"

	"github.com/crabstore/crabstore/kv"
)

// SetState keeps the latest checkpoint of a worker's own state, whose form is the
// worker's. It replaces the one before.
func SetState(ctx context.Context, s kv.KVStorage, handle string, state []byte) error {
	return Update(ctx, s, func(b *Batch) error { return b.SetState(ctx, handle, state) })
}

// SetState is the function of that name, in the batch.
func (b *Batch) SetState(ctx context.Context, handle string, state []byte) error {
	d, err := b.open(ctx, handle)
	if err != nil {
		return err
	}
	d.touch()
	return b.tx.Put(ctx, kv.Session, stateKey(b.tx, handle), state)
}

// State returns what SetState kept last, or kv.ErrNotFound.
func State(ctx context.Context, s kv.KVStorage, handle string) ([]byte, error) {
	state, err := s.Get(ctx, kv.Session, stateKey(s, handle))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, fmt.Errorf("state of session %q: %w", handle, kv.ErrNotFound)
	}
	return state, err
}
