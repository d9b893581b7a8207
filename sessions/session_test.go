package sessions_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/memory"
	"github.com/crabstore/crabstore/sessions"
)

func TestCreate(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		m := mustCreate(t, s, sessions.Meta{
			Agent: "coder", CreatedBy: "ann", Title: "T", Summary: "S", Model: "m", Cwd: "/src", Tags: []string{"x"},
			CreatedAt: at(1), Parent: &sessions.Parent{Handle: "p", Kind: sessions.Fork, Index: 4},
			Origin: &sessions.Origin{Format: "pi", ID: "1", Path: "a.jsonl"}, Extra: map[string]any{"n": int64(1), "l": []any{"a", true}},
			// Not the caller's:
			Messages: 9, NextIndex: 9, LastSeq: 9, Boundary: 9, Revision: 9, Usage: sessions.Usage{Input: 9}, UpdatedAt: at(9),
		})
		if len(m.Handle) != 26 || m.Messages+m.NextIndex+m.LastSeq+m.Boundary != 0 || m.Revision != 1 || m.Usage != (sessions.Usage{}) {
			t.Errorf("created %+v", m)
		}
		got := must[sessions.Meta](t)(sessions.Load(ctx, s, m.Handle))
		if *got.Parent != *m.Parent || *got.Origin != *m.Origin {
			t.Errorf("parent %+v, origin %+v", got.Parent, got.Origin)
		}
		got.Parent, got.Origin, m.Parent, m.Origin = nil, nil, nil, nil
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", m) || !got.UpdatedAt.Equal(at(1)) || got.Agent != "coder" || got.Extra["n"] != int64(1) {
			t.Errorf("stored %+v\nreturned %+v", got, m)
		}
		wantSound(t, s)
	})
}

func TestCreateRefuses(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		mustCreate(t, s, sessions.Meta{Handle: "taken", Title: "first"})
		_, err := sessions.Create(ctx, s, sessions.Meta{Handle: "taken", Title: "second"})
		wantError(t, "a taken handle", err, sessions.ErrExists)
		if m := must[sessions.Meta](t)(sessions.Load(ctx, s, "taken")); m.Title != "first" {
			t.Errorf("overwritten: %+v", m)
		}
		long := strings.Repeat("n", 129)
		for _, m := range []sessions.Meta{
			{Handle: "\xff"}, {Handle: long}, {Agent: long}, {CreatedBy: long},
			{Handle: strings.Repeat("/", 43)}, // 129 bytes in a key
			{Parent: &sessions.Parent{Handle: "p", Kind: "cousin"}},
		} {
			_, err := sessions.Create(ctx, s, m)
			wantError(t, fmt.Sprintf("%+v", m), err, sessions.ErrInvalid)
		}
		_, err = sessions.Create(ctx, s, sessions.Meta{Extra: map[string]any{"f": func() {}}})
		wantError(t, "an extra that cannot be stored", err, kv.ErrUnstorable)
		if page := must[sessions.Page](t)(sessions.List(ctx, s, sessions.Filter{})); len(page.Sessions) != 1 {
			t.Errorf("sessions: %v", handles(page.Sessions))
		}
		// The longest names fit a key, with a message's place and the longest term.
		m := mustCreate(t, s, sessions.Meta{Handle: strings.Repeat("/", 42), Agent: strings.Repeat("/", 42), CreatedBy: strings.Repeat("\x01", 42), Title: strings.Repeat("%", 99) + strings.Repeat("a", 99)})
		mustAppend(t, s, m.Handle, user(strings.Repeat("a", 999)))
		must[sessions.Meta](t)(sessions.Compact(ctx, s, m.Handle, sessions.Compaction{Summary: "s"}))
		wantSound(t, s)
	})
}

func TestUpdateMeta(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		m := mustCreate(t, s, sessions.Meta{
			Agent: "old", CreatedBy: "ann", Title: "alpha", CreatedAt: at(1),
			Tags: []string{"tag"}, Extra: map[string]any{"k": "v"}, Origin: &sessions.Origin{ID: "1"},
		})
		mustAppend(t, s, m.Handle, user("hello"))
		m = must[sessions.Meta](t)(sessions.UpdateMeta(ctx, s, m.Handle, func(m *sessions.Meta) error {
			m.Agent, m.Title, m.Summary = "new", "beta", "gamma"
			m.Messages, m.NextIndex, m.Revision, m.Handle = 70, 0, 70, "other"
			return nil
		}))
		if m.Agent != "new" || m.Messages != 1 || m.NextIndex != 1 || m.Revision != 3 || m.CreatedBy != "ann" {
			t.Errorf("updated to %+v", m)
		}
		for agent, want := range map[string]int{"old": 0, "new": 1} {
			if page := must[sessions.Page](t)(sessions.List(ctx, s, sessions.Filter{Agent: agent})); len(page.Sessions) != want {
				t.Errorf("agent %s has %d sessions, want %d", agent, len(page.Sessions), want)
			}
		}
		for text, want := range map[string]int{"alpha": 0, "beta": 1, "gamma": 1} {
			if r := must[sessions.Results](t)(sessions.Search(ctx, s, sessions.Query{Text: text})); len(r.Hits) != want {
				t.Errorf("%s finds %d sessions, want %d", text, len(r.Hits), want)
			}
		}
		no := errors.New("no")
		_, err := sessions.UpdateMeta(ctx, s, m.Handle, func(m *sessions.Meta) error { m.Title = "delta"; return no })
		wantError(t, "a function that fails", err, no)
		err = sessions.Update(ctx, s, func(b *sessions.Batch) error {
			_, err := b.UpdateMeta(ctx, m.Handle, func(m *sessions.Meta) error {
				m.Extra["k"], m.Tags[0], m.Origin.ID = "changed", "changed", "changed"
				return no
			})
			wantError(t, "a function that fails in a batch", err, no)
			now, err := b.Load(ctx, m.Handle)
			if now.Extra["k"] != "v" || now.Tags[0] != "tag" || now.Origin.ID != "1" {
				t.Errorf("a function that failed changed %+v", now)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := must[sessions.Meta](t)(sessions.Load(ctx, s, m.Handle)); got.Title != "beta" || got.Revision != 3 {
			t.Errorf("after a failed update: %+v", got)
		}
		wantSound(t, s)
	})
}

func TestDeleteLeavesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		h := mustCreate(t, s, sessions.Meta{Agent: "a", Title: "title words", Summary: "summary words"}).Handle
		mustAppend(t, s, h, user("some text"), assistant("answer", "c"), result("c", "r"))
		must[[]sessions.Event](t)(sessions.AppendEvents(ctx, s, h, sessions.Event{Type: "x"}))
		if err := sessions.SetState(ctx, s, h, []byte("state")); err != nil {
			t.Fatal(err)
		}
		must[sessions.Meta](t)(sessions.Compact(ctx, s, h, sessions.Compaction{Summary: "first"}))
		must[sessions.Meta](t)(sessions.Compact(ctx, s, h, sessions.Compaction{Summary: "second"}))
		if err := sessions.Delete(ctx, s, h); err != nil {
			t.Fatal(err)
		}
		wantEmpty(t, s)
		wantError(t, "deleting again", sessions.Delete(ctx, s, h), kv.ErrNotFound)

		// A session of the same handle begins anew.
		if m := mustCreate(t, s, sessions.Meta{Handle: h}); m.Revision != 1 || m.NextIndex != 0 {
			t.Errorf("created anew: %+v", m)
		}
	})
}

func TestDeleteAndCreateInOneBatch(t *testing.T) {
	s := memkv.New()
	ctx := t.Context()
	h := mustCreate(t, s, sessions.Meta{Title: "old"}).Handle
	mustAppend(t, s, h, user("past"))
	err := sessions.Update(ctx, s, func(b *sessions.Batch) error {
		if _, err := b.Append(ctx, h, user("never")); err != nil {
			return err
		}
		if err := b.Delete(ctx, h); err != nil {
			return err
		}
		if _, err := b.Load(ctx, h); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("loading what was deleted: %v", err)
		}
		if _, err := b.Create(ctx, sessions.Meta{Handle: h, Title: "new"}); err != nil {
			return err
		}
		_, err := b.Append(ctx, h, user("present"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "messages", texts(t, s, h, sessions.Range{}), []string{"present"})
	for text, want := range map[string]int{"old": 0, "past": 0, "never": 0, "new": 1, "present": 1} {
		if r := must[sessions.Results](t)(sessions.Search(ctx, s, sessions.Query{Text: text})); len(r.Hits) != want {
			t.Errorf("%s finds %d sessions, want %d", text, len(r.Hits), want)
		}
	}
	wantSound(t, s)
}

func TestDeleteByAgent(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		for i, agent := range []string{"a", "a", "a/b", "ab", "A", ""} {
			m := mustCreate(t, s, sessions.Meta{Agent: agent, CreatedBy: fmt.Sprint(i % 2), CreatedAt: at(i)})
			mustAppend(t, s, m.Handle, user("word"))
		}
		if n := must[int](t)(sessions.DeleteByAgent(ctx, s, "a")); n != 2 {
			t.Errorf("deleted %d, want 2", n)
		}
		var left []string
		for _, m := range must[sessions.Page](t)(sessions.List(ctx, s, sessions.Filter{})).Sessions {
			left = append(left, m.Agent)
		}
		wantEqual(t, "agents of what is left", left, []string{"", "A", "ab", "a/b"})
		// Nor does it delete what is listed as the agent's and is another's.
		stale := kv.Key(s, "idx", "sess", "a", "0", kv.FormatTime(at(3)), must[sessions.Meta](t)(sessions.Latest(ctx, s, "ab", "")).Handle)
		if err := s.Put(ctx, kv.Session, stale, nil); err != nil {
			t.Fatal(err)
		}
		if n := must[int](t)(sessions.DeleteByAgent(ctx, s, "a")); n != 0 {
			t.Errorf("deleted %d more", n)
		}
		must[int](t)(sessions.ReindexAll(ctx, s, nil))
		wantSound(t, s)
	})
}

func TestD15_NamesDoNotReachIntoEachOther(t *testing.T) {
	names := []string{"a", "a/b", "ab", "a%2Fb", "A", ".", "..", "a\x00b", "é", "e\u0301", "msg", "a/msg"}
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		fill := func(name string) {
			mustCreate(t, s, sessions.Meta{Handle: name, Agent: name, CreatedBy: name, Title: name})
			mustAppend(t, s, name, user("word "+name))
			must[[]sessions.Event](t)(sessions.AppendEvents(ctx, s, name, sessions.Event{Type: name}))
			must[sessions.Meta](t)(sessions.Compact(ctx, s, name, sessions.Compaction{Summary: name}))
		}
		for _, name := range names {
			fill(name)
		}
		for _, gone := range names {
			if err := sessions.Delete(ctx, s, gone); err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				page := must[sessions.Page](t)(sessions.List(ctx, s, sessions.Filter{Agent: name, By: name}))
				found := must[sessions.Results](t)(sessions.Search(ctx, s, sessions.Query{Text: "word", Handle: name}))
				if name == gone {
					if len(page.Sessions)+len(found.Hits) != 0 {
						t.Errorf("%q was deleted and is there: %v", name, handles(page.Sessions))
					}
					continue
				}
				wantEqual(t, "sessions of "+name, handles(page.Sessions), []string{name})
				wantEqual(t, "messages of "+name, texts(t, s, name, sessions.Range{}), []string{"word " + name})
				if len(found.Hits) != 1 || found.Hits[0].Session.Handle != name {
					t.Errorf("search in %q finds %+v", name, found.Hits)
				}
				c := must[sessions.Context](t)(sessions.LoadContext(ctx, s, name))
				must[memory.Entry](t)(memory.Get(ctx, s, c.Archive))
				if c.Summary != name || len(collect(t, sessions.Events(ctx, s, name, 0))) != 1 {
					t.Errorf("%q lost something when %q was deleted: %+v", name, gone, c)
				}
			}
			fill(gone)
		}
		if n := len(must[sessions.Page](t)(sessions.List(ctx, s, sessions.Filter{})).Sessions); n != len(names) {
			t.Errorf("%d sessions, want %d", n, len(names))
		}
		wantSound(t, s)
	})
}

func TestState(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		h := mustCreate(t, s, sessions.Meta{}).Handle
		for _, state := range []string{"one", "", "\xff\x00"} {
			if err := sessions.SetState(ctx, s, h, []byte(state)); err != nil {
				t.Fatal(err)
			}
			if got := must[[]byte](t)(sessions.State(ctx, s, h)); string(got) != state {
				t.Errorf("got %q, want %q", got, state)
			}
		}
		if m := must[sessions.Meta](t)(sessions.Load(ctx, s, h)); m.Revision != 4 {
			t.Errorf("revision %d, want 4", m.Revision)
		}
		wantError(t, "state of no session", sessions.SetState(ctx, s, "none", nil), kv.ErrNotFound)
	})
}

func TestOriginHandle(t *testing.T) {
	h := sessions.Origin{Format: "pi", ID: "1", Path: "a"}.Handle()
	if h != (sessions.Origin{Format: "pi", ID: "1", Path: "b"}).Handle() || len(h) != 26 {
		t.Errorf("the path matters, or the length is off: %q", h)
	}
	for _, other := range []sessions.Origin{{Format: "pi", ID: "2"}, {Format: "p", ID: "i1"}, {Format: "pi1"}} {
		if other.Handle() == h {
			t.Errorf("%+v has the same handle", other)
		}
	}
}

// The whole of the package works in a realm, and is unseen from another.
func TestRealms(t *testing.T) {
	ctx, s := t.Context(), memkv.New()
	for _, realm := range []string{"acme", "acme-corp"} {
		r := kv.InRealm(s, realm)
		h := mustCreate(t, r, sessions.Meta{Handle: "same", Title: realm}).Handle
		mustAppend(t, r, h, user("word"))
		must[sessions.Meta](t)(sessions.Compact(ctx, r, h, sessions.Compaction{Summary: "s"}))
		wantSound(t, r)
	}
	if n := must[int](t)(sessions.DeleteByAgent(ctx, kv.InRealm(s, "acme"), "")); n != 1 {
		t.Errorf("deleted %d", n)
	}
	other := kv.InRealm(s, "acme-corp")
	if m := must[sessions.Meta](t)(sessions.Load(ctx, other, "same")); m.Title != "acme-corp" {
		t.Errorf("the other realm has %+v", m)
	}
	wantSound(t, other)
}
