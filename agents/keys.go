package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/crabstore/crabstore/kv"
)

func agentKey(s kv.KVStorage, id string) []byte  { return kv.Key(s, "agent", id) }
func nameKey(s kv.KVStorage, name string) []byte { return kv.Key(s, "idx", "agent", name) }
func defaultKey(s kv.KVStorage) []byte           { return kv.Key(s, "default_agent") }

// load returns the agent of an id.
func load(ctx context.Context, s kv.KVStorage, id string) (AgentConfig, error) {
	if len(id) > MaxName { // no agent has it, and it may not fit a key
		return AgentConfig{}, kv.ErrNotFound
	}
	key := agentKey(s, id)
	data, err := s.Get(ctx, kv.Agent, key)
	if err != nil {
		return AgentConfig{}, err
	}
	return decode(kv.Entry{Key: key, Value: data})
}

// decode reads a stored agent. Msgpack gives times in the local zone.
func decode(e kv.Entry) (AgentConfig, error) {
	var c AgentConfig
	if err := kv.Unmarshal(e.Value, &c); err != nil {
		return AgentConfig{}, fmt.Errorf("agents: %q: %w", e.Key, err)
	}
	c.CreatedAt, c.UpdatedAt = c.CreatedAt.UTC(), c.UpdatedAt.UTC()
	return c, nil
}

// byName returns the agent that a name leads to, if that is its name.
func byName(ctx context.Context, s kv.KVStorage, name string) (AgentConfig, error) {
	if len(name) > MaxName {
		return AgentConfig{}, kv.ErrNotFound
	}
	id, err := s.Get(ctx, kv.Agent, nameKey(s, name))
	if err != nil {
		return AgentConfig{}, err
	}
	c, err := load(ctx, s, string(id))
	if err == nil && c.Name != name {
		return AgentConfig{}, kv.ErrNotFound
	}
	return c, err
}

// write stores an agent and then its name, which no other may have.
func write(ctx context.Context, tx kv.KVStorage, c AgentConfig) error {
	switch other, err := byName(ctx, tx, c.Name); {
	case err == nil && other.ID != c.ID:
		return fmt.Errorf("%w: the name %q is that of agent %s; choose another one", ErrExists, c.Name, other.ID)
	case err != nil && !errors.Is(err, kv.ErrNotFound):
		return err
	}
	if err := kv.Store(ctx, tx, kv.Agent, agentKey(tx, c.ID), c); err != nil {
		return err
	}
	return tx.Put(ctx, kv.Agent, nameKey(tx, c.Name), []byte(c.ID))
}

// unname removes the name of an agent from the index, unless it leads to another
// one by now.
func unname(ctx context.Context, tx kv.KVStorage, c AgentConfig) error {
	key := nameKey(tx, c.Name)
	id, err := tx.Get(ctx, kv.Agent, key)
	if errors.Is(err, kv.ErrNotFound) || err == nil && string(id) != c.ID {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = tx.Delete(ctx, kv.Agent, key)
	return err
}
