package kvtest

import (
	"context"
	"iter"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

func lifeFaults() []fault {
	return []fault{
		{"writes when its context has ended", "EndedContextIsRefused", func(s *memkv.Store) hooks {
			return hooks{put: func(ctx context.Context, c kv.Column, key, value []byte) error {
				return s.Put(context.WithoutCancel(ctx), c, key, value)
			}}
		}},
		{"runs a function when its context has ended", "EndedContextIsRefused", func(s *memkv.Store) hooks {
			return hooks{update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
				return s.Update(context.WithoutCancel(ctx), fn)
			}}
		}},
		{"yields its error twice", "EndedContextIsRefused", yieldsTwice},
		{"scans on when its context has ended", "EndedContextEndsAScan", func(s *memkv.Store) hooks {
			return hooks{scan: func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
				return s.ScanRange(context.WithoutCancel(ctx), c, r)
			}}
		}},
		{"says that it failed and commits", "ContextEndsInAnUpdate", func(s *memkv.Store) hooks {
			return hooks{update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
				if err := s.Update(context.WithoutCancel(ctx), fn); err != nil {
					return err
				}
				return ctx.Err()
			}}
		}},
		{"goes on when closed", "ClosedStoreRefusesEveryCall", func(*memkv.Store) hooks {
			return hooks{close: func() error { return nil }}
		}},
		{"goes on when closed", "CloseInAScan", endsSilently},
		{"gets its own errors when closed", "A28_CloseInTheMiddle", func(s *memkv.Store) hooks {
			return hooks{get: func(ctx context.Context, c kv.Column, key []byte) ([]byte, error) {
				value, err := s.Get(ctx, c, key)
				if err != nil {
					return nil, context.Canceled
				}
				return value, nil
			}}
		}},
		{"closes when its scans have ended", "CloseInAScan", closesAfterScans},
		{"leaves a goroutine behind", "NothingIsLeftBehind", func(*memkv.Store) hooks {
			go func() { select {} }()
			return hooks{}
		}},
	}
}

func yieldsTwice(s *memkv.Store) hooks {
	return hooks{scan: func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
		return func(yield func(kv.Entry, error) bool) {
			for e, err := range s.ScanRange(ctx, c, r) {
				if !yield(e, err) || err != nil && !yield(e, err) {
					return
				}
			}
		}
	}}
}

// endsSilently has scans that end without an error when the store is closed.
func endsSilently(s *memkv.Store) hooks {
	return hooks{scan: func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
		return func(yield func(kv.Entry, error) bool) {
			for e, err := range s.ScanRange(ctx, c, r) {
				if err != nil || !yield(e, nil) {
					return
				}
			}
		}
	}}
}

func closesAfterScans(s *memkv.Store) hooks {
	var lock sync.RWMutex
	return hooks{
		scan: func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
			return func(yield func(kv.Entry, error) bool) {
				lock.RLock()
				defer lock.RUnlock()
				s.ScanRange(ctx, c, r)(yield)
			}
		},
		close: func() error {
			lock.Lock()
			defer lock.Unlock()
			return s.Close()
		},
	}
}

// copied persists by copying what a keep allows into another store.
func copied(t testing.TB, s kv.KVStorage, keep func(e kv.Entry) bool) kv.KVStorage {
	ctx, again := context.Background(), memkv.New()
	for _, c := range everyColumn() {
		for e, err := range s.Scan(ctx, c, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if !keep(e) {
				continue
			}
			if err := again.Put(ctx, c, e.Key, e.Value); err != nil {
				t.Fatal(err)
			}
		}
	}
	return again
}

// TestBrokenPersistenceIsNoticed is about stores that come back as others.
func TestBrokenPersistenceIsNoticed(t *testing.T) {
	open := func(testing.TB) kv.KVStorage { return memkv.New() }
	for name, keep := range map[string]func(e kv.Entry) bool{
		"A25_EmptyValuesSurviveReopening": func(e kv.Entry) bool { return len(e.Value) > 0 },
		"ReopenKeepsEverything":           func(e kv.Entry) bool { return e.Key[0] != 0xFF },
		"ReopenKeepsWholeUpdates":         func(e kv.Entry) bool { return string(e.Key) != "b" },
		"ReopenAgainAndAgain":             func(e kv.Entry) bool { return string(e.Key) != numbered(9) },
		"RandomHistoriesEqualAModel":      func(e kv.Entry) bool { return string(e.Key) != "a" },
	} {
		t.Run(name, func(t *testing.T) {
			wantNoticed(t, name, Config{Open: open, Reopen: func(t testing.TB, s kv.KVStorage) kv.KVStorage { return copied(t, s, keep) }})
		})
	}
	t.Run("A13_DeletedKeysStayDeleted", func(t *testing.T) {
		first := kv.KVStorage(nil) // the first snapshot, believed when all was deleted
		wantNoticed(t, "A13_DeletedKeysStayDeleted", Config{Open: open, Reopen: func(t testing.TB, s kv.KVStorage) kv.KVStorage {
			again := copied(t, s, func(kv.Entry) bool { return true })
			if _, err := kv.Last(context.Background(), again, col, nil); err != nil && first != nil {
				return copied(t, first, func(kv.Entry) bool { return true })
			}
			if first == nil {
				first = copied(t, s, func(kv.Entry) bool { return true })
			}
			return again
		}})
	})
}

// TestSoundPersistenceIsNotBlamed is the same with nothing lost, and covers
// Reopen in the suite's own tests.
func TestSoundPersistenceIsNotBlamed(t *testing.T) {
	run(t, Config{
		Open: func(testing.TB) kv.KVStorage { return memkv.New() },
		Reopen: func(t testing.TB, s kv.KVStorage) kv.KVStorage {
			return copied(t, s, func(kv.Entry) bool { return true })
		},
	}, append(persistencePromises(), historyPromises()...))
}

// TestFalseClaimsAreNoticed is about what a store says of itself.
func TestFalseClaimsAreNoticed(t *testing.T) {
	wantNoticed(t, "AtomicIsAsDeclared", Config{Open: func(testing.TB) kv.KVStorage { return fiveMethods{memkv.New()} }})
	wantNoticed(t, "AtomicIsAsDeclared", Config{Open: func(testing.TB) kv.KVStorage { return memkv.New() }, NonAtomic: true})
	wantNoticed(t, "KeysLieInTheRealm", Config{Open: func(testing.TB) kv.KVStorage {
		s := memkv.Open(memkv.Options{Realm: "acme"})
		return &broken{s, hooks{update: func(ctx context.Context, fn func(kv.KVStorage) error) error {
			return s.Update(ctx, func(tx kv.KVStorage) error { return fn(fiveMethods{tx}) })
		}}}
	}})
}
