package etcdkv

import (
	"context"
	"fmt"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// Update runs fn as one transaction. It reads the store as it is at one revision and
// commits on the condition that nobody has committed since; if somebody has, fn runs
// again.
func (s *Store) Update(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	if s.readOnly {
		return s.View(ctx, fn) // which refuses the writes
	}
	leave, err := s.gate.Hold(ctx)
	if err != nil {
		return err
	}
	defer leave()
	mine := false
	for n := range attempts {
		if !mine && (n > 0 || s.contended()) { // from the second try on none of ours is to come between
			pass, err := s.takeTurn(ctx, patience)
			if err != nil {
				return err
			}
			defer pass()
			mine = true
		}
		if done, err := s.try(ctx, fn); done || err != nil {
			return err
		}
		if n > 0 { // whom we met is another process
			if err := pause(ctx, n); err != nil {
				return err
			}
		}
	}
	return errContended
}

// try runs fn once, and tells whether it is committed.
func (s *Store) try(ctx context.Context, fn func(tx kv.KVStorage) error) (bool, error) {
	g, rev, err := s.readClean(ctx)
	if err != nil {
		return false, err
	}
	changes, err := kv.Collect(ctx, s, &moment{store: s, rev: rev}, fn)
	if err != nil || len(changes) == 0 {
		return true, err
	}
	leave, err := s.gate.Call(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	return s.commit(ctx, g, rev, changes)
}

// View runs fn on the store as it is at one moment.
func (s *Store) View(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	leave, err := s.gate.Hold(ctx)
	if err != nil {
		return err
	}
	defer leave()
	m, _, err := s.now(ctx)
	if err != nil {
		return err
	}
	return kv.ViewAt(ctx, s, m, fn)
}

const (
	patience = time.Minute // for the turn: as long as some transactions take
	courtesy = time.Second // what a single write lets transactions go before that have failed
)

// contended tells whether a transaction tries again or waits to.
func (s *Store) contended() bool { return s.queue.Load() > 0 }

// takeTurn waits until no other transaction of this process has the turn. It is for
// those that have met another: without it the writers of one process would keep
// failing on each other.
func (s *Store) takeTurn(ctx context.Context, limit time.Duration) (pass func(), err error) {
	s.queue.Add(1)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn; s.queue.Add(-1) }, nil
	case <-timer.C:
		err = fmt.Errorf("%w: waited %v for the transactions before this one", kv.ErrBusy, limit)
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.queue.Add(-1)
	return nil, err
}
