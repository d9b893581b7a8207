package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// Create stores a new agent and returns it as stored: with an id, unless one was
// given, the time of its making and revision 1. It returns ErrInvalid, or
// ErrExists when the name or the id is taken.
func Create(ctx context.Context, s kv.KVStorage, c AgentConfig) (AgentConfig, error) {
	if err := c.Validate(); err != nil {
		return AgentConfig{}, err
	}
	if c.ID == "" {
		c.ID = kv.NewID()
	}
	c.CreatedAt = now()
	c.UpdatedAt, c.Revision = c.CreatedAt, 1
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		if taken, err := kv.Has(ctx, tx, kv.Agent, agentKey(tx, c.ID)); err != nil {
			return err
		} else if taken {
			return fmt.Errorf("%w: the id %s is taken; leave it out to have another one made", ErrExists, c.ID)
		}
		return write(ctx, tx, c)
	})
	return settled(c, err)
}

// Get returns the agent of an id, or kv.ErrNotFound.
func Get(ctx context.Context, s kv.KVStorage, id string) (AgentConfig, error) {
	c, err := load(ctx, s, id)
	if errors.Is(err, kv.ErrNotFound) {
		err = fmt.Errorf("agents: no agent has the id %q: %w", id, kv.ErrNotFound)
	}
	return c, err
}

// ByName returns the agent of a name, or kv.ErrNotFound.
func ByName(ctx context.Context, s kv.KVStorage, name string) (AgentConfig, error) {
	c, err := byName(ctx, s, name)
	if errors.Is(err, kv.ErrNotFound) {
		err = fmt.Errorf("agents: no agent is named %q: %w", name, kv.ErrNotFound)
	}
	return c, err
}

// List returns all agents, sorted by the bytes of their names.
func List(ctx context.Context, s kv.KVStorage) ([]AgentConfig, error) {
	var list []AgentConfig
	for e, err := range s.Scan(ctx, kv.Agent, kv.Prefix(s, "agent")) {
		if err != nil {
			return nil, err
		}
		c, err := decode(e)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b AgentConfig) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Update replaces the agent that has c.ID and returns it as stored. When
// c.Revision is not 0 it has to be the stored one, else Update returns
// kv.ErrConflict. The name may change; the time of the agent's making does not.
func Update(ctx context.Context, s kv.KVStorage, c AgentConfig) (AgentConfig, error) {
	if err := c.Validate(); err != nil {
		return AgentConfig{}, err
	}
	return change(ctx, s, c.ID, func(old AgentConfig) (AgentConfig, error) {
		if c.Revision != 0 && c.Revision != old.Revision {
			return c, fmt.Errorf("agents: agent %q has revision %d, not %d: it was changed meanwhile; read it again and decide anew: %w",
				old.Name, old.Revision, c.Revision, kv.ErrConflict)
		}
		return c, nil
	})
}

// Rename gives an agent another name and returns it as stored. It returns
// ErrInvalid for what cannot be a name and ErrExists for one that is taken.
func Rename(ctx context.Context, s kv.KVStorage, id, name string) (AgentConfig, error) {
	return change(ctx, s, id, func(c AgentConfig) (AgentConfig, error) {
		c.Name = name
		var f faults
		f.name(name)
		return c, f.err()
	})
}

// change stores what edit makes of an agent.
func change(ctx context.Context, s kv.KVStorage, id string, edit func(AgentConfig) (AgentConfig, error)) (AgentConfig, error) {
	var c AgentConfig
	err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
		old, err := Get(ctx, tx, id)
		if err != nil {
			return err
		}
		if c, err = edit(old); err != nil {
			return err
		}
		c.CreatedAt, c.UpdatedAt, c.Revision = old.CreatedAt, now(), old.Revision+1
		if err := write(ctx, tx, c); err != nil || c.Name == old.Name {
			return err
		}
		return unname(ctx, tx, old)
	})
	return settled(c, err)
}

// Delete removes an agent, its name and, if it was the default, the default. It
// returns kv.ErrNotFound when there is none.
func Delete(ctx context.Context, s kv.KVStorage, id string) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		c, err := Get(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := undefault(ctx, tx, id); err != nil {
			return err
		}
		if err := unname(ctx, tx, c); err != nil {
			return err
		}
		_, err = tx.Delete(ctx, kv.Agent, agentKey(tx, id))
		return err
	})
}

// Reindex makes the names of the index those of the agents. Where two agents
// have one name, as a crash of a store without atomic updates can leave them, it
// leads to the older one.
func Reindex(ctx context.Context, s kv.KVStorage) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		list, err := List(ctx, tx)
		if err != nil {
			return err
		}
		for key, err := range tx.ScanKeys(ctx, kv.Agent, kv.Prefix(tx, "idx", "agent")) {
			if err != nil {
				return err
			}
			if _, err := tx.Delete(ctx, kv.Agent, key); err != nil {
				return err
			}
		}
		for _, c := range slices.Backward(list) { // by name, then from the youngest to the oldest
			if err := tx.Put(ctx, kv.Agent, nameKey(tx, c.Name), []byte(c.ID)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Check compares the names of the index with the agents and returns all that is
// amiss, which Reindex puts right. It changes nothing.
func Check(ctx context.Context, s kv.KVStorage) ([]kv.Difference, error) {
	return kv.Differences(ctx, s, func(tx kv.KVStorage) error { return Reindex(ctx, tx) })
}

// now is the present in UTC, without the monotonic reading that no store keeps.
func now() time.Time { return time.Now().UTC().Round(0) }

// settled is what a function returns of an agent that it tried to store.
func settled(c AgentConfig, err error) (AgentConfig, error) {
	if err != nil {
		return AgentConfig{}, err
	}
	return c, nil
}
