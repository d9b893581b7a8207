package sessions_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
)

// badTexts are the ways in which half a character gets into a session.
func badTexts(t *testing.T) []string {
	var list []string
	for _, text := range []string{`"\ud83d"`, `"\ude00"`, `"ok \ud83d\ude00"`} {
		var s string
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return append(list, "\xed\xa0\x80", "\xff", "\xc0\x80", "good \xff good")
}

func TestD16_WhatIsStoredAndEmittedIsValid(t *testing.T) {
	output := strings.Repeat("x", 1<<20) + "😀"
	output = output[:len(output)-2] // of a tool, cut inside a character
	for _, bad := range badTexts(t) {
		ctx, s := t.Context(), memkv.New()
		h := mustCreate(t, s, sessions.Meta{
			Agent: bad[:min(9, len(bad))], Title: bad, Summary: bad, Model: bad, Cwd: bad, Tags: []string{bad},
			Origin: &sessions.Origin{Format: bad, ID: bad, Path: bad}, Parent: &sessions.Parent{Handle: bad, Kind: sessions.Fork},
			Extra: map[string]any{"k" + bad: []any{bad, map[string]any{"l": bad}}},
		}).Handle
		input, _ := json.Marshal(bad)
		blocks := []sessions.Block{
			{Type: sessions.Text, Text: "word " + bad}, {Type: sessions.Thinking, Text: bad, Signature: bad},
			{Type: sessions.ToolUse, ID: bad, Name: bad, Input: input}, {Type: sessions.ToolUse, ID: "raw", Input: []byte(`"` + bad)},
			{Type: sessions.Image, MIME: bad, Data: []byte("\xff")},
		}
		mustAppend(t, s, h,
			sessions.Message{Role: sessions.Assistant, ID: bad, Name: bad, Model: bad, Stop: bad, Blocks: blocks},
			result(bad, bad), result("raw", output))
		must[[]sessions.Event](t)(sessions.AppendEvents(ctx, s, h, sessions.Event{Type: "t" + bad, Data: []byte(`{"` + bad)}))
		must[sessions.Meta](t)(sessions.Compact(ctx, s, h, sessions.Compaction{Summary: bad, Keep: 3}))

		var out []any
		out = append(out, must[sessions.Page](t)(sessions.List(ctx, s, sessions.Filter{})))
		out = append(out, must[sessions.Context](t)(sessions.LoadContext(ctx, s, h)))
		results := must[sessions.Results](t)(sessions.Search(ctx, s, sessions.Query{Text: "word"}))
		if len(results.Hits) != 1 {
			t.Errorf("%.20q: %d hits", bad, len(results.Hits))
		}
		out = append(out, results)
		for _, r := range collect(t, sessions.Export(ctx, s, h)) {
			out = append(out, r)
		}
		for _, v := range out {
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatalf("%.20q: %v", bad, err)
			}
			if !utf8.Valid(data) || !json.Valid(data) {
				t.Errorf("%.20q: emitted %.200q", bad, data)
			}
		}
		for _, col := range []kv.Column{kv.Session, kv.Text, kv.Memory} {
			for key, err := range s.ScanKeys(ctx, col, nil) {
				if err != nil || !utf8.Valid(key) {
					t.Errorf("%.20q: key %q, %v", bad, key, err)
				}
			}
		}
		wantSound(t, s)
	}
}

func TestAMetaOfAnOlderStoreIsRead(t *testing.T) {
	ctx, s := t.Context(), memkv.New()
	old := `{"agent":"a","title":"half \ud83d","created_at":"2026-05-06T09:08:01+02:00","next_index":1,"messages":1,"unknown":{}}`
	if err := s.Put(ctx, kv.Session, kv.Key(s, "session", "old", "meta"), []byte(old)); err != nil {
		t.Fatal(err)
	}
	m := must[sessions.Meta](t)(sessions.Load(ctx, s, "old"))
	if m.Handle != "old" || m.Title != "half \uFFFD" || !m.CreatedAt.Equal(at(1)) || m.CreatedAt.Location() != time.UTC {
		t.Errorf("read as %+v", m)
	}
}

// What another program stored stays readable: as JSON, with bad text, or not at
// all, and then the rest of the session is there.
func TestD16_ABadOldRecordDoesNotBlockTheSession(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		ctx := t.Context()
		h := mustCreate(t, s, sessions.Meta{}).Handle
		mustAppend(t, s, h, user("zero"), user("one"), user("two"), user("three"))
		put := func(index string, value []byte) {
			if err := s.Put(ctx, kv.Session, kv.Key(s, "session", h, "msg", index), value); err != nil {
				t.Fatal(err)
			}
		}
		type old struct {
			Role   string           `json:"role"`
			Blocks []map[string]any `json:"blocks"`
		}
		bad := must[[]byte](t)(kv.Marshal(old{"user", []map[string]any{{"type": "text", "text": "half \xed\xa0\x80"}}}))
		put("000000000000", bad)
		put("000000000001", []byte(`{"index":9,"role":"user","blocks":[{"type":"text","text":"old \ud83d"}],"unknown":1}`))
		put("000000000002", []byte("\x81\xa1")) // broken off

		var got []string
		for m, err := range sessions.Messages(ctx, s, h, sessions.Range{}) {
			if err != nil {
				wantError(t, "the damaged message", err, kv.ErrCorrupt)
				if m.Index != 2 {
					t.Errorf("the damaged message has index %d", m.Index)
				}
				got = append(got, "?")
				continue
			}
			got = append(got, textOf(m))
		}
		wantEqual(t, "messages", got, []string{"half \uFFFD", "old \uFFFD", "?", "three"})
		if m := must[sessions.Message](t)(sessions.Get(ctx, s, h, 1)); m.Index != 1 {
			t.Errorf("index %d", m.Index)
		}
		exported := 0
		for _, err := range sessions.Export(ctx, s, h) {
			if err == nil {
				exported++
			}
		}
		if exported != 4 { // meta and three messages
			t.Errorf("%d records exported", exported)
		}
		_, err := sessions.LoadContext(ctx, s, h)
		wantError(t, "a context with a hole", err, kv.ErrCorrupt)
		if r := must[sessions.Results](t)(sessions.Search(ctx, s, sessions.Query{Text: "two three"})); len(r.Hits) != 1 || r.Hits[0].Best != 3 {
			t.Errorf("search: %+v", r)
		}
		// It can be truncated away.
		must[sessions.Meta](t)(sessions.Truncate(ctx, s, h, 2))
		must[any](t)(nil, sessions.Reindex(ctx, s, h))
		wantSound(t, s)
	})
}
