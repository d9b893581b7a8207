package agents

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest/brittle"
	"github.com/crabstore/crabstore/kv/memkv"
)

// full is a configuration with a value in every field that a person writes.
func full(name string) AgentConfig {
	return AgentConfig{
		Name:             name,
		Description:      "You write Go.",
		Model:            Model{Provider: "anthropic", Name: "claude", BaseURL: "https://models.example/v1", Parameters: map[string]any{"temperature": 0.5}},
		Tools:            []string{"read", "bash"},
		Skills:           []string{"review"},
		MCPServers:       []MCPServer{{Name: "files", Command: "files-mcp", Args: []string{"."}, Env: map[string]string{"A": "b"}}, {Name: "web", URL: "http://localhost:1/mcp", Headers: map[string]string{"X": "y"}}},
		ApprovalRequired: []string{"bash"},
		MaxIterations:    40,
		Extra:            map[string]any{"team": "core", "nested": map[string]any{"list": []any{"x", int64(1), true}}},
	}
}

func create(t *testing.T, s kv.KVStorage, name string) AgentConfig {
	t.Helper()
	c, err := Create(context.Background(), s, AgentConfig{Name: name})
	if err != nil {
		t.Fatalf("Create %q: %v", name, err)
	}
	return c
}

// wantAgent wants an agent to be found, as it is, by its id and by its name.
func wantAgent(t *testing.T, s kv.KVStorage, want AgentConfig) {
	t.Helper()
	if got, err := Get(context.Background(), s, want.ID); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Get = %+v, %v; want %+v", got, err, want)
	}
	if got, err := ByName(context.Background(), s, want.Name); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("ByName = %+v, %v; want %+v", got, err, want)
	}
}

func wantAbsent(t *testing.T, s kv.KVStorage, name string) {
	t.Helper()
	if got, err := ByName(context.Background(), s, name); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("ByName(%q) = %+v, %v; want ErrNotFound", name, got, err)
	}
}

func wantNames(t *testing.T, s kv.KVStorage, want ...string) {
	t.Helper()
	list, err := List(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, c := range list {
		got = append(got, c.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("List = %q, want %q", got, want)
	}
}

func TestCreate(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	before := time.Now().Add(-time.Second)
	made, err := Create(ctx, s, full("coder"))
	if err != nil {
		t.Fatal(err)
	}
	if len(made.ID) != 26 || made.Revision != 1 || made.CreatedAt.Before(before) || made.UpdatedAt != made.CreatedAt || made.CreatedAt.Location() != time.UTC {
		t.Fatalf("stored as %+v", made)
	}
	want := full("coder")
	want.ID, want.CreatedAt, want.UpdatedAt, want.Revision = made.ID, made.CreatedAt, made.UpdatedAt, 1
	wantAgent(t, s, want)

	if _, err := Create(ctx, s, full("coder")); !errors.Is(err, ErrExists) {
		t.Errorf("a second one of the name: %v, want ErrExists", err)
	}
	if _, err := Create(ctx, s, AgentConfig{ID: made.ID, Name: "other"}); !errors.Is(err, ErrExists) {
		t.Errorf("a second one of the id: %v, want ErrExists", err)
	}
	wantAbsent(t, s, "other")
	create(t, s, "Coder") // another name
	wantNames(t, s, "Coder", "coder")
}

func TestIDIsKept(t *testing.T) {
	s, id := memkv.New(), kv.NewID()
	got, err := Create(context.Background(), s, AgentConfig{ID: id, Name: "moved"})
	if err != nil || got.ID != id {
		t.Fatalf("Create = %+v, %v; want the id %s", got, err, id)
	}
}

func TestUpdate(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	made, other := create(t, s, "a"), create(t, s, "taken")

	edit := full("a")
	edit.ID, edit.Revision = made.ID, 1
	edit.CreatedAt = time.Unix(0, 0) // not for the caller to set
	second, err := Update(ctx, s, edit)
	if err != nil || second.Revision != 2 || second.CreatedAt != made.CreatedAt || second.UpdatedAt.Before(made.UpdatedAt) || second.Description != edit.Description {
		t.Fatalf("Update = %+v, %v", second, err)
	}
	wantAgent(t, s, second)

	if _, err := Update(ctx, s, edit); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("with a stale revision: %v, want ErrConflict", err)
	}
	wantAgent(t, s, second)

	edit.Revision, edit.Name = 0, "taken"
	if _, err := Update(ctx, s, edit); !errors.Is(err, ErrExists) {
		t.Errorf("to a taken name: %v, want ErrExists", err)
	}
	wantAgent(t, s, second)
	wantAgent(t, s, other)

	edit.Name = "b"
	third, err := Update(ctx, s, edit)
	if err != nil || third.Revision != 3 {
		t.Fatalf("Update without a revision = %+v, %v", third, err)
	}
	wantAgent(t, s, third)
	wantAbsent(t, s, "a")

	edit.ID = kv.NewID()
	if _, err := Update(ctx, s, edit); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("of an unknown id: %v, want ErrNotFound", err)
	}
}

func TestRename(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	a, b := create(t, s, "a"), create(t, s, "b")
	if _, err := Rename(ctx, s, a.ID, "b"); !errors.Is(err, ErrExists) {
		t.Errorf("to a taken name: %v, want ErrExists", err)
	}
	if _, err := Rename(ctx, s, a.ID, " "); !errors.Is(err, ErrInvalid) {
		t.Errorf("to a blank name: %v, want ErrInvalid", err)
	}
	wantAgent(t, s, a)
	wantAgent(t, s, b)
	c, err := Rename(ctx, s, a.ID, "c")
	if err != nil || c.Name != "c" || c.Revision != 2 {
		t.Fatalf("Rename = %+v, %v", c, err)
	}
	wantAgent(t, s, c)
	wantAbsent(t, s, "a")
	if there, err := kv.Has(ctx, s, kv.Agent, nameKey(s, "a")); there || err != nil {
		t.Errorf("the index still has the old name: %t, %v", there, err)
	}
	if _, err := Rename(ctx, s, a.ID, "c"); err != nil {
		t.Errorf("to its own name: %v", err)
	}
	again := create(t, s, "a")
	wantNames(t, s, "a", "b", "c")
	if err := errors.Join(Delete(ctx, s, a.ID), Delete(ctx, s, b.ID), Delete(ctx, s, again.ID)); err != nil {
		t.Fatal(err)
	}
	if dump := brittle.Dump(t, s); dump != "" {
		t.Errorf("after all were deleted there is\n%s", dump)
	}
}

func TestDeleteAndDefault(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	if _, err := Default(ctx, s); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Default of an empty store: %v, want ErrNotFound", err)
	}
	if err := SetDefault(ctx, s, kv.NewID()); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("SetDefault to an unknown id: %v, want ErrNotFound", err)
	}
	a, b := create(t, s, "a"), create(t, s, "b")
	if err := SetDefault(ctx, s, a.ID); err != nil {
		t.Fatal(err)
	}
	if err := Delete(ctx, s, b.ID); err != nil {
		t.Fatal(err)
	}
	if got, err := Default(ctx, s); err != nil || got.ID != a.ID {
		t.Errorf("Default = %+v, %v; want a", got, err)
	}
	if err := Delete(ctx, s, a.ID); err != nil {
		t.Fatal(err)
	}
	if dump := brittle.Dump(t, s); dump != "" {
		t.Errorf("after both were deleted there is\n%s", dump)
	}
	if err := Delete(ctx, s, a.ID); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Delete again: %v, want ErrNotFound", err)
	}

	c := create(t, s, "c")
	if err := errors.Join(SetDefault(ctx, s, c.ID), SetDefault(ctx, s, "")); err != nil {
		t.Fatal(err)
	}
	if got, err := Default(ctx, s); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Default after it was cleared = %+v, %v", got, err)
	}
}

// TestD15_NamesThatReachIntoEachOther makes agents of names that a store with a
// separator in its keys would mix up.
func TestD15_NamesThatReachIntoEachOther(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	names := []string{"a", "a/b", "ab", "a%2Fb", "A", ".", "..", "a\x00b", "\u00e9", "e\u0301", "acme", "acme-corp", "a b", "a\nb", strings.Repeat("/", MaxName)}
	made := map[string]AgentConfig{}
	for _, name := range names {
		made[name] = create(t, s, name)
	}
	slices.Sort(names)
	wantNames(t, s, names...)
	order := rand.New(rand.NewPCG(1, 2)).Perm(len(names))
	for i, at := range order {
		if err := Delete(ctx, s, made[names[at]].ID); err != nil {
			t.Fatal(err)
		}
		wantAbsent(t, s, names[at])
		for _, left := range order[i+1:] {
			wantAgent(t, s, made[names[left]])
		}
	}
}

func TestCreateOneNameAtOnce(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = Create(ctx, s, AgentConfig{Name: "one", Description: fmt.Sprint(i)}) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !errors.Is(err, ErrExists) {
			t.Errorf("%v, want ErrExists", err)
		}
	}
	if made != 1 {
		t.Errorf("%d were made, want 1", made)
	}
	wantNames(t, s, "one")
}

// TestStaleWriterGetsConflict has many writers each read, change and write, and
// read again when another was faster: no change may be lost (case D07).
func TestStaleWriterGetsConflict(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	id := create(t, s, "counter").ID
	const writers, times = 8, 20
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for done := 0; done < times; {
				c, err := Get(ctx, s, id)
				if err == nil {
					c.MaxIterations++
					_, err = Update(ctx, s, c)
				}
				switch {
				case err == nil:
					done++
				case !errors.Is(err, kv.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if c, err := Get(ctx, s, id); err != nil || c.MaxIterations != writers*times || c.Revision != 1+writers*times {
		t.Errorf("counted %d in revision %d, %v; want %d", c.MaxIterations, c.Revision, err, writers*times)
	}
}

func TestReadsJSONOfOlderStores(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	id := kv.NewID()
	old := `{"id":"` + id + `","name":"old","model":{"name":"m"},"created_at":"2024-05-06T07:08:09+02:00","unknown":1}`
	if err := errors.Join(s.Put(ctx, kv.Agent, agentKey(s, id), []byte(old)), s.Put(ctx, kv.Agent, nameKey(s, "old"), []byte(id))); err != nil {
		t.Fatal(err)
	}
	c, err := ByName(ctx, s, "old")
	if want := time.Date(2024, 5, 6, 5, 8, 9, 0, time.UTC); err != nil || c.Model.Name != "m" || c.CreatedAt != want {
		t.Errorf("ByName = %+v, %v", c, err)
	}
}

func TestWhatCannotBeStoredIsRefused(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	c := full("a")
	c.Extra = map[string]any{"callback": func() {}}
	if _, err := Create(ctx, s, c); !errors.Is(err, kv.ErrUnstorable) {
		t.Errorf("a function: %v, want ErrUnstorable", err)
	}
	c.Extra = map[string]any{}
	c.Extra["self"] = c.Extra
	if _, err := Create(ctx, s, c); !errors.Is(err, kv.ErrUnstorable) {
		t.Errorf("a map that holds itself: %v, want ErrUnstorable", err)
	}
	if dump := brittle.Dump(t, s); dump != "" {
		t.Errorf("there is\n%s", dump)
	}
}

func TestRealmsAreApart(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	here := create(t, s, "a")
	there := create(t, kv.InRealm(s, "acme"), "a")
	wantAgent(t, s, here)
	wantAgent(t, kv.InRealm(s, "acme"), there)
	if err := Delete(ctx, s, here.ID); err != nil {
		t.Fatal(err)
	}
	wantAgent(t, kv.InRealm(s, "acme"), there)
}
