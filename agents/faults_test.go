package agents

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest/brittle"
	"github.com/crabstore/crabstore/kv/memkv"
)

const (
	firstID  = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	secondID = "01BX5ZZKBKACTAV9WEVGEMMVRZ"
)

func twoAgents(s kv.KVStorage) error {
	ctx := context.Background()
	_, err := Create(ctx, s, AgentConfig{ID: firstID, Name: "first"})
	_, err2 := Create(ctx, s, AgentConfig{ID: secondID, Name: "second"})
	return errors.Join(err, err2, SetDefault(ctx, s, firstID))
}

// sound wants every index entry to lead to an agent, and Reindex to make every
// agent found by its name and nothing else.
func sound(t *testing.T, s kv.KVStorage) {
	t.Helper()
	ctx := context.Background()
	for e, err := range s.Scan(ctx, kv.Agent, kv.Prefix(s, "idx", "agent")) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Get(ctx, s, string(e.Value)); err != nil {
			t.Errorf("%s leads to %s: %v", e.Key, e.Value, err)
		}
	}
	if id, err := s.Get(ctx, kv.Config, defaultKey(s)); err == nil {
		if _, err := Default(ctx, s); err != nil {
			t.Errorf("the default is %s: %v", id, err)
		}
	}
	if err := Reindex(ctx, s); err != nil {
		t.Fatal(err)
	}
	list, err := List(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		wantAgent(t, s, c)
	}
	wantWhole(t, s)
}

func wantWhole(t *testing.T, s kv.KVStorage, want ...string) {
	t.Helper()
	if faults, err := Check(context.Background(), s); err != nil || fmt.Sprint(faults) != fmt.Sprint(want) {
		t.Errorf("Check = %v, %v; want %v", faults, err, want)
	}
}

// TestFailureAtEachCall fails every call of every operation that writes.
func TestFailureAtEachCall(t *testing.T) {
	ctx := context.Background()
	for name, op := range map[string]func(s kv.KVStorage) error{
		"create": func(s kv.KVStorage) error {
			_, err := Create(ctx, s, AgentConfig{Name: "third"})
			return err
		},
		"update": func(s kv.KVStorage) error {
			_, err := Update(ctx, s, AgentConfig{ID: firstID, Name: "renamed", Revision: 1})
			return err
		},
		"rename":        func(s kv.KVStorage) error { _, err := Rename(ctx, s, secondID, "renamed"); return err },
		"delete":        func(s kv.KVStorage) error { return Delete(ctx, s, firstID) },
		"set default":   func(s kv.KVStorage) error { return SetDefault(ctx, s, secondID) },
		"clear default": func(s kv.KVStorage) error { return SetDefault(ctx, s, "") },
		"check":         func(s kv.KVStorage) error { _, err := Check(ctx, s); return err },
		"reindex":       func(s kv.KVStorage) error { return Reindex(ctx, s) },
	} {
		t.Run(name, func(t *testing.T) { brittle.Each(t, twoAgents, op, sound) })
	}
}

// TestReadsFail wants readers to return what the store did, not that there is
// nothing.
func TestReadsFail(t *testing.T) {
	ctx := context.Background()
	for name, op := range map[string]func(s kv.KVStorage) error{
		"get":     func(s kv.KVStorage) error { _, err := Get(ctx, s, firstID); return err },
		"by name": func(s kv.KVStorage) error { _, err := ByName(ctx, s, "first"); return err },
		"list":    func(s kv.KVStorage) error { _, err := List(ctx, s); return err },
		"default": func(s kv.KVStorage) error { _, err := Default(ctx, s); return err },
	} {
		t.Run(name, func(t *testing.T) { brittle.Each(t, twoAgents, op, sound) })
	}
}

// TestWhatACrashLeaves makes by hand what only a store without atomic updates can
// come to: a name that leads to an agent called otherwise, and two agents of one
// name.
func TestWhatACrashLeaves(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	if err := twoAgents(s); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, kv.Agent, nameKey(s, "ghost"), []byte(firstID)); err != nil {
		t.Fatal(err)
	}
	wantWhole(t, s, `too much in column agent: "local/idx/agent/ghost"`)
	wantAbsent(t, s, "ghost")
	ghost := create(t, s, "ghost")
	wantAgent(t, s, ghost)

	first, err := Get(ctx, s, firstID)
	if err != nil {
		t.Fatal(err)
	}
	twin := first
	twin.ID = secondID
	if err := kv.Store(ctx, s, kv.Agent, agentKey(s, secondID), twin); err != nil {
		t.Fatal(err)
	}
	if err := Reindex(ctx, s); err != nil {
		t.Fatal(err)
	}
	wantAgent(t, s, first) // the older of the two
	wantAbsent(t, s, "second")
	if err := Delete(ctx, s, secondID); err != nil {
		t.Fatal(err)
	}
	wantAgent(t, s, first) // the twin did not take the name along
}
