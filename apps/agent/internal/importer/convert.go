package importer

import (
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
	"github.com/crabstore/crabstore/sessions"
)

// CreatedBy is what sessions.Meta says of who began a session that was imported.
const CreatedBy = "import"

// The fields of sessions.Meta.Extra that an import fills.
const (
	ExtraOpening = "opening"    // the first words that a user said, for sessions without a title
	ExtraAgent   = "agent_type" // the agent's name within the program
	ExtraBranch  = "git_branch"
	ExtraVersion = "version" // of the program that wrote the transcript
)

// handleOf returns the handle of a transcript's session.
func handleOf(format transcripts.Format, id string) string {
	return sessions.Origin{Format: string(format), ID: id}.Handle()
}

// describe puts into a meta what the transcript says of the session. What it does
// not say stays.
func describe(m *sessions.Meta, s *transcripts.Session) {
	m.Agent, m.CreatedBy = string(s.Format), CreatedBy
	for _, f := range []struct {
		field *string
		value string
	}{{&m.Title, s.Title}, {&m.Model, s.Model}, {&m.Cwd, s.Cwd}} {
		if f.value != "" {
			*f.field = f.value
		}
	}
	if !s.StartedAt.IsZero() && (m.CreatedAt.IsZero() || s.StartedAt.Before(m.CreatedAt)) {
		m.CreatedAt = s.StartedAt
	}
	if m.Origin == nil {
		m.Origin = &sessions.Origin{Format: string(s.Format), ID: s.ID, Path: s.Source}
	}
	if m.Parent == nil {
		m.Parent = parentOf(s)
	}
	for name, value := range map[string]string{ExtraAgent: s.Agent, ExtraBranch: s.GitBranch, ExtraVersion: s.Version} {
		setExtra(m, name, value)
	}
}

// setExtra sets a field of m.Extra where the value says something. It leaves the
// map that was there alone.
func setExtra(m *sessions.Meta, name, value string) {
	if value == "" || m.Extra[name] == value {
		return
	}
	extra := maps.Clone(m.Extra)
	if extra == nil {
		extra = map[string]any{}
	}
	extra[name] = value
	m.Extra = extra
}

var parentKinds = map[transcripts.Kind]sessions.ParentKind{
	transcripts.Subagent:  sessions.Subagent,
	transcripts.Sidechain: sessions.Sidechain,
	transcripts.Fork:      sessions.Fork,
}

func parentOf(s *transcripts.Session) *sessions.Parent {
	kind := parentKinds[s.Kind]
	if s.ParentID == "" || kind == "" {
		return nil
	}
	return &sessions.Parent{Handle: handleOf(s.Format, s.ParentID), Kind: kind}
}

// compaction is the name of the message that stands where history was replaced by
// a summary.
const compaction = "compaction"

func messageOf(m *transcripts.Message) sessions.Message {
	out := sessions.Message{ID: m.ID, Role: sessions.Role(m.Role), At: m.At}
	if m.Role == transcripts.Assistant {
		out.Model = m.Author
	} else {
		out.Name = m.Author
	}
	if m.Compaction && out.Name == "" {
		out.Name = compaction
	}
	if u := m.Usage; u != (transcripts.Usage{}) {
		out.Usage = &sessions.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	}
	out.Blocks = make([]sessions.Block, len(m.Blocks))
	for i := range m.Blocks {
		out.Blocks[i] = blockOf(&m.Blocks[i])
	}
	return out
}

func blockOf(b *transcripts.Block) sessions.Block {
	out := sessions.Block{
		Type: sessions.BlockType(b.Kind), Text: b.Text, Injected: b.Injected,
		ID: b.ToolID, Name: b.ToolName, Input: b.Input, IsError: b.IsError,
		MIME: b.MIME, Data: b.Data, Size: b.Size,
	}
	if b.Kind == transcripts.Image {
		out.Text = b.URL
		if len(b.Data) > 0 {
			out.Size = 0 // it is that of Data
		}
	}
	return out
}

// openingLength is how many bytes of its first words a session is called by.
const openingLength = 160

// opening returns the first words of what a user said in a message, on one line.
func opening(m *sessions.Message) string {
	if m.Role != sessions.User {
		return ""
	}
	for _, b := range m.Blocks {
		if b.Type != sessions.Text || b.Injected {
			continue
		}
		if words := clip(b.Text, openingLength); words != "" {
			return words
		}
	}
	return ""
}

// clip returns the words of a text that fit into n bytes, with single spaces
// between them.
func clip(text string, n int) string {
	if len(text) > 4*n {
		text = text[:4*n] // enough words, whatever the space between them
	}
	line := strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if len(line) <= n {
		return line
	}
	cut := n
	for cut > 0 && !utf8.RuneStart(line[cut]) {
		cut--
	}
	if space := strings.LastIndexByte(line[:cut], ' '); space > n/2 {
		cut = space
	}
	return line[:cut] + "…"
}

// sizeOf is about how many bytes a message takes in a commit.
func sizeOf(m *transcripts.Message) (n int64) {
	for i := range m.Blocks {
		b := &m.Blocks[i]
		n += int64(len(b.Text) + len(b.Input) + len(b.Data))
	}
	return n
}

// firstAt is when a session began that does not say: at its first message.
func firstAt(s *transcripts.Session, m *transcripts.Message) time.Time {
	if s.StartedAt.IsZero() {
		return m.At
	}
	return s.StartedAt
}
