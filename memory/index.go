package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/crabstore/crabstore/kv"
)

// replace stores e in place of old, which is the zero Entry if there was none and
// may have had another name. The order matters to a store without atomic updates:
// what no longer leads here goes first, then comes the entry, then what leads to
// it, so that a crash leaves nothing that points at nothing.
func replace(ctx context.Context, tx kv.KVStorage, old, e Entry) error {
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		if err := free(ctx, tx, name, old.Name); err != nil {
			return err
		}
	}
	for _, a := range old.Aliases {
		if !slices.Contains(e.Aliases, a) {
			if err := unalias(ctx, tx, a, old.Name); err != nil {
				return err
			}
		}
	}
	if err := kv.Store(ctx, tx, kv.Memory, entryKey(tx, e.Name), e); err != nil {
		return err
	}
	for _, a := range e.Aliases {
		if err := tx.Put(ctx, kv.Memory, aliasKey(tx, a), []byte(e.Name)); err != nil {
			return err
		}
	}
	if old.Name == "" || old.Name == e.Name {
		return nil
	}
	_, err := tx.Delete(ctx, kv.Memory, entryKey(tx, old.Name))
	return err
}

// remove deletes an entry, after what leads to it.
func remove(ctx context.Context, tx kv.KVStorage, e Entry) error {
	for _, a := range e.Aliases {
		if err := unalias(ctx, tx, a, e.Name); err != nil {
			return err
		}
	}
	_, err := tx.Delete(ctx, kv.Memory, entryKey(tx, e.Name))
	return err
}

// unalias removes an alias from the index, unless it leads elsewhere than to name.
func unalias(ctx context.Context, tx kv.KVStorage, alias, name string) error {
	key := aliasKey(tx, alias)
	to, err := tx.Get(ctx, kv.Memory, key)
	if errors.Is(err, kv.ErrNotFound) || err == nil && string(to) != name {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = tx.Delete(ctx, kv.Memory, key)
	return err
}
