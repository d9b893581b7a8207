package kvtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/crabstore/crabstore/kv"
)

const accounts, balance = 10, 100

// readersSeeWholeUpdates moves money between accounts, and a token between keys,
// while scans, views and updates count both.
func readersSeeWholeUpdates(f *fixture) {
	for i := range accounts {
		f.put(fmt.Sprint("account/", i), strconv.Itoa(balance))
	}
	f.put("token/0", "")
	const writers, readers = 3, 3
	moves := max(100, pick(200))
	f.readWhileWriting(writers, readers,
		func(_ int, p *pace) error {
			for step := range moves {
				p.keep(step)
				if err := kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error { return move(f.ctx, tx) }); err != nil {
					return err
				}
			}
			return nil
		},
		func(i int, _ *pace) error { return audits()[i](f.ctx, f.store) })
	f.must(auditByGet(f.ctx, f.store), "at the end")
}

func audits() []func(context.Context, kv.KVStorage) error {
	return []func(context.Context, kv.KVStorage) error{
		auditByScan,
		func(ctx context.Context, s kv.KVStorage) error {
			return kv.View(ctx, s, func(tx kv.KVStorage) error { return auditByGet(ctx, tx) })
		},
		func(ctx context.Context, s kv.KVStorage) error {
			return kv.Update(ctx, s, func(tx kv.KVStorage) error { return auditByGet(ctx, tx) })
		},
	}
}

func move(ctx context.Context, tx kv.KVStorage) error {
	from, to, sum := rand.IntN(accounts), rand.IntN(accounts), rand.IntN(balance)
	if err := add(ctx, tx, fmt.Sprint("account/", from), -sum); err != nil {
		return err
	}
	if err := add(ctx, tx, fmt.Sprint("account/", to), sum); err != nil {
		return err
	}
	for key, err := range tx.ScanKeys(ctx, col, []byte("token/")) {
		if err != nil {
			return err
		}
		if _, err := tx.Delete(ctx, col, key); err != nil {
			return err
		}
	}
	return tx.Put(ctx, col, fmt.Append(nil, "token/", rand.IntN(100)), nil)
}

// auditByScan counts with one scan over both prefixes.
func auditByScan(ctx context.Context, s kv.KVStorage) error {
	sum, tokens := 0, 0
	for e, err := range s.Scan(ctx, col, nil) {
		if err != nil {
			return err
		}
		if e.Key[0] == 't' {
			tokens++
			continue
		}
		n, err := strconv.Atoi(string(e.Value))
		if err != nil {
			return err
		}
		sum += n
	}
	if sum != accounts*balance || tokens != 1 {
		return fmt.Errorf("one scan finds the sum %d and %d tokens, want %d and 1", sum, tokens, accounts*balance)
	}
	return nil
}

// auditByGet counts with many calls.
func auditByGet(ctx context.Context, s kv.KVStorage) error {
	sum, tokens := 0, 0
	for _, err := range s.ScanKeys(ctx, col, []byte("token/")) {
		if err != nil {
			return err
		}
		tokens++
	}
	for i := range accounts {
		value, err := s.Get(ctx, col, fmt.Append(nil, "account/", i))
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(value))
		if err != nil {
			return err
		}
		sum += n
	}
	if sum != accounts*balance || tokens != 1 {
		return fmt.Errorf("a transaction finds the sum %d and %d tokens, want %d and 1", sum, tokens, accounts*balance)
	}
	return nil
}
