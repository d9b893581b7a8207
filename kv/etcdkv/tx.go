package etcdkv

import (
	"context"
	"fmt"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// Update runs fn as one transaction. It reads the store as it is at one revision and
// commits on the condition that nobody has committed since; if somebody has, fn runs
// again: then when no other of this process does, and then when no other at all does,
// so that one that takes its time gets its turn too.
func (s *Store) Update(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	if s.readOnly {
		return s.View(ctx, fn) // which refuses the writes
	}
	leave, err := s.gate.Hold(ctx)
	if err != nil {
		return err
	}
	defer leave()
	mine, done := false, false
	for n := 0; n < attempts && !done && err == nil; n++ {
		alone := mine
		if !mine && (n > 0 || s.contended()) {
			pass, err := s.takeTurn(ctx, longest)
			if err != nil {
				return err
			}
			defer pass()
			mine = true
		}
		done, err = s.try(ctx, fn, alone)
	}
	if err == nil && !done {
		err = errContended
	}
	return err
}

// try runs fn once, and tells whether it is committed. Alone means that it claims the
// guard before.
func (s *Store) try(ctx context.Context, fn func(tx kv.KVStorage) error, alone bool) (done bool, err error) {
	g, rev, err := s.readClean(ctx)
	if err != nil {
		return false, err
	}
	if alone {
		var mine bool
		if g, mine, err = s.claim(ctx, g, rev); err != nil || !mine {
			return false, err
		}
		rev = g.mod
		defer func() { // also when fn panics; if it fails, others do it when they have waited
			if !done {
				_ = s.release(context.WithoutCancel(ctx), g)
			}
		}()
	}
	changes, err := kv.Collect(ctx, s, &moment{store: s, rev: rev}, fn)
	if err != nil {
		return false, err
	}
	if len(changes) == 0 && !alone {
		return true, nil
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
	longest  = time.Minute // that a transaction waits for others of this process
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
