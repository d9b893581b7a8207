package transcripts

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// fuzzRead reads whatever it is given as a source of one format: no panic, no endless loop, only
// valid strings, offsets within the file, the errors that are named, and, of what is not
// damaged, the same at a second reading.
func fuzzRead(f *testing.F, format Format, layout Layout) {
	for name := range goldenSources {
		if b, err := os.ReadFile(filepath.Join("testdata", name)); err == nil {
			f.Add(b)
			f.Add(b[len(b)/3:])
		}
	}
	f.Add([]byte("{\"type\":\"user\",\"mess{\"type\":\"user\"}\n\x00\x00{}{}[]null\n\xEF\xBB\xBF{"))
	f.Add([]byte(`[{"mapping":{"a":{"parent":"a","children":["a"]}}},7]`))
	path := filepath.Join(f.TempDir(), "fuzz")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		src := Source{Path: path, Format: format, Layout: layout}
		opts := Options{MaxLine: 1 << 16, MaxImage: 16, batch: 2}
		l := newLibrary()
		err := l.read(t, src, opts)
		if err != nil && !errors.Is(err, ErrNotUnderstood) && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrChanged) {
			t.Fatalf("unexpected error: %v", err)
		}
		for _, s := range l.skips {
			if layout == Lines && (s.Offset < 0 || s.Offset > int64(len(data))) {
				t.Errorf("skip at %d of %d bytes", s.Offset, len(data))
			}
		}
		again := newLibrary()
		err = again.read(t, src, Options{MaxLine: 1 << 16, MaxImage: 16})
		// Where damage stands between the parts of one message, which of them are taken for
		// it hangs on where batches end; so only what is whole has to be read alike.
		if err == nil && l.records > 0 && len(l.skips) == 0 {
			compare(t, again.String(), l.String())
		}
	})
}

func FuzzClaude(f *testing.F)         { fuzzRead(f, ClaudeCode, Lines) }
func FuzzClaudeArray(f *testing.F)    { fuzzRead(f, ClaudeCode, Document) }
func FuzzCodex(f *testing.F)          { fuzzRead(f, Codex, Lines) }
func FuzzCodexDocument(f *testing.F)  { fuzzRead(f, Codex, Document) }
func FuzzPi(f *testing.F)             { fuzzRead(f, Pi, Lines) }
func FuzzOpenCodeEvents(f *testing.F) { fuzzRead(f, OpenCode, Lines) }
func FuzzOpenCodeExport(f *testing.F) { fuzzRead(f, OpenCode, Document) }
func FuzzOpenCodeTree(f *testing.F)   { fuzzRead(f, OpenCode, Tree) }
func FuzzChatGPT(f *testing.F)        { fuzzRead(f, ChatGPT, Document) }
func FuzzTurns(f *testing.F)          { fuzzRead(f, ClaudeReplay, Lines) }

// FuzzSniff: whatever a file is, something is told of it.
func FuzzSniff(f *testing.F) {
	f.Add([]byte("\n{\"type\":\"user\",\"message\":{}}"))
	f.Add([]byte("PK\x03\x04"))
	f.Add([]byte("SQLite format 3\x00"))
	f.Add([]byte{0x28, 0xB5, 0x2F, 0xFD, 0, 0, 0})
	f.Add([]byte{0x1F, 0x8B, 8, 0, 0})
	path := filepath.Join(f.TempDir(), "fuzz")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		n := 0
		for f := range Walk(context.Background(), []string{path}) {
			n++
			if f.Status == Found && f.Source.Format == "" || f.Status == Unreadable {
				t.Errorf("%+v", f)
			}
		}
		if n == 0 {
			t.Error("nothing was told")
		}
	})
}

// FuzzSplitLine: the values and the damage are in order and apart, and the values are JSON.
func FuzzSplitLine(f *testing.F) {
	f.Add([]byte(`{"a":1}{"b":2} 42 {"c{"d":3}`))
	f.Add([]byte("\x00 \x00{\"a\":\"\xFF\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		end := 0
		splitLine(data, func(raw []byte, at int) {
			if at < end || !jsontext.Value(raw).IsValid(tolerant) || string(data[at:at+len(raw)]) != string(raw) {
				t.Errorf("value %q at %d, behind %d", raw, at, end)
			}
			end = at + len(raw)
		}, func(at int, reason string) {
			if at < end || at >= len(data) || reason == "" {
				t.Errorf("damage at %d of %d, behind %d: %q", at, len(data), end, reason)
			}
			end = at
		})
	})
}

// FuzzCursor: a cursor that is none of ours is an error or a reading, not a panic.
func FuzzCursor(f *testing.F) {
	f.Add(int64(0), int64(10), []byte(`{"sessions":[{}],"grammar":{}}`), int64(5))
	f.Add(int64(50), int64(10), []byte(`{"grammar":null,"parents":[["a"]]}`), int64(-5))
	path := filepath.Join(f.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(strings.Repeat(userLine(1, "x")+"\n", 3)), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, offset, size int64, state []byte, open int64) {
		src := Source{Path: path, Format: ClaudeCode, Layout: Lines}
		l := newLibrary()
		l.cursor = Cursor{Offset: offset, Size: size, State: state, Open: []int64{open}}
		_ = l.read(t, src, Options{})
		if _, err := json.Marshal(l.cursor); err != nil {
			t.Error(err)
		}
	})
}
