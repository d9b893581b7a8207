package transcripts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// library is an importer: it does with batches what the package says an importer shall do.
type library struct {
	sessions map[string]Session
	messages map[string]Message
	order    []string // of messages, by ID
	skips    []Skip
	unknown  map[string]int
	records  int
	unread   int64
	restarts int
	batches  int
	cursor   Cursor
}

func newLibrary() *library {
	return &library{sessions: map[string]Session{}, messages: map[string]Message{}, unknown: map[string]int{}}
}

func (l *library) apply(b Batch) {
	for _, s := range b.Sessions {
		l.sessions[s.ID] = s
	}
	for _, m := range b.Messages {
		known, stored := l.messages[m.ID]
		if !stored {
			l.order = append(l.order, m.ID)
		}
		// A copy in a fork amends nothing, as the importer has it.
		if !stored || m.Amends && known.SessionID == m.SessionID {
			m.Amends = false
			l.messages[m.ID] = m
		}
	}
	l.skips = append(l.skips, b.Skips...)
	for typ, n := range b.Unknown {
		l.unknown[typ] += n
	}
	l.records += b.Records
	l.unread = b.Unread
	if b.Restarted {
		l.restarts++
	}
	l.batches++
	l.cursor = b.Cursor
}

// read applies what is new in a source. Everything that leaves is checked to be fit to leave.
func (l *library) read(t testing.TB, src Source, opts Options) error {
	t.Helper()
	for b, err := range Read(context.Background(), src, l.cursor, opts) {
		if err != nil {
			return err
		}
		checkValid(t, b)
		l.apply(b)
	}
	return nil
}

// mustRead is read, of a source in which nothing is wrong.
func mustRead(t testing.TB, src Source) *library {
	t.Helper()
	l := newLibrary()
	if err := l.read(t, src, Options{}); err != nil {
		t.Fatal(err)
	}
	return l
}

// checkValid checks the promises about strings and JSON.
func checkValid(t testing.TB, b Batch) {
	t.Helper()
	good := func(fields ...string) {
		for _, f := range fields {
			if !utf8.ValidString(f) {
				t.Errorf("not valid UTF-8: %q", f)
			}
		}
	}
	for _, s := range b.Sessions {
		good(s.ID, s.ParentID, s.Title, s.Agent, s.Model, s.Cwd, s.GitBranch, s.Version, s.Source, string(s.Kind))
	}
	for _, m := range b.Messages {
		good(m.ID, m.SessionID, m.ParentID, m.Author, string(m.Role))
		if m.ID == "" || m.SessionID == "" || m.Role == "" {
			t.Errorf("message without ID, session or role: %+v", m)
		}
		for _, k := range m.Blocks {
			good(k.Text, k.ToolID, k.ToolName, k.MIME, k.URL, string(k.Input))
			if k.Input != nil && !json.Valid(k.Input) {
				t.Errorf("input is not JSON: %q", k.Input)
			}
		}
	}
	for _, s := range b.Skips {
		good(s.Path, s.Reason)
	}
	for typ := range b.Unknown {
		good(typ)
	}
	if _, err := json.Marshal(b.Cursor); err != nil {
		t.Errorf("cursor: %v", err)
	}
}

// all is the messages in their order.
func (l *library) all() []Message {
	var out []Message
	for _, id := range l.order {
		out = append(out, l.messages[id])
	}
	return out
}

// texts is what was said, without framing.
func (l *library) texts() (out []string) {
	for _, m := range l.all() {
		for _, b := range m.Blocks {
			if b.Kind == Text && !b.Injected {
				out = append(out, b.Text)
			}
		}
	}
	return out
}

// String is the sessions, each with its messages, then what was skipped and not known: the form of
// the golden files. Derived IDs are written #.
func (l *library) String() string {
	var w strings.Builder
	var ids []string
	for _, m := range l.all() {
		if !slices.Contains(ids, m.SessionID) {
			ids = append(ids, m.SessionID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.sessions)) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		l.sessions[id].render(&w)
		for _, m := range l.all() {
			if m.SessionID == id {
				m.render(&w)
			}
		}
	}
	for _, s := range l.skips {
		fmt.Fprintf(&w, "skip line %d offset %d: %s\n", s.Line, s.Offset, s.Reason)
	}
	for _, typ := range slices.Sorted(maps.Keys(l.unknown)) {
		fmt.Fprintf(&w, "unknown %s %d\n", typ, l.unknown[typ])
	}
	return w.String()
}

var derivedID = regexp.MustCompile(`^(file-)?[0-9a-f]{24}(/answer|/results)?$`)

func short(id string) string {
	if derivedID.MatchString(id) {
		return "#"
	}
	return id
}

func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.999999999Z07:00") }

func (s Session) render(w *strings.Builder) {
	fmt.Fprintf(w, "session %s %s", s.Kind, short(s.ID))
	for _, f := range [][2]string{{"parent", s.ParentID}, {"title", s.Title}, {"agent", s.Agent}, {"model", s.Model},
		{"cwd", s.Cwd}, {"branch", s.GitBranch}, {"version", s.Version}} {
		if f[0] == "title" && f[1] != "" {
			f[1] = fmt.Sprintf("%q", f[1])
		}
		if f[1] != "" {
			fmt.Fprintf(w, " %s=%s", f[0], f[1])
		}
	}
	if !s.StartedAt.IsZero() {
		fmt.Fprintf(w, " started=%s", stamp(s.StartedAt))
	}
	w.WriteString("\n")
}

func (m Message) render(w *strings.Builder) {
	fmt.Fprintf(w, "%s %s", m.Role, short(m.ID))
	if m.ParentID != "" {
		fmt.Fprintf(w, " < %s", short(m.ParentID))
	}
	if m.Author != "" {
		fmt.Fprintf(w, " by %s", m.Author)
	}
	if !m.At.IsZero() {
		fmt.Fprintf(w, " %s", stamp(m.At))
	}
	if u := m.Usage; u != (Usage{}) {
		fmt.Fprintf(w, " usage=%d/%d/%d/%d/%d", u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning)
	}
	if m.Compaction {
		w.WriteString(" compaction")
	}
	w.WriteString("\n")
	for _, b := range m.Blocks {
		b.render(w)
	}
}

func (b Block) render(w *strings.Builder) {
	switch b.Kind {
	case Text:
		kind := "text"
		if b.Injected {
			kind = "injected"
		}
		fmt.Fprintf(w, "  %s %q", kind, b.Text)
	case Thinking:
		fmt.Fprintf(w, "  thinking %q", b.Text)
	case ToolUse:
		fmt.Fprintf(w, "  tool_use %s %s %s", short(b.ToolID), b.ToolName, b.Input)
	case ToolResult:
		fmt.Fprintf(w, "  tool_result %s", b.ToolID)
		if b.ToolName != "" {
			fmt.Fprintf(w, " %s", b.ToolName)
		}
		if b.IsError {
			w.WriteString(" failed")
		}
		fmt.Fprintf(w, " %q", b.Text)
	case Image:
		fmt.Fprintf(w, "  image %s %d bytes", b.MIME, b.Size)
		if b.Data != nil {
			fmt.Fprintf(w, ", kept")
		}
		if b.URL != "" {
			fmt.Fprintf(w, " at %s", b.URL)
		}
		if b.ToolID != "" {
			fmt.Fprintf(w, ", of %s", b.ToolID)
		}
	}
	w.WriteString("\n")
}

// write puts content into a file of a folder of the test's own, and gives the source that it is
// found to be.
func write(t testing.TB, name, content string) Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return find(t, path)
}

// find is the one source at a path.
func find(t testing.TB, path string) Source {
	t.Helper()
	var found []Source
	for f := range Walk(context.Background(), []string{path}) {
		if f.Status == Found {
			found = append(found, f.Source)
		} else {
			t.Logf("%s: %s: %s", f.Path, f.Status, f.Reason)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s: found %d sources, want 1", path, len(found))
	}
	return found[0]
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%v", got), fmt.Sprintf("%v", want); g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}
