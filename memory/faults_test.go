package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest/brittle"
	"github.com/crabstore/crabstore/kv/memkv"
)

func twoEntries(s kv.KVStorage) error {
	ctx := context.Background()
	_, err := Put(ctx, s, Entry{Name: "a", Aliases: []string{"x", "y"}, Content: "one text"})
	_, err2 := Put(ctx, s, Entry{Name: "b", Aliases: []string{"z"}, Content: "another"})
	return errors.Join(err, err2)
}

// sound wants every alias to lead to an entry, and Reindex to make every entry
// found by what it is called and by what it says.
func sound(t *testing.T, s kv.KVStorage) {
	t.Helper()
	ctx := context.Background()
	for e, err := range s.Scan(ctx, kv.Memory, kv.Prefix(s, "idx", "alias")) {
		if err != nil {
			t.Fatal(err)
		}
		_, parts, err := kv.Split(e.Key)
		if err != nil {
			t.Fatal(err)
		}
		if to, err := load(ctx, s, string(e.Value)); err != nil || !slices.Contains(to.Aliases, parts[2]) {
			t.Errorf("%s leads to %q, which is %+v, %v", e.Key, e.Value, to, err)
		}
	}
	if _, err := Search(ctx, s, Query{Text: "one text another changed"}); err != nil {
		t.Error(err)
	}
	if err := Reindex(ctx, s); err != nil {
		t.Fatal(err)
	}
	list, err := List(ctx, s, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		wantEntry(t, s, e.Name, e)
		for _, a := range e.Aliases {
			if _, err := Get(ctx, s, a); err != nil {
				t.Error(err)
			}
		}
	}
	wantWhole(t, s)
}

// TestFailureAtEachCall fails every call of every operation that writes.
func TestFailureAtEachCall(t *testing.T) {
	ctx := context.Background()
	for name, op := range map[string]func(s kv.KVStorage) error{
		"new": func(s kv.KVStorage) error {
			_, err := Put(ctx, s, Entry{Name: "c", Aliases: []string{"w"}, Content: "text"})
			return err
		},
		"replace": func(s kv.KVStorage) error {
			_, err := Put(ctx, s, Entry{Name: "a", Kind: Fact, Aliases: []string{"y", "w"}, Content: "changed text", Revision: 1})
			return err
		},
		"rename":          func(s kv.KVStorage) error { _, err := Rename(ctx, s, "a", "c"); return err },
		"rename to alias": func(s kv.KVStorage) error { _, err := Rename(ctx, s, "x", "y"); return err },
		"delete":          func(s kv.KVStorage) error { return Delete(ctx, s, "y") },
		"reindex":         func(s kv.KVStorage) error { return Reindex(ctx, s) },
	} {
		t.Run(name, func(t *testing.T) { brittle.Each(t, twoEntries, op, sound) })
	}
}

// TestReadsFail wants readers to return what the store did, not that there is
// nothing.
func TestReadsFail(t *testing.T) {
	ctx := context.Background()
	for name, op := range map[string]func(s kv.KVStorage) error{
		"get":    func(s kv.KVStorage) error { _, err := Get(ctx, s, "x"); return err },
		"list":   func(s kv.KVStorage) error { _, err := List(ctx, s, Filter{}); return err },
		"search": func(s kv.KVStorage) error { _, err := Search(ctx, s, Query{Text: "text"}); return err },
	} {
		t.Run(name, func(t *testing.T) { brittle.Each(t, twoEntries, op, sound) })
	}
}

// TestWhatACrashLeaves makes by hand what only a store without atomic updates can
// come to: an alias of an entry that has not got it, and one of two entries.
func TestWhatACrashLeaves(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	if err := twoEntries(s); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, kv.Memory, aliasKey(s, "stale"), []byte("a")); err != nil {
		t.Fatal(err)
	}
	wantAbsent(t, s, "stale")
	if faults, err := Check(ctx, s); err != nil || fmt.Sprint(faults) != `[too much in column memory: "local/idx/alias/stale"]` {
		t.Errorf("Check = %q, %v", faults, err)
	}
	c := put(t, s, Entry{Name: "c", Aliases: []string{"stale"}})
	wantEntry(t, s, "stale", c)

	twin := c
	twin.Name = "d"
	if err := kv.Store(ctx, s, kv.Memory, entryKey(s, "d"), twin); err != nil {
		t.Fatal(err)
	}
	if err := Reindex(ctx, s); err != nil {
		t.Fatal(err)
	}
	wantEntry(t, s, "stale", c) // the first by name
	if err := Delete(ctx, s, "d"); err != nil {
		t.Fatal(err)
	}
	wantEntry(t, s, "stale", c) // the twin did not take the alias along
}
