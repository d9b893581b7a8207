package kvtest

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

func transactionFaults() []fault {
	return []fault{
		{"writes as it goes", "ErrorRollsBack", writesAsItGoes},
		{"writes as it goes", "UpdateIsUnseenUntilItCommits", writesAsItGoes},
		{"writes as it goes", "OuterUpdateDecides", writesAsItGoes},
		{"swallows the error", "ErrorRollsBack", func(s *memkv.Store) hooks {
			return hooks{update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
				_ = s.Update(ctx, fn)
				return nil
			}}
		}},
		{"commits on a panic", "PanicRollsBack", commitsOnPanic},
		{"keeps its lock on a panic", "PanicRollsBack", keepsItsLock},
		{"keeps its lock on a panic", "GoexitRollsBack", keepsItsLock},
		{"shows no writes to their transaction", "UpdateReadsItsOwnWrites", blindWrites},
		{"begins an Update in an Update", "InnerUpdateJoins", nests},
		{"lets a transaction live on", "DeadTransactionIsClosed", livesOn},
		{"lets a view live on", "ViewDies", livesOn},
		{"views the store as it goes", "ViewIsFrozen", func(s *memkv.Store) hooks {
			return hooks{view: func(_ context.Context, fn func(kv.KVStorage) error) error { return fn(kv.ReadOnly(s)) }}
		}},
		{"writes through views", "ViewRefusesWrites", func(s *memkv.Store) hooks {
			return hooks{view: func(_ context.Context, fn func(kv.KVStorage) error) error { return fn(s) }}
		}},
		{"loses updates", "B01_CountersLoseNoUpdate", optimistic(false)},
		{"loses updates", "UpdatesThatMeetAreSerializable", optimistic(false)},
		{"checks only what was written", "NoWriteSkew", optimistic(true)},
		{"lets a Put into an Update", "PutThatMeetsAnUpdateIsSerializable", appliesInPieces},
		{"applies an Update in pieces", "ReadersSeeWholeUpdates", appliesInPieces},
		{"waits for ever", "WaitingForTheTurnHonoursContext", keepsItsLock},
		{"loses a Put behind a Delete", "RandomHistoriesEqualAModel", losesPutBehindDelete},
	}
}

func writesAsItGoes(s *memkv.Store) hooks {
	return hooks{update: func(_ context.Context, fn func(kv.KVStorage) error) error { return fn(fiveMethods{s}) }}
}

func commitsOnPanic(s *memkv.Store) hooks {
	return hooks{update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
		var panicked any
		err := s.Update(ctx, func(tx kv.KVStorage) (err error) {
			defer func() { panicked = recover() }()
			return fn(tx)
		})
		if panicked != nil {
			panic(panicked)
		}
		return err
	}}
}

// keepsItsLock has a lock that nothing but a return gives back, and for which it
// waits whatever the context says.
func keepsItsLock(s *memkv.Store) hooks {
	var lock sync.Mutex
	return hooks{update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
		lock.Lock()
		err := s.Update(ctx, fn)
		lock.Unlock()
		return err
	}}
}

// blindWrites reads the store below, not the transaction.
func blindWrites(s *memkv.Store) hooks {
	return hooks{update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
		return s.Update(ctx, func(tx kv.KVStorage) error {
			return fn(&broken{s, hooks{put: tx.Put, delete: tx.Delete}})
		})
	}}
}

// nests has transactions whose Update is another one of the store.
func nests(s *memkv.Store) hooks {
	return hooks{update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
		return s.Update(ctx, func(tx kv.KVStorage) error {
			return fn(&broken{s, hooks{get: tx.Get, put: tx.Put, delete: tx.Delete}})
		})
	}}
}

func livesOn(s *memkv.Store) hooks {
	return hooks{
		update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
			o := kv.NewOverlay(s)
			if err := fn(o); err != nil {
				return err
			}
			return o.Apply(ctx, s)
		},
		view: func(_ context.Context, fn func(kv.KVStorage) error) error { return fn(kv.ReadOnly(s)) },
	}
}

// optimistic runs updates side by side, each over a snapshot, and commits one when
// nobody wrote what it wrote; or, without the check, always.
func optimistic(check bool) func(*memkv.Store) hooks {
	return func(s *memkv.Store) hooks {
		return hooks{update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
			for {
				snapshot := memkv.New()
				for e, err := range s.Scan(ctx, col, nil) {
					if err != nil {
						return err
					}
					if err := snapshot.Put(ctx, col, e.Key, e.Value); err != nil {
						return err
					}
				}
				o := kv.NewOverlay(snapshot)
				if err := fn(o); err != nil {
					return err
				}
				err := s.Update(ctx, func(tx kv.KVStorage) error {
					if check && changedSince(ctx, tx, snapshot, o) {
						return kv.ErrConflict
					}
					return o.Apply(ctx, tx)
				})
				if !errors.Is(err, kv.ErrConflict) {
					return err
				}
			}
		}}
	}
}

// changedSince tells whether a key that o writes has another value now.
func changedSince(ctx context.Context, now, snapshot kv.KVStorage, o *kv.Overlay) bool {
	for _, c := range o.Changes() {
		is, err := now.Get(ctx, c.Column, c.Key)
		was, err2 := snapshot.Get(ctx, c.Column, c.Key)
		if (err == nil) != (err2 == nil) || !bytes.Equal(is, was) {
			return true
		}
	}
	return false
}

// appliesInPieces has one Update at a time, beside which others read and put.
func appliesInPieces(s *memkv.Store) hooks {
	var lock sync.Mutex
	return hooks{update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
		lock.Lock()
		defer lock.Unlock()
		o := kv.NewOverlay(s)
		defer o.Close()
		if err := fn(o); err != nil {
			return err
		}
		return o.Apply(ctx, &broken{s, hooks{put: func(ctx context.Context, c kv.Column, key, value []byte) error {
			runtime.Gosched()
			return s.Put(ctx, c, key, value)
		}}})
	}}
}

func losesPutBehindDelete(s *memkv.Store) hooks {
	return hooks{update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
		return s.Update(ctx, func(tx kv.KVStorage) error {
			deleted := map[string]bool{}
			return fn(&brokenTx{tx, deleted})
		})
	}}
}

type brokenTx struct {
	kv.KVStorage
	deleted map[string]bool
}

func (tx *brokenTx) Delete(ctx context.Context, c kv.Column, key []byte) (bool, error) {
	tx.deleted[string(key)] = true
	return tx.KVStorage.Delete(ctx, c, key)
}

func (tx *brokenTx) Put(ctx context.Context, c kv.Column, key, value []byte) error {
	if tx.deleted[string(key)] {
		return nil
	}
	return tx.KVStorage.Put(ctx, c, key, value)
}
