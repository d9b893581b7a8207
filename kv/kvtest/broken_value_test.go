package kvtest

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

func valueFaults() []fault {
	return []fault{
		{"keeps the value it is given", "ArgumentsAreNotKept", keepsValues},
		{"hands out what it keeps", "GetHandsOutTheCallersOwn", handsOutItsOwn},
		{"yields one buffer again and again", "B08_ScansHandOutTheCallersOwn", oneBuffer},
		{"carves keys that may grow into each other", "B08_ScansHandOutTheCallersOwn", carves},
		{"takes empty for absent", "A25_EmptyIsNotAbsent", func(s *memkv.Store) hooks {
			return hooks{get: func(ctx context.Context, c kv.Column, key []byte) ([]byte, error) {
				value, err := s.Get(ctx, c, key)
				if err == nil && len(value) == 0 {
					err = kv.ErrNotFound
				}
				return value, err
			}}
		}},
		{"returns nil for empty", "A25_EmptyIsNotAbsent", func(s *memkv.Store) hooks {
			return hooks{get: func(ctx context.Context, c kv.Column, key []byte) ([]byte, error) {
				value, err := s.Get(ctx, c, key)
				return append([]byte(nil), value...), err
			}}
		}},
		{"ends values at a NUL", "B06_AnyBytesRoundTrip", stored(func(value []byte) []byte {
			value, _, _ = bytes.Cut(value, []byte{0})
			return value
		})},
		{"mends bad UTF-8", "B06_AnyBytesRoundTrip", stored(func(value []byte) []byte {
			return bytes.ToValidUTF8(value, []byte("\uFFFD"))
		})},
		{"cuts large values", "LargeValuesRoundTrip", stored(func(value []byte) []byte { return value[:min(len(value), 65535)] })},
		{"has a shorter limit for keys", "LongestKey", putIf(func(key, _ []byte) bool { return len(key) < kv.MaxKeySize }, kv.ErrKeyTooLarge)},
		{"drops large values silently", "ValuesBeyondTheLimitAreRefused", putIf(func(_, value []byte) bool { return len(value) <= kv.MaxValueSize }, nil)},
		{"drops keys of no bytes silently", "KeysBeyondTheLimitsAreRefused", putIf(func(key, _ []byte) bool { return len(key) > 0 }, nil)},
		{"puts once", "PutReplaces", func(s *memkv.Store) hooks {
			return hooks{put: func(ctx context.Context, c kv.Column, key, value []byte) error {
				if ok, err := kv.Has(ctx, s, c, key); ok || err != nil {
					return err
				}
				return s.Put(ctx, c, key, value)
			}}
		}},
		{"always deletes", "DeleteTellsWhatWas", func(s *memkv.Store) hooks {
			return hooks{delete: func(ctx context.Context, c kv.Column, key []byte) (bool, error) {
				_, err := s.Delete(ctx, c, key)
				return err == nil, err
			}}
		}},
		{"errs on absent keys", "GetOfAbsent", func(s *memkv.Store) hooks {
			return hooks{get: func(ctx context.Context, c kv.Column, key []byte) ([]byte, error) {
				value, err := s.Get(ctx, c, key)
				if errors.Is(err, kv.ErrNotFound) {
					return nil, errors.New("no such row")
				}
				return value, err
			}}
		}},
		{"mixes columns", "ColumnsAreHardPartitions", func(s *memkv.Store) hooks {
			return hooks{put: func(ctx context.Context, c kv.Column, key, value []byte) error { return s.Put(ctx, c&7, key, value) }}
		}},
		{"reads from a cache", "ReadersNeverGoBack", cached},
	}
}

// stored is a store that stores something else.
func stored(change func(value []byte) []byte) func(*memkv.Store) hooks {
	return func(s *memkv.Store) hooks {
		return hooks{put: func(ctx context.Context, c kv.Column, key, value []byte) error {
			return s.Put(ctx, c, key, change(value))
		}}
	}
}

// putIf is a store that puts what ok allows, and answers otherwise what it likes.
func putIf(ok func(key, value []byte) bool, otherwise error) func(*memkv.Store) hooks {
	return func(s *memkv.Store) hooks {
		return hooks{put: func(ctx context.Context, c kv.Column, key, value []byte) error {
			if !ok(key, value) {
				return otherwise
			}
			return s.Put(ctx, c, key, value)
		}}
	}
}

func keepsValues(s *memkv.Store) hooks {
	kept := map[string][]byte{}
	return hooks{
		put: func(ctx context.Context, c kv.Column, key, value []byte) error {
			kept[string(key)] = value
			return s.Put(ctx, c, key, value)
		},
		scan: func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
			return func(yield func(kv.Entry, error) bool) {
				for e, err := range s.ScanRange(ctx, c, r) {
					e.Value = kept[string(e.Key)]
					if !yield(e, err) {
						return
					}
				}
			}
		},
	}
}

func handsOutItsOwn(s *memkv.Store) hooks {
	kept := map[string][]byte{}
	return hooks{get: func(ctx context.Context, c kv.Column, key []byte) ([]byte, error) {
		if value := kept[string(key)]; value != nil {
			return value, nil
		}
		value, err := s.Get(ctx, c, key)
		kept[string(key)] = value
		return value, err
	}}
}

func oneBuffer(s *memkv.Store) hooks {
	return hooks{scan: func(ctx context.Context, c kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
		return func(yield func(kv.Entry, error) bool) {
			var buffer []byte
			for e, err := range s.ScanRange(ctx, c, r) {
				buffer = append(buffer[:0], e.Key...)
				e.Key = buffer
				if !yield(e, err) {
					return
				}
			}
		}
	}}
}

// carves cuts keys out of a chunk and leaves them the room of the next one.
func carves(s *memkv.Store) hooks {
	return changed(s, func(_ kv.Range, all []kv.Entry) []kv.Entry {
		var chunk []byte
		for _, e := range all {
			chunk = append(chunk, e.Key...)
		}
		for i, e := range all {
			all[i].Key, chunk = chunk[:len(e.Key)], chunk[len(e.Key):]
		}
		return all
	})
}

func cached(s *memkv.Store) hooks {
	var cache sync.Map
	return hooks{get: func(ctx context.Context, c kv.Column, key []byte) ([]byte, error) {
		if value, ok := cache.Load(string(key)); ok {
			return bytes.Clone(value.([]byte)), nil
		}
		value, err := s.Get(ctx, c, key)
		if err == nil {
			cache.Store(string(key), value)
		}
		return bytes.Clone(value), err
	}}
}
