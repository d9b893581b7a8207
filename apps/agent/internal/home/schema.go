package home

import (
	"context"
	"errors"
	"fmt"

	"github.com/crabstore/crabstore/agents"
	"github.com/crabstore/crabstore/apps/agent/internal/migrate"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/memory"
	"github.com/crabstore/crabstore/sessions"
	"github.com/crabstore/crabstore/skills"
)

// SchemaVersion is that of the keyspace which this program reads and writes. A
// store without one is of version 0: empty, or of another implementation of the
// same keys, whose text index is not ours. Version 1 had a key for each word of each
// message.
const SchemaVersion = 2

func schemaKey(s kv.KVStorage) []byte { return kv.Key(s, "schema") }

// schemaOf returns the version of a store's keyspace.
func schemaOf(ctx context.Context, s kv.KVStorage) (int, error) {
	v, err := kv.Load[int](ctx, s, kv.Config, schemaKey(s))
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	return v, err
}

func refuseNewer(ctx context.Context, s kv.KVStorage) error {
	v, err := schemaOf(ctx, s)
	if err == nil && v > SchemaVersion {
		err = fmt.Errorf("%w: its keyspace is version %d, and this program knows up to %d; use the newer program", ErrNewer, v, SchemaVersion)
	}
	return err
}

// refuseHalf refuses a store that a migration is being copied into.
func refuseHalf(ctx context.Context, s kv.KVStorage) error {
	mark, err := migrate.Marked(ctx, s)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: it holds part of what %s does; run the same \"agent store migrate\" again, which goes on where it was", ErrHalfMigrated, mark.From)
}

// upgrade brings a keyspace up to the version of this program. It can be cut
// short at any place and begun again: the version is written last.
func upgrade(ctx context.Context, s kv.KVStorage, tell func(string)) error {
	if err := refuseNewer(ctx, s); err != nil {
		return err
	}
	v, err := schemaOf(ctx, s)
	if err != nil || v == SchemaVersion {
		return err
	}
	empty, err := IsEmpty(ctx, s)
	if err != nil {
		return err
	}
	if !empty {
		tell(fmt.Sprintf("bringing the store from keyspace version %d to %d: its indexes are made anew", v, SchemaVersion))
		if err := fillIndexes(ctx, s, tell); err != nil {
			return fmt.Errorf("bring the store up to date: %w", err)
		}
	}
	return kv.Store(ctx, s, kv.Config, schemaKey(s), SchemaVersion)
}

// IsEmpty tells whether a store has no key at all.
func IsEmpty(ctx context.Context, s kv.KVStorage) (bool, error) {
	_, _, err := kv.First(ctx, s)
	if errors.Is(err, kv.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// fillIndexes drops the text index, which is not ours, and makes every index anew
// from the content. It tells of every thousand sessions.
func fillIndexes(ctx context.Context, s kv.KVStorage, tell func(string)) error {
	if err := dropText(ctx, s); err != nil {
		return err
	}
	told := 0
	_, err := Reindex(ctx, s, func(done, total int) {
		if done >= told+1000 {
			told = done
			tell(fmt.Sprintf("%d of %d sessions indexed", done, total))
		}
	})
	return err
}

// Reindex makes every index of the packages above the store anew from the content,
// and returns of how many sessions. tell is called now and then with how many of
// all are done, and may be nil.
func Reindex(ctx context.Context, s kv.KVStorage, tell func(done, total int)) (int, error) {
	n, err := sessions.ReindexAll(ctx, s, tell)
	if err != nil {
		return n, err
	}
	for _, step := range []func(context.Context, kv.KVStorage) error{agents.Reindex, memory.Reindex, skills.Reindex} {
		if err := step(ctx, s); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Optimize makes the text indexes as small and as fast as they can be, and leaves
// nothing in them of what was deleted. Those of a store of an older version it leaves
// as they are.
func Optimize(ctx context.Context, s kv.KVStorage) error {
	if v, err := schemaOf(ctx, s); err != nil || v != SchemaVersion {
		return err
	}
	for _, step := range []func(context.Context, kv.KVStorage) error{sessions.Optimize, memory.Optimize, skills.Optimize} {
		if err := step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// dropped is how many keys dropText deletes in one commit.
const dropped = 10_000

func dropText(ctx context.Context, s kv.KVStorage) error {
	for {
		n := 0
		err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
			n = 0
			for key, err := range tx.ScanKeys(ctx, kv.Text, kv.Prefix(tx, "idx", "text")) {
				if err != nil || n == dropped {
					return err
				}
				if _, err := tx.Delete(ctx, kv.Text, key); err != nil {
					return err
				}
				n++
			}
			return nil
		})
		if err != nil || n < dropped {
			return err
		}
	}
}
