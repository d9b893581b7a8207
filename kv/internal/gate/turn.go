package gate

import (
	"context"

	"github.com/crabstore/crabstore/kv"
)

// Turn is what one writer has at a time.
type Turn chan struct{}

// NewTurn returns a turn that nobody has.
func NewTurn() Turn { return make(Turn, 1) }

// Take waits until nobody else has the turn. It returns the error of the context, or
// kv.ErrClosed behind a closed gate, when that comes before.
func (t Turn) Take(ctx context.Context, g *Gate) error {
	if err := g.Check(ctx); err != nil {
		return err
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-g.Closing():
		return kv.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Pass lets the next one have the turn.
func (t Turn) Pass() { <-t }
