package etcdkv

import (
	"context"
	"errors"
	"strconv"

	"github.com/crabstore/crabstore/kv"
)

// increment adds 1 to the number under a key; none is 0.
func increment(ctx context.Context, tx kv.KVStorage, key string) error {
	n, err := number(ctx, tx, key)
	if err != nil {
		return err
	}
	return tx.Put(ctx, col, []byte(key), strconv.AppendInt(nil, int64(n)+1, 10))
}

func number(ctx context.Context, s kv.KVStorage, key string) (int, error) {
	value, err := s.Get(ctx, col, []byte(key))
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(value))
}
