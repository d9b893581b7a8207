package sessions_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
)

func TestAppendGivesIndicesAndCounts(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		h := mustCreate(t, s, sessions.Meta{CreatedAt: at(0)}).Handle
		second := assistant("two")
		second.Usage = &sessions.Usage{Input: 10, Output: 3}
		second.Index = 77 // disregarded
		mustAppend(t, s, h, user("one"), second)
		third := assistant("three")
		third.Usage = &sessions.Usage{Output: 4, CacheRead: 5, CacheWrite: 6}
		third.At = at(9)
		m := mustAppend(t, s, h, third)

		if m.Messages != 3 || m.NextIndex != 3 || m.Revision != 3 {
			t.Errorf("after three messages in two commits: %+v", m)
		}
		if want := (sessions.Usage{Input: 10, Output: 7, CacheRead: 5, CacheWrite: 6}); m.Usage != want {
			t.Errorf("usage %+v, want %+v", m.Usage, want)
		}
		stored := must[sessions.Meta](t)(sessions.Load(ctx, s, h))
		if fmt.Sprint(stored) != fmt.Sprint(m) {
			t.Errorf("stored %+v, returned %+v", stored, m)
		}
		for i, msg := range collect(t, sessions.Messages(ctx, s, h, sessions.Range{})) {
			if msg.Index != i || msg.At.IsZero() || msg.At.Location() != time.UTC {
				t.Errorf("message %d: %+v", i, msg)
			}
		}
		wantSound(t, s)
	})
}

func TestAppendNothingIsNoChange(t *testing.T) {
	s := memkv.New()
	before := mustCreate(t, s, sessions.Meta{})
	if after := mustAppend(t, s, before.Handle); after.Revision != before.Revision {
		t.Errorf("revision moved from %d to %d", before.Revision, after.Revision)
	}
	_, err := sessions.Append(t.Context(), s, "none")
	wantError(t, "append of nothing to no session", err, kv.ErrNotFound)
}

// All fields come back as they were.
func TestMessageRoundTrip(t *testing.T) {
	s := memkv.New()
	h := mustCreate(t, s, sessions.Meta{}).Handle
	want := sessions.Message{
		Index: 0, ID: "uuid", Role: sessions.Assistant, Name: "reviewer", Model: "m", At: at(1), Stop: "end_turn",
		Usage: &sessions.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4},
		Blocks: []sessions.Block{
			{Type: sessions.Thinking, Text: "hm", Signature: "c2ln"},
			{Type: sessions.Text, Text: "a\x00b", Injected: true},
			{Type: sessions.ToolUse, ID: "1", Name: "f", Input: []byte(`{"a": [1, "\ud83d\ude00"]}`)},
			{Type: sessions.ToolResult, ID: "1", Text: "no", IsError: true},
			{Type: sessions.Image, ID: "1", MIME: "image/png", Data: []byte{0, 255}, Size: 2},
		},
	}
	mustAppend(t, s, h, want)
	got := must[sessions.Message](t)(sessions.Get(t.Context(), s, h, 0))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestD01_OrderIsThatOfAppendingWhateverTheClockSays(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		h := mustCreate(t, s, sessions.Meta{CreatedAt: at(0)}).Handle
		msgs := []sessions.Message{user("u"), assistant("a", "c"), result("c", "r1"), result("c", "r2"), assistant("b"), user("v")}
		for i, second := range []int{10, 11, 11, 9, 8, 12} {
			msgs[i].At = at(second)
			mustAppend(t, s, h, msgs[i])
		}
		want := []string{"u", "a+run_c", "r1", "r2", "b", "v"}
		wantEqual(t, "messages", texts(t, s, h, sessions.Range{}), want)
		wantEqual(t, "page", texts(t, s, h, sessions.Range{From: 2, Limit: 3}), want[2:5])
		var exported, resumed []string
		for _, r := range collect(t, sessions.Export(ctx, s, h)) {
			if r.Message != nil {
				exported = append(exported, textOf(*r.Message))
			}
		}
		for _, m := range must[sessions.Context](t)(sessions.LoadContext(ctx, s, h)).Messages {
			resumed = append(resumed, textOf(m))
		}
		wantEqual(t, "export", exported, want)
		wantEqual(t, "resume", resumed, want)
		if m := must[sessions.Meta](t)(sessions.Load(ctx, s, h)); !m.UpdatedAt.Equal(at(12)) {
			t.Errorf("updated at %v, and the latest message is of %v", m.UpdatedAt, at(12))
		}
		late := user("an old one")
		late.At = at(1)
		if m := mustAppend(t, s, h, late); !m.UpdatedAt.Equal(at(12)) {
			t.Errorf("an older message moved the time of the last activity to %v", m.UpdatedAt)
		}
	})
}

func TestMessagesRanges(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		h := mustCreate(t, s, sessions.Meta{}).Handle
		mustAppend(t, s, h, user("0"), user("1"), user("2"), user("3"), user("4"))
		for _, c := range []struct {
			r    sessions.Range
			want string
		}{
			{sessions.Range{}, "01234"},
			{sessions.Range{From: 2}, "234"},
			{sessions.Range{Before: 2}, "01"},
			{sessions.Range{From: 1, Before: 4}, "123"},
			{sessions.Range{From: 1, Limit: 2}, "12"},
			{sessions.Range{From: -3, Before: 99}, "01234"},
			{sessions.Range{From: 5}, ""},
			{sessions.Range{From: 3, Before: 3}, ""},
			{sessions.Range{Reverse: true}, "43210"},
			{sessions.Range{Reverse: true, Before: 3}, "210"},
			{sessions.Range{Reverse: true, From: 3}, "43"},
			{sessions.Range{Reverse: true, Limit: 2}, "43"},
			{sessions.Range{Reverse: true, From: 1, Before: 4, Limit: 2}, "32"},
		} {
			if got := strings.Join(texts(t, s, h, c.r), ""); got != c.want {
				t.Errorf("%+v: got %q, want %q", c.r, got, c.want)
			}
		}
	})
}

func TestMessagesAreThoseOfTheBeginning(t *testing.T) {
	s := memkv.New()
	h := mustCreate(t, s, sessions.Meta{}).Handle
	mustAppend(t, s, h, user("a"), user("b"))
	seen := 0
	for _, err := range sessions.Messages(t.Context(), s, h, sessions.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		mustAppend(t, s, h, user("more"))
	}
	if seen != 2 {
		t.Errorf("saw %d messages, want 2", seen)
	}
}

func TestAbsent(t *testing.T) {
	ctx, s := t.Context(), memkv.New()
	h := mustCreate(t, s, sessions.Meta{}).Handle
	mustAppend(t, s, h, user("a"))
	for _, i := range []int{-1, 1, 1 << 40} {
		_, err := sessions.Get(ctx, s, h, i)
		wantError(t, fmt.Sprint("get ", i), err, kv.ErrNotFound)
		_, err = sessions.Amend(ctx, s, h, sessions.Message{Index: i, Role: sessions.User})
		wantError(t, fmt.Sprint("amend ", i), err, kv.ErrNotFound)
	}
	_, err := sessions.Load(ctx, s, "none")
	wantError(t, "load", err, kv.ErrNotFound)
	for _, err = range sessions.Messages(ctx, s, "none", sessions.Range{}) {
	}
	wantError(t, "messages", err, kv.ErrNotFound)
	_, err = sessions.State(ctx, s, h)
	wantError(t, "state", err, kv.ErrNotFound)
}

func TestAppendRefusesWhatIsNoMessage(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		before := mustCreate(t, s, sessions.Meta{})
		for _, bad := range []sessions.Message{
			{}, {Role: "robot"}, {Role: sessions.User, Blocks: []sessions.Block{{Text: "no type"}}},
		} {
			_, err := sessions.Append(t.Context(), s, before.Handle, user("good"), bad)
			wantError(t, fmt.Sprintf("%+v", bad), err, sessions.ErrInvalid)
		}
		after := must[sessions.Meta](t)(sessions.Load(t.Context(), s, before.Handle))
		if after.Revision != before.Revision || len(texts(t, s, before.Handle, sessions.Range{})) != 0 {
			t.Errorf("something of a refused append was written: %+v", after)
		}
	})
}

func TestAmend(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		h := mustCreate(t, s, sessions.Meta{}).Handle
		first := assistant("thinking of it")
		first.At, first.ID, first.Usage = at(3), "m1", &sessions.Usage{Output: 5}
		mustAppend(t, s, h, user("q"), first, user("later"))

		whole := assistant("here it is", "c")
		whole.Index, whole.ID, whole.Usage = 1, "m1", &sessions.Usage{Output: 90}
		m := must[sessions.Meta](t)(sessions.Amend(ctx, s, h, whole))
		if m.Messages != 3 || m.NextIndex != 3 || m.Revision != 3 || m.Usage.Output != 90 {
			t.Errorf("meta after amending: %+v", m)
		}
		wantEqual(t, "messages", texts(t, s, h, sessions.Range{}), []string{"q", "here it is+run_c", "later"})
		if got := must[sessions.Message](t)(sessions.Get(ctx, s, h, 1)); !got.At.Equal(at(3)) || got.ID != "m1" {
			t.Errorf("amended message: %+v", got)
		}
		wantSound(t, s)
	})
}

func TestBatchIsOneCommit(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		var m sessions.Meta
		err := sessions.Update(ctx, s, func(b *sessions.Batch) error {
			var err error
			if m, err = b.Create(ctx, sessions.Meta{Title: "before"}); err != nil {
				return err
			}
			for i := range 10 {
				if m, err = b.Append(ctx, m.Handle, user(fmt.Sprint("text ", i))); err != nil {
					return err
				}
			}
			if m, err = b.Amend(ctx, m.Handle, sessions.Message{Index: 3, Role: sessions.User}); err != nil {
				return err
			}
			if m, err = b.Truncate(ctx, m.Handle, 8); err != nil {
				return err
			}
			m, err = b.UpdateMeta(ctx, m.Handle, func(m *sessions.Meta) error { m.Title = "after"; return nil })
			if err != nil {
				return err
			}
			return b.Store().Put(ctx, kv.Config, kv.Key(b.Store(), "cursor"), []byte("10"))
		})
		if err != nil {
			t.Fatal(err)
		}
		if m.Revision != 1 || m.Messages != 8 || m.NextIndex != 10 || m.Title != "after" {
			t.Errorf("meta: %+v", m)
		}
		if stored := must[sessions.Meta](t)(sessions.Load(ctx, s, m.Handle)); fmt.Sprint(stored) != fmt.Sprint(m) {
			t.Errorf("stored %+v, the batch said %+v", stored, m)
		}
		if got := len(texts(t, s, m.Handle, sessions.Range{})); got != 8 {
			t.Errorf("%d messages", got)
		}
		wantSound(t, s)
	})
}

func TestFailedBatchWritesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx, no := t.Context(), errors.New("no")
		err := sessions.Update(ctx, s, func(b *sessions.Batch) error {
			m, err := b.Create(ctx, sessions.Meta{Title: "t"})
			if err == nil {
				_, err = b.Append(ctx, m.Handle, user("text"))
			}
			return errors.Join(err, no)
		})
		wantError(t, "update", err, no)
		wantEmpty(t, s)
	})
}

func TestD07_ConcurrentAppendsLoseNothing(t *testing.T) {
	ctx, s := t.Context(), memkv.New()
	h := mustCreate(t, s, sessions.Meta{}).Handle
	const writers, each = 16, 100
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := sessions.Append(ctx, s, h, user(fmt.Sprintf("w%d-%d", w, i))); err != nil {
					t.Error(err)
					return
				}
			}
			_, err := sessions.UpdateMeta(ctx, s, h, func(m *sessions.Meta) error {
				extra := map[string]any{fmt.Sprint("field", w): "set"}
				for k, v := range m.Extra {
					extra[k] = v
				}
				m.Extra = extra
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()

	m := must[sessions.Meta](t)(sessions.Load(ctx, s, h))
	if m.Messages != writers*each || m.NextIndex != writers*each || m.Revision != 1+writers*each+writers || len(m.Extra) != writers {
		t.Errorf("meta %+v", m)
	}
	next := make([]int, writers)
	for i, msg := range collect(t, sessions.Messages(ctx, s, h, sessions.Range{})) {
		var w, n int
		if _, err := fmt.Sscanf(textOf(msg), "w%d-%d", &w, &n); err != nil {
			t.Fatal(err)
		}
		if msg.Index != i || n != next[w] {
			t.Fatalf("message %d is number %d of writer %d, want %d", msg.Index, n, w, next[w])
		}
		next[w]++
	}
	wantSound(t, s)
}

func TestD07_StaleWriterGetsAConflict(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		m := mustCreate(t, s, sessions.Meta{})
		write := func(revision int, text string) error {
			return sessions.Update(ctx, s, func(b *sessions.Batch) error {
				if err := b.Expect(ctx, m.Handle, revision); err != nil {
					return err
				}
				_, err := b.Append(ctx, m.Handle, user(text))
				return err
			})
		}
		if err := write(m.Revision, "fast"); err != nil {
			t.Fatal(err)
		}
		wantError(t, "the slow writer", write(m.Revision, "slow"), kv.ErrConflict)
		if err := write(m.Revision+1, "again"); err != nil {
			t.Error(err)
		}
		wantEqual(t, "messages", texts(t, s, m.Handle, sessions.Range{}), []string{"fast", "again"})
	})
}

func TestCallersMessagesStayAsTheyAre(t *testing.T) {
	s := memkv.New()
	h := mustCreate(t, s, sessions.Meta{}).Handle
	m := sessions.Message{Role: sessions.User, Blocks: []sessions.Block{{Type: sessions.Text, Text: "\xff", Input: []byte(`"\ud800"`)}}}
	before := slices.Clone(m.Blocks)
	mustAppend(t, s, h, m)
	if m.Blocks[0].Text != before[0].Text || string(m.Blocks[0].Input) != `"\ud800"` || m.Index != 0 {
		t.Errorf("changed to %+v", m)
	}
}
