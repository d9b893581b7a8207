package sessions_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
)

// allPages returns the handles of every page that a filter gives.
func allPages(t *testing.T, s kv.KVStorage, f sessions.Filter) [][]string {
	t.Helper()
	var pages [][]string
	for {
		page := must[sessions.Page](t)(sessions.List(t.Context(), s, f))
		pages = append(pages, handles(page.Sessions))
		if f.Cursor = page.Next; f.Cursor == "" {
			return pages
		}
		if len(pages) > 100 {
			t.Fatal("pages without end")
		}
	}
}

func TestListPages(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		// Newest first: s11 … s00, agents and creators mixed. s04 and s05 share a time.
		for i := range 12 {
			second := i
			if i == 5 {
				second = 4
			}
			mustCreate(t, s, sessions.Meta{
				Handle: fmt.Sprintf("s%02d", i), CreatedAt: at(second),
				Agent: string("abc"[i%3]), CreatedBy: string("xy"[i%2]),
			})
		}
		for _, c := range []struct {
			f    sessions.Filter
			want string
		}{
			{sessions.Filter{}, "s11 s10 s09 s08 s07 s06 s05 s04 s03 s02 s01 s00"},
			{sessions.Filter{Limit: 5}, "s11 s10 s09 s08 s07|s06 s05 s04 s03 s02|s01 s00"},
			{sessions.Filter{Limit: 12}, "s11 s10 s09 s08 s07 s06 s05 s04 s03 s02 s01 s00"},
			{sessions.Filter{Limit: 4, Agent: "a"}, "s09 s06 s03 s00"},
			{sessions.Filter{Limit: 3, Agent: "a"}, "s09 s06 s03|s00"},
			{sessions.Filter{Limit: 3, By: "y"}, "s11 s09 s07|s05 s03 s01"},
			{sessions.Filter{Agent: "b", By: "x"}, "s10 s04"},
			{sessions.Filter{Agent: "none"}, ""},
			{sessions.Filter{Limit: 2, Match: func(m sessions.Meta) bool { return m.Handle < "s03" }}, "s02 s01|s00"},
			{sessions.Filter{Limit: 3, Match: func(m sessions.Meta) bool { return m.Handle < "s03" }}, "s02 s01 s00"},
		} {
			var got []string
			for _, page := range allPages(t, s, c.f) {
				got = append(got, strings.Join(page, " "))
			}
			if joined := strings.Join(got, "|"); joined != c.want {
				t.Errorf("%+v: got %q, want %q", c.f, joined, c.want)
			}
		}
		for _, cursor := range []string{"x", "/", "2026-01-01/h", "2026-01-02T03:04:05.000000000Z", "%"} {
			_, err := sessions.List(t.Context(), s, sessions.Filter{Cursor: cursor})
			wantError(t, "cursor "+cursor, err, sessions.ErrInvalid)
		}
	})
}

func TestListPagesStayWhileSessionsComeAndGo(t *testing.T) {
	ctx, s := t.Context(), memkv.New()
	for i := range 6 {
		mustCreate(t, s, sessions.Meta{Handle: fmt.Sprint("s", i), CreatedAt: at(i)})
	}
	first := must[sessions.Page](t)(sessions.List(ctx, s, sessions.Filter{Limit: 3}))
	mustCreate(t, s, sessions.Meta{Handle: "newer", CreatedAt: at(20)})
	for _, gone := range []string{"s3", "s1"} { // the last of the first page, and one of the second
		if err := sessions.Delete(ctx, s, gone); err != nil {
			t.Fatal(err)
		}
	}
	second := must[sessions.Page](t)(sessions.List(ctx, s, sessions.Filter{Limit: 3, Cursor: first.Next}))
	wantEqual(t, "pages", append(handles(first.Sessions), handles(second.Sessions)...), []string{"s5", "s4", "s3", "s2", "s0"})
}

func TestD04_TimesOfAnyFormSort(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
		for handle, created := range map[string]time.Time{
			"a": noon,
			"b": noon.Add(100_000_000),
			"c": noon.Add(100_000_001),
			"d": noon.Add(150_000_000),
			"e": noon.Add(120_000_000).In(time.FixedZone("", 2*3600)),
			"f": time.Date(1931, 5, 6, 7, 8, 9, 0, time.UTC),
		} {
			mustCreate(t, s, sessions.Meta{Handle: handle, Agent: "x", CreatedAt: created})
		}
		page := must[sessions.Page](t)(sessions.List(ctx, s, sessions.Filter{}))
		wantEqual(t, "newest first", handles(page.Sessions), []string{"d", "e", "c", "b", "a", "f"})
		if m := must[sessions.Meta](t)(sessions.Latest(ctx, s, "x", "")); m.Handle != "d" {
			t.Errorf("latest is %s", m.Handle)
		}
	})
}

func TestLatest(t *testing.T) {
	ctx, s := t.Context(), memkv.New()
	mustCreate(t, s, sessions.Meta{Handle: "1", Agent: "a", CreatedBy: "x", CreatedAt: at(1)})
	mustCreate(t, s, sessions.Meta{Handle: "2", Agent: "a", CreatedBy: "y", CreatedAt: at(2)})
	mustCreate(t, s, sessions.Meta{Handle: "3", Agent: "b", CreatedBy: "x", CreatedAt: at(3)})
	for _, c := range []struct{ agent, by, want string }{{"", "", "3"}, {"a", "", "2"}, {"a", "x", "1"}, {"", "y", "2"}} {
		if m := must[sessions.Meta](t)(sessions.Latest(ctx, s, c.agent, c.by)); m.Handle != c.want {
			t.Errorf("latest of %q by %q is %s, want %s", c.agent, c.by, m.Handle, c.want)
		}
	}
	_, err := sessions.Latest(ctx, s, "b", "y")
	wantError(t, "latest of none", err, kv.ErrNotFound)
}

// watched is a store that notes which values were read.
type watched struct {
	plain
	read *[]string
}

func (w watched) Get(ctx context.Context, col kv.Column, key []byte) ([]byte, error) {
	*w.read = append(*w.read, string(key))
	return w.KVStorage.Get(ctx, col, key)
}

func (w watched) Scan(ctx context.Context, col kv.Column, prefix []byte) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		for e, err := range w.KVStorage.Scan(ctx, col, prefix) {
			*w.read = append(*w.read, string(e.Key))
			if !yield(e, err) {
				return
			}
		}
	}
}

func TestListReadsTheMetasOfThePageAndNothingElse(t *testing.T) {
	s := memkv.New()
	for i := range 30 {
		m := mustCreate(t, s, sessions.Meta{Handle: fmt.Sprintf("s%02d", i), CreatedAt: at(i), Agent: fmt.Sprint(i % 3)})
		mustAppend(t, s, m.Handle, user("body"))
	}
	var read []string
	page := must[sessions.Page](t)(sessions.List(t.Context(), watched{plain{s}, &read}, sessions.Filter{Limit: 2}))
	wantEqual(t, "page", handles(page.Sessions), []string{"s29", "s28"})
	wantEqual(t, "values read", read, []string{"local/session/s29/meta", "local/session/s28/meta", "local/session/s27/meta"})
	if slices.ContainsFunc(read, func(key string) bool { return strings.Contains(key, "/msg/") }) {
		t.Error("a message was read")
	}
}
