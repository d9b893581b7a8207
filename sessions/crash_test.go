package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/kvtest/brittle"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/memory"
	"github.com/crabstore/crabstore/sessions"
	"github.com/crabstore/crabstore/textsearch"
)

// writes are every kind of change, each to a store that small made.
var writes = map[string]func(ctx context.Context, s kv.KVStorage) error{
	"create": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.Create(ctx, s, sessions.Meta{Handle: "new", Agent: "x", Title: "new title", CreatedAt: at(2)})
		return err
	},
	"append": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.Append(ctx, s, "a", user("five new words for everyone"), assistant("yes", "d"), result("d", "r"))
		return err
	},
	"amend": func(ctx context.Context, s kv.KVStorage) error {
		m := user("altogether different words")
		m.Index = 0
		_, err := sessions.Amend(ctx, s, "a", m)
		return err
	},
	"update": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.UpdateMeta(ctx, s, "a", func(m *sessions.Meta) error {
			m.Agent, m.Title, m.Summary = "renamed", "another heading", ""
			return nil
		})
		return err
	},
	"events": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.AppendEvents(ctx, s, "a", sessions.Event{Type: "4"}, sessions.Event{Type: "5"})
		return err
	},
	"state": func(ctx context.Context, s kv.KVStorage) error {
		return sessions.SetState(ctx, s, "a", []byte("state"))
	},
	"compact": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.Compact(ctx, s, "a", sessions.Compaction{Summary: "the story again", Keep: 1})
		return err
	},
	"truncate": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.Truncate(ctx, s, "a", 1)
		return err
	},
	"delete": func(ctx context.Context, s kv.KVStorage) error { return sessions.Delete(ctx, s, "a") },
	"delete by agent": func(ctx context.Context, s kv.KVStorage) error {
		_, err := sessions.DeleteByAgent(ctx, s, "ag")
		return err
	},
	"reindex": func(ctx context.Context, s kv.KVStorage) error { return sessions.Reindex(ctx, s, "a") },
	"batch": func(ctx context.Context, s kv.KVStorage) error {
		return sessions.Update(ctx, s, func(b *sessions.Batch) error {
			if _, err := b.Append(ctx, "a", user("one of many")); err != nil {
				return err
			}
			if _, err := b.Create(ctx, sessions.Meta{Handle: "new", Title: "of many"}); err != nil {
				return err
			}
			if _, err := b.Append(ctx, "new", user("another of many"), user("and more")); err != nil {
				return err
			}
			if _, err := b.Truncate(ctx, "b", 1); err != nil {
				return err
			}
			_, err := b.Append(ctx, "b", user("the last of many"))
			return err
		})
	},
}

// A failure at any call writes nothing on a store with transactions. On one without
// it leaves content that nothing reaches, never an index entry that points at
// nothing; the change can be made again, and what is wrong, Reindex repairs.
func TestC22_FailureAtEachCall(t *testing.T) {
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			op := func(s kv.KVStorage) error { return write(ctx, s) }
			brittle.Each(t, fillSmall(ctx), op, func(t *testing.T, s kv.KVStorage) {
				wantNothingDangling(t, s)
				if err := write(ctx, plain{s}); err != nil && !errors.Is(err, kv.ErrNotFound) && !errors.Is(err, sessions.ErrExists) {
					t.Errorf("again: %v", err)
				}
				if _, err := sessions.ReindexAll(ctx, plain{s}, nil); err != nil {
					t.Error(err)
				}
				wantSound(t, s)
			})
		})
	}
}

// wantNothingDangling fails for an index entry that points at nothing.
func wantNothingDangling(t *testing.T, s kv.KVStorage) {
	t.Helper()
	ctx := t.Context()
	for _, key := range must[[]string](t)(textsearch.Keys(ctx, s, sessions.TextIndex, "")) {
		var err error
		doc := must[[]string](t)(kv.SplitParts(key))
		if doc[1] == "msg" {
			var index int
			fmt.Sscanf(doc[2], "%d", &index)
			_, err = sessions.Get(ctx, s, doc[0], index)
		} else {
			_, err = sessions.Load(ctx, s, doc[0])
		}
		if err != nil {
			t.Errorf("the text index has %v, and there is: %v", doc, err)
		}
	}
	for _, e := range collect(t, s.Scan(ctx, kv.Session, kv.Prefix(s, "idx", "sess"))) {
		if _, err := sessions.Load(ctx, s, string(e.Value)); err != nil {
			t.Errorf("the list has %s, and there is: %v", e.Key, err)
		}
	}
}

// What an interrupted append left of a session is neither seen nor in the way.
func TestLeftoversOfAnInterruptedAppend(t *testing.T) {
	ctx := t.Context()
	s := plain{memkv.New()}
	h := mustCreate(t, s, sessions.Meta{}).Handle
	mustAppend(t, s, h, user("a"))
	_, err := sessions.Append(ctx, brittle.New(s, 8), h, user("lost 1"), user("lost 2"), user("lost 3"))
	wantError(t, "the append", err, brittle.ErrInjected)
	stray := collect(t, s.ScanKeys(ctx, kv.Session, kv.Prefix(s, "session", h, "msg")))
	if len(stray) < 2 {
		t.Fatalf("the append left nothing: %s", stray)
	}
	wantEqual(t, "messages", texts(t, s, h, sessions.Range{}), []string{"a"})
	wantEqual(t, "backwards", texts(t, s, h, sessions.Range{Reverse: true}), []string{"a"})
	_, err = sessions.Get(ctx, s, h, 1)
	wantError(t, "getting what was left", err, kv.ErrNotFound)
	mustAppend(t, s, h, user("b"))
	wantEqual(t, "messages", texts(t, s, h, sessions.Range{}), []string{"a", "b"})
	wantSound(t, s)
	if err := sessions.Delete(ctx, s, h); err != nil {
		t.Fatal(err)
	}
	wantEmpty(t, s)
	if strings.Contains(brittle.Dump(t, s), "lost") {
		t.Error("something is left")
	}
}

func TestLeftoversOfInterruptedEvents(t *testing.T) {
	ctx := t.Context()
	s := plain{memkv.New()}
	h := mustCreate(t, s, sessions.Meta{}).Handle
	must[[]sessions.Event](t)(sessions.AppendEvents(ctx, s, h, sessions.Event{Type: "a"}))
	if err := s.Put(ctx, kv.Session, kv.Key(s, "session", h, "evt", "000000000002"), []byte("left")); err != nil {
		t.Fatal(err)
	}
	for want := 1; want < 3; want++ {
		if got := collect(t, sessions.Events(ctx, s, h, 0)); len(got) != want {
			t.Errorf("events: %+v", got)
		}
		wantSound(t, s)
		must[[]sessions.Event](t)(sessions.AppendEvents(ctx, s, h, sessions.Event{Type: "b"}))
	}
}

// A Delete that was cut short has deleted the session, and another one finishes it.
func TestLeftoversOfAnInterruptedDelete(t *testing.T) {
	ctx := t.Context()
	for n, finished := 0, false; !finished; n++ {
		s := plain{memkv.New()}
		mustCreate(t, s, sessions.Meta{Handle: "h", Title: "title"})
		mustAppend(t, s, "h", user("question"), user("another"))
		must[sessions.Meta](t)(sessions.Compact(ctx, s, "h", sessions.Compaction{Summary: "summary"}))
		finished = sessions.Delete(ctx, brittle.New(s, n), "h") == nil
		if err := sessions.Delete(ctx, s, "h"); err != nil && !errors.Is(err, kv.ErrNotFound) {
			t.Error(err)
		}
		if n, err := sessions.ReindexAll(ctx, s, nil); n != 0 || err != nil {
			t.Errorf("reindexed %d sessions, %v", n, err)
		}
		if err := memory.Reindex(ctx, s); err != nil {
			t.Error(err)
		}
		wantEmpty(t, s)
	}
}

// Nor is what an interrupted commit left of a session that never was.
func TestLeftoversOfASessionThatNeverWas(t *testing.T) {
	ctx := t.Context()
	s := plain{memkv.New()}
	for _, key := range [][]byte{kv.Key(s, "session", "h", "state"), kv.Key(s, "session", "h", "msg", "000000000000")} {
		if err := s.Put(ctx, kv.Session, key, []byte("left")); err != nil {
			t.Fatal(err)
		}
	}
	_, err := sessions.Load(ctx, s, "h")
	wantError(t, "load", err, kv.ErrNotFound)
	wantSound(t, s)
	mustCreate(t, s, sessions.Meta{Handle: "h"})
	_, err = sessions.State(ctx, s, "h")
	wantError(t, "state", err, kv.ErrNotFound)
	wantEqual(t, "messages", texts(t, s, "h", sessions.Range{}), nil)
}

// Searching and reading pass on the error of a broken store, and panic at none.
func TestReadsPassOnErrors(t *testing.T) {
	ctx := t.Context()
	for name, read := range map[string]func(s kv.KVStorage) error{
		"search": func(s kv.KVStorage) error {
			_, err := sessions.Search(ctx, s, sessions.Query{Text: "question title"})
			return err
		},
		"list":    func(s kv.KVStorage) error { _, err := sessions.List(ctx, s, sessions.Filter{}); return err },
		"context": func(s kv.KVStorage) error { _, err := sessions.LoadContext(ctx, s, "a"); return err },
		"check":   func(s kv.KVStorage) error { _, err := sessions.Check(ctx, s, ""); return err },
		"state":   func(s kv.KVStorage) error { _, err := sessions.State(ctx, s, "a"); return err },
		"export": func(s kv.KVStorage) (last error) {
			for _, err := range sessions.Export(ctx, s, "a") {
				last = err
			}
			return last
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := small(t)
			if err := sessions.SetState(ctx, s, "a", []byte("x")); err != nil {
				t.Fatal(err)
			}
			for n := 0; ; n++ {
				err := read(brittle.New(s, n))
				if err == nil {
					if n == 0 {
						t.Error("no call was made")
					}
					return
				}
				wantError(t, fmt.Sprint("failure at call ", n), err, brittle.ErrInjected)
			}
		})
	}
}
