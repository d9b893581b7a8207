package sessions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/memory"
	"github.com/crabstore/crabstore/sessions"
)

func contextOf(t *testing.T, s kv.KVStorage, handle string) (summary string, messages []string) {
	t.Helper()
	c := must[sessions.Context](t)(sessions.LoadContext(t.Context(), s, handle))
	for _, m := range c.Messages {
		messages = append(messages, textOf(m))
	}
	return c.Summary, messages
}

func compact(t *testing.T, s kv.KVStorage, handle, summary string, keep int) sessions.Meta {
	t.Helper()
	return must[sessions.Meta](t)(sessions.Compact(t.Context(), s, handle, sessions.Compaction{Summary: summary, Keep: keep}))
}

func TestCompact(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		h := mustCreate(t, s, sessions.Meta{}).Handle
		mustAppend(t, s, h, user("u0"), assistant("a1"), user("u2"), assistant("a3"))
		m := compact(t, s, h, "what was said", 2)
		if m.Boundary != 2 || m.Messages != 4 || m.Revision != 3 || m.Summary != "what was said" {
			t.Errorf("meta: %+v", m)
		}
		summary, messages := contextOf(t, s, h)
		wantEqual(t, "context", append(messages, summary), []string{"u2", "a3", "what was said"})
		wantEqual(t, "history", texts(t, s, h, sessions.Range{}), []string{"u0", "a1", "u2", "a3"})

		c := must[sessions.Context](t)(sessions.LoadContext(ctx, s, h))
		e := must[memory.Entry](t)(memory.Get(ctx, s, c.Archive))
		if e.Kind != memory.Archive || e.Session != h || e.Content != "what was said" {
			t.Errorf("memory entry: %+v", e)
		}
		marker := must[[]byte](t)(s.Get(ctx, kv.Session, kv.Key(s, "session", h, "archive")))
		if string(marker) != e.Name {
			t.Errorf("marker %q, name %q", marker, e.Name)
		}
		if err := memory.Delete(ctx, s, e.Name); err != nil {
			t.Fatal(err)
		}
		if summary, _ := contextOf(t, s, h); summary != "what was said" {
			t.Errorf("after the entry was forgotten the summary is %q", summary)
		}
		wantSound(t, s)
	})
}

func TestD02_KeepTheLastTen(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		h := mustCreate(t, s, sessions.Meta{}).Handle
		var msgs []sessions.Message
		for i := range 11 {
			m := user(fmt.Sprint("m", i+1))
			m.At = at(1)
			msgs = append(msgs, m)
		}
		mustAppend(t, s, h, msgs...)
		compact(t, s, h, "s", 10)
		_, messages := contextOf(t, s, h)
		wantEqual(t, "kept", messages, strings.Fields("m2 m3 m4 m5 m6 m7 m8 m9 m10 m11"))
	})
}

func TestD02_TheLaterOfTwoCompactionsCounts(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		h := mustCreate(t, s, sessions.Meta{}).Handle
		mustAppend(t, s, h, user("a"), user("b"), user("c"))
		compact(t, s, h, "first", 2)
		compact(t, s, h, "second", 1)
		summary, messages := contextOf(t, s, h)
		wantEqual(t, "context", append(messages, summary), []string{"c", "second"})
		compact(t, s, h, "third", 3) // never back behind a boundary
		summary, messages = contextOf(t, s, h)
		wantEqual(t, "context", append(messages, summary), []string{"c", "third"})

		list := must[[]memory.Entry](t)(memory.List(t.Context(), s, memory.Filter{Kind: memory.Archive}))
		var contents []string
		for _, e := range list { // sorted by name
			contents = append(contents, e.Content)
		}
		wantEqual(t, "summaries", contents, []string{"first", "second", "third"})
		wantSound(t, s)
	})
}

// wantSendable fails for a context that a provider refuses: one that begins with a
// result, or has a result without its call or a call without a result, other than
// calls at its end that still run.
func wantSendable(t *testing.T, what string, list []sessions.Message) {
	t.Helper()
	var waiting []string
	for i, m := range list {
		for _, b := range m.Blocks {
			switch b.Type {
			case sessions.ToolUse:
				waiting = append(waiting, b.ID)
			case sessions.ToolResult:
				if !slices.Contains(waiting, b.ID) {
					t.Errorf("%s: message %d is a result of %s, which is not called", what, i, b.ID)
				}
				waiting = slices.DeleteFunc(waiting, func(id string) bool { return id == b.ID })
			case sessions.Text:
				if m.Role == sessions.User && len(waiting) > 0 {
					t.Errorf("%s: calls %v are not answered before message %d", what, waiting, i)
				}
			}
		}
	}
}

func TestD08_CompactionPartsNoCallFromItsResult(t *testing.T) {
	parallel := []sessions.Message{user("u"), assistant("", "A", "B"), result("A", "ra"), result("B", "rb"), assistant("done")}
	waiting := []sessions.Message{user("u"), assistant("x"), user("v"), assistant("", "A", "B"), result("A", "ra")}
	broken := []sessions.Message{user("u"), assistant("", "A", "B"), result("A", "ra"), user("go on"), assistant("done")}
	plainText := []sessions.Message{user("u"), assistant("a"), user("v"), assistant("b")}
	sameID := []sessions.Message{user("u"), assistant("", "0"), result("0", "r1"), assistant("", "0"), result("0", "r2"), assistant("done")}
	apart := []sessions.Message{user("u"), assistant("", "A"), assistant("", "B"), result("A", "ra"), result("B", "rb"), assistant("done")}
	apartWaiting := apart[:3]
	lost := []sessions.Message{user("u"), assistant("", "A", "B"), result("A", "ra"), said(sessions.System, "note"), assistant("done")}
	for _, c := range []struct {
		name string
		msgs []sessions.Message
		want []int // the boundary when 0, 1, 2 … messages are to be kept
	}{
		{"a parallel batch", parallel, []int{5, 4, 1, 1, 1, 0, 0}},
		{"a call that waits", waiting, []int{3, 3, 3, 2, 1, 0}},
		{"a call that nobody answered", broken, []int{5, 4, 3, 1, 1, 0}},
		{"text alone", plainText, []int{4, 3, 2, 1, 0, 0}},
		{"calls of one ID", sameID, []int{6, 5, 3, 3, 1, 1, 0}},
		{"calls in messages apart", apart, []int{6, 5, 1, 1, 1, 1, 0}},
		{"calls in messages apart that wait", apartWaiting, []int{1, 1, 1, 0}},
		{"a result that was lost", lost, []int{5, 4, 3, 1, 1, 0}},
	} {
		for keep, want := range c.want {
			what := fmt.Sprintf("%s, keeping %d", c.name, keep)
			s := memkv.New()
			h := mustCreate(t, s, sessions.Meta{}).Handle
			mustAppend(t, s, h, c.msgs...)
			m := compact(t, s, h, "s", keep)
			if m.Boundary != want {
				t.Errorf("%s: the boundary is %d, want %d", what, m.Boundary, want)
			}
			if n := len(texts(t, s, h, sessions.Range{})); n != len(c.msgs) {
				t.Errorf("%s: %d messages are left", what, n)
			}
			again := compact(t, s, h, "s", 1) // a second time
			for _, meta := range []sessions.Meta{m, again} {
				wantSendable(t, fmt.Sprint(what, ", boundary ", meta.Boundary),
					must[sessions.Context](t)(sessions.LoadContext(t.Context(), s, h)).Messages)
			}
			// What was still to come when it was compacted comes.
			mustAppend(t, s, h, result("B", "rb"), assistant("after"), user("next"))
			wantSendable(t, what+", gone on", must[sessions.Context](t)(sessions.LoadContext(t.Context(), s, h)).Messages)
		}
	}
}

func TestD08_AnAnswerThatComesAfterTheCompactionIsInTheContext(t *testing.T) {
	s := memkv.New()
	h := mustCreate(t, s, sessions.Meta{}).Handle
	mustAppend(t, s, h, user("u"), assistant("", "A"))
	compact(t, s, h, "s", 0)
	mustAppend(t, s, h, result("A", "ra"))
	_, messages := contextOf(t, s, h)
	wantEqual(t, "context", messages, []string{"run_A", "ra"})
}

func TestContextLeavesOutWhatCannotBePaired(t *testing.T) {
	s := memkv.New()
	h := mustCreate(t, s, sessions.Meta{}).Handle
	image := result("A", "seen")
	image.Blocks = append(image.Blocks, sessions.Block{Type: sessions.Image, ID: "A", MIME: "image/png", Data: []byte{1}})
	mustAppend(t, s, h,
		result("lost", "orphan"), user("u"), assistant("partly", "A", "dead"), image,
		assistant("", "gone"), user("v"), assistant("", "open"))
	c := must[sessions.Context](t)(sessions.LoadContext(t.Context(), s, h))
	wantSendable(t, "context", c.Messages)
	_, messages := contextOf(t, s, h)
	wantEqual(t, "context", messages, []string{"u", "partly+run_A", "seen+", "v", "run_open"})
	if n := len(texts(t, s, h, sessions.Range{})); n != 7 {
		t.Errorf("%d messages are stored", n)
	}
}

func TestTruncate(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		h := mustCreate(t, s, sessions.Meta{Title: "title"}).Handle
		spent := assistant("beta")
		spent.Usage = &sessions.Usage{Output: 7}
		mustAppend(t, s, h, user("alpha"), spent, user("gamma"))
		m := must[sessions.Meta](t)(sessions.Truncate(ctx, s, h, 1))
		if m.Messages != 1 || m.NextIndex != 3 || m.Usage.Output != 0 || m.Revision != 3 {
			t.Errorf("meta: %+v", m)
		}
		mustAppend(t, s, h, user("delta"))
		var indices []int
		for _, msg := range collect(t, sessions.Messages(ctx, s, h, sessions.Range{})) {
			indices = append(indices, msg.Index)
		}
		wantEqual(t, "indices", indices, []int{0, 3})
		for text, want := range map[string]int{"alpha": 1, "beta": 0, "gamma": 0, "delta": 1, "title": 1} {
			if r := must[sessions.Results](t)(sessions.Search(ctx, s, sessions.Query{Text: text})); len(r.Hits) != want {
				t.Errorf("%s finds %d sessions, want %d", text, len(r.Hits), want)
			}
		}
		before := must[sessions.Meta](t)(sessions.Load(ctx, s, h))
		if after := must[sessions.Meta](t)(sessions.Truncate(ctx, s, h, 4)); after.Revision != before.Revision {
			t.Errorf("truncating nothing moved the revision to %d", after.Revision)
		}
		if m := must[sessions.Meta](t)(sessions.Truncate(ctx, s, h, -5)); m.Messages != 0 || m.NextIndex != 4 {
			t.Errorf("after truncating all: %+v", m)
		}
		wantSound(t, s)
	})
}

func TestTruncateBehindTheBoundaryUndoesTheCompaction(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		h := mustCreate(t, s, sessions.Meta{}).Handle
		mustAppend(t, s, h, user("a"), user("b"), user("c"), user("d"))
		compact(t, s, h, "abc", 1)

		// At the boundary the summary still tells of what is there.
		must[sessions.Meta](t)(sessions.Truncate(ctx, s, h, 3))
		summary, messages := contextOf(t, s, h)
		wantEqual(t, "context", append(messages, summary), []string{"abc"})
		wantSound(t, s)

		m := must[sessions.Meta](t)(sessions.Truncate(ctx, s, h, 2))
		summary, messages = contextOf(t, s, h)
		wantEqual(t, "context", append(messages, summary), []string{"a", "b", ""})
		if m.Boundary != 0 || m.Summary != "" {
			t.Errorf("meta: %+v", m)
		}
		if left := must[[]memory.Entry](t)(memory.List(ctx, s, memory.Filter{})); len(left) != 0 {
			t.Errorf("summaries are left: %+v", left)
		}
		wantSound(t, s)
	})
}
