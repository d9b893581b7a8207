package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
)

// fixture is a folder of transcripts and a store.
type fixture struct {
	*testing.T
	dir   string
	store kv.KVStorage
}

func newFixture(t *testing.T) *fixture {
	return &fixture{t, t.TempDir(), memkv.New()}
}

// put writes a file of lines as given, with or without a newline at the end.
func (f *fixture) put(name, content string) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		f.Fatal(err)
	}
}

// add appends to a file.
func (f *fixture) add(name, content string) {
	f.Helper()
	was, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		f.Fatal(err)
	}
	f.put(name, string(was)+content)
}

func (f *fixture) run(opts Options) *Report {
	f.Helper()
	r, err := Run(context.Background(), f.store, walk(f, f.dir), opts)
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// claude returns a line of a Claude Code transcript, of a user or, with a reply's
// ID, of the assistant.
func claude(session, uuid, reply, text string, more ...string) string {
	message := object{"role": "user", "content": text}
	kind := "user"
	if reply != "" {
		kind = "assistant"
		message = object{"id": reply, "role": "assistant", "model": "m", "content": []object{{"type": "text", "text": text}}}
	}
	l := object{"type": kind, "sessionId": session, "uuid": uuid, "isSidechain": false, "version": "2.1.0",
		"cwd": "/src", "timestamp": "2026-01-05T08:00:00.000Z", "message": message}
	for i := 0; i+1 < len(more); i += 2 {
		l[more[i]] = more[i+1]
	}
	b, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

// id returns a UUID, of which a message's ID is made as it is.
func id(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) }

func handle(session string) string { return handleOf(transcripts.ClaudeCode, session) }

// texts returns what is stored of a session, a string a message.
func (f *fixture) texts(session string) []string {
	f.Helper()
	var out []string
	for m, err := range sessions.Messages(context.Background(), f.store, handle(session), sessions.Range{}) {
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		if err != nil {
			f.Fatal(err)
		}
		var parts []string
		for _, b := range m.Blocks {
			parts = append(parts, b.Text)
		}
		out = append(out, strings.Join(parts, "|"))
	}
	return out
}

func (f *fixture) wantTexts(session string, want ...string) {
	f.Helper()
	if got := f.texts(session); !slices.Equal(got, want) {
		f.Errorf("session %s has %q, want %q", session, got, want)
	}
}

// wantMessages compares the counts of all formats together.
func (f *fixture) wantMessages(r *Report, want Counts) {
	f.Helper()
	var got Counts
	for _, format := range r.Formats {
		got.add(format.Messages)
	}
	if got != want {
		f.Errorf("messages: %+v, want %+v", got, want)
	}
	f.wantSound()
}

func (f *fixture) wantSound() {
	f.Helper()
	faults, err := sessions.Check(context.Background(), f.store, "")
	if err != nil {
		f.Fatal(err)
	}
	for _, fault := range faults {
		f.Error("check:", fault)
	}
	differences, err := Check(context.Background(), f.store)
	if err != nil {
		f.Fatal(err)
	}
	for _, d := range differences {
		f.Error("check:", d)
	}
}

// content returns all that is in a store.
func content(t testing.TB, s kv.KVStorage) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, col := range kv.Columns() {
		for e, err := range s.Scan(context.Background(), col, nil) {
			if err != nil {
				t.Fatal(err)
			}
			all[string(rune(col))+string(e.Key)] = string(e.Value)
		}
	}
	return all
}

// wantSame compares the sessions of two stores: messages by ID, in their order.
func wantSame(t *testing.T, got, want kv.KVStorage) {
	t.Helper()
	g, w := outline(t, got), outline(t, want)
	for handle, messages := range w {
		if !slices.Equal(g[handle], messages) {
			t.Errorf("session %s has %d messages and not the %d of an import at one go, or others", handle, len(g[handle]), len(messages))
		}
	}
	if len(g) != len(w) {
		t.Errorf("%d sessions, want %d", len(g), len(w))
	}
}

// outline returns the messages of every session, as their IDs and a hash of what
// they say.
func outline(t *testing.T, s kv.KVStorage) map[string][]string {
	t.Helper()
	ctx := context.Background()
	all := map[string][]string{}
	page, err := sessions.List(ctx, s, sessions.Filter{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, meta := range page.Sessions {
		for m, err := range sessions.Messages(ctx, s, meta.Handle, sessions.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			for _, b := range m.Blocks {
				fmt.Fprintf(&said, "%s %q %s %q\n", b.Type, b.Text, b.Name, b.Input)
			}
			all[meta.Handle] = append(all[meta.Handle], m.ID+" "+said.String())
		}
	}
	return all
}
