package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/crabstore/crabstore/kv"
)

func entryKey(s kv.KVStorage, name string) []byte  { return kv.Key(s, "memory", name) }
func aliasKey(s kv.KVStorage, alias string) []byte { return kv.Key(s, "idx", "alias", alias) }

// load returns the entry of a name.
func load(ctx context.Context, s kv.KVStorage, name string) (Entry, error) {
	if checkName(name) != nil { // no entry has it, and it may not fit a key
		return Entry{}, kv.ErrNotFound
	}
	key := entryKey(s, name)
	data, err := s.Get(ctx, kv.Memory, key)
	if err != nil {
		return Entry{}, err
	}
	return decode(kv.Entry{Key: key, Value: data})
}

// decode reads a stored entry. Msgpack gives times in the local zone.
func decode(stored kv.Entry) (Entry, error) {
	var e Entry
	if err := kv.Unmarshal(stored.Value, &e); err != nil {
		return Entry{}, fmt.Errorf("memory: %q: %w", stored.Key, err)
	}
	e.CreatedAt, e.UpdatedAt = e.CreatedAt.UTC(), e.UpdatedAt.UTC()
	return e, nil
}

// byAlias returns the entry that an alias leads to, if it has that alias.
func byAlias(ctx context.Context, s kv.KVStorage, alias string) (Entry, error) {
	if checkName(alias) != nil {
		return Entry{}, kv.ErrNotFound
	}
	name, err := s.Get(ctx, kv.Memory, aliasKey(s, alias))
	if err != nil {
		return Entry{}, err
	}
	e, err := load(ctx, s, string(name))
	if err == nil && !slices.Contains(e.Aliases, alias) {
		return Entry{}, kv.ErrNotFound
	}
	return e, err
}

// find returns the entry that has a name, or else the one that has it as an alias.
func find(ctx context.Context, s kv.KVStorage, name string) (Entry, error) {
	e, err := load(ctx, s, name)
	if errors.Is(err, kv.ErrNotFound) {
		return byAlias(ctx, s, name)
	}
	return e, err
}

// free returns ErrExists if a name leads to an entry other than own.
func free(ctx context.Context, s kv.KVStorage, name, own string) error {
	switch other, err := find(ctx, s, name); {
	case errors.Is(err, kv.ErrNotFound), err == nil && other.Name == own:
		return nil
	case err != nil:
		return err
	case other.Name == name:
		return fmt.Errorf("%w: %q is an entry; choose another name, or rename or delete that one", ErrExists, name)
	default:
		return fmt.Errorf("%w: %q is an alias of %q; choose another name, or take the alias from that entry", ErrExists, name, other.Name)
	}
}
