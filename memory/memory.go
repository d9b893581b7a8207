package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// Put stores an entry, in place of the one of that name if there is one, and
// returns it as stored. When e.Revision is not 0 it has to be that of the stored
// entry, else Put returns kv.ErrConflict; the time of an entry's making is kept.
// ErrExists means that the name is another entry's alias, or an alias another
// entry's name or alias.
func Put(ctx context.Context, s kv.KVStorage, e Entry) (Entry, error) {
	e, err := e.prepared()
	if err != nil {
		return Entry{}, err
	}
	stated := e.Revision
	err = kv.Update(ctx, s, func(tx kv.KVStorage) error {
		old, err := load(ctx, tx, e.Name)
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		if stated != 0 && stated != old.Revision {
			return fmt.Errorf("memory: %q has revision %d, not %d: it was changed meanwhile; read it again and decide anew: %w",
				e.Name, old.Revision, stated, kv.ErrConflict)
		}
		e.UpdatedAt, e.Revision = now(), old.Revision+1
		if old.Revision > 0 {
			e.CreatedAt = old.CreatedAt
		} else if e.CreatedAt.IsZero() {
			e.CreatedAt = e.UpdatedAt
		}
		return replace(ctx, tx, old, e)
	})
	return settled(e, err)
}

// Get returns the entry that has a name, or else the one that has it as an alias,
// or kv.ErrNotFound.
func Get(ctx context.Context, s kv.KVStorage, name string) (Entry, error) {
	e, err := find(ctx, s, name)
	if errors.Is(err, kv.ErrNotFound) {
		err = fmt.Errorf("memory: nothing is named %.80q: %w", name, kv.ErrNotFound)
	}
	return e, err
}

// Filter says which entries are meant. Its zero value means all.
type Filter struct {
	Kind  string // only those of this kind
	Under string // only the one of this name, and those whose names go on with a slash behind it
}

func (f Filter) holds(e Entry) bool {
	under := strings.TrimSuffix(f.Under, "/")
	return (f.Kind == "" || e.Kind == f.Kind) &&
		(under == "" || e.Name == under || strings.HasPrefix(e.Name, under+"/"))
}

// List returns the entries that f means, sorted by the bytes of their names.
func List(ctx context.Context, s kv.KVStorage, f Filter) ([]Entry, error) {
	prefix := kv.AppendPart(kv.Prefix(s, "memory"), strings.TrimSuffix(f.Under, "/"))
	var list []Entry
	for stored, err := range s.Scan(ctx, kv.Memory, prefix) {
		if err != nil {
			return nil, err
		}
		e, err := decode(stored)
		if err != nil {
			return nil, err
		}
		if f.holds(e) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Delete removes the entry that has a name, or else the one that has it as an
// alias, with all that leads to it. It returns kv.ErrNotFound when there is none.
func Delete(ctx context.Context, s kv.KVStorage, name string) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		e, err := Get(ctx, tx, name)
		if err != nil {
			return err
		}
		return remove(ctx, tx, e)
	})
}

// Rename gives the entry of name (or alias) old another name and returns it as
// stored. Its aliases go on leading to it; if name is one of them, it stops being
// one. ErrExists means that name leads to another entry.
func Rename(ctx context.Context, s kv.KVStorage, old, name string) (Entry, error) {
	if err := checkName(name); err != nil {
		return Entry{}, err
	}
	var e Entry
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		was, err := Get(ctx, tx, old)
		if err != nil {
			return err
		}
		e = was
		if name == was.Name {
			return nil
		}
		e.Name, e.UpdatedAt, e.Revision = name, now(), was.Revision+1
		if e.Aliases, err = aliasesOf(e); err != nil {
			return err
		}
		return replace(ctx, tx, was, e)
	})
	return settled(e, err)
}

// now is the present in UTC, without the monotonic reading that no store keeps.
func now() time.Time { return time.Now().UTC().Round(0) }

// settled is what a function returns of an entry that it tried to store.
func settled(e Entry, err error) (Entry, error) {
	if err != nil {
		return Entry{}, err
	}
	return e, nil
}
