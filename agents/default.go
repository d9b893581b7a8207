package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/crabstore/crabstore/kv"
)

// Default returns the agent that is meant when none is named, or kv.ErrNotFound
// when there is no default.
func Default(ctx context.Context, s kv.KVStorage) (AgentConfig, error) {
	id, err := s.Get(ctx, kv.Config, defaultKey(s))
	if err == nil {
		var c AgentConfig
		if c, err = load(ctx, s, string(id)); err == nil {
			return c, nil
		}
	}
	if errors.Is(err, kv.ErrNotFound) {
		err = fmt.Errorf("agents: no agent is the default one: %w", kv.ErrNotFound)
	}
	return AgentConfig{}, err
}

// SetDefault makes an agent the default one, or, for an empty id, none. It
// returns kv.ErrNotFound when there is no such agent.
func SetDefault(ctx context.Context, s kv.KVStorage, id string) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		if id == "" {
			_, err := tx.Delete(ctx, kv.Config, defaultKey(tx))
			return err
		}
		if _, err := Get(ctx, tx, id); err != nil {
			return err
		}
		return tx.Put(ctx, kv.Config, defaultKey(tx), []byte(id))
	})
}

// undefault leaves no default if it is the agent of this id.
func undefault(ctx context.Context, tx kv.KVStorage, id string) error {
	current, err := tx.Get(ctx, kv.Config, defaultKey(tx))
	if errors.Is(err, kv.ErrNotFound) || err == nil && string(current) != id {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = tx.Delete(ctx, kv.Config, defaultKey(tx))
	return err
}
