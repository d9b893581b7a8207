package transcripts

import (
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// pi writes ~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl: a header of type session, then
// entries. Version 1 has no ids on entries; versions 2 and 3 form a tree by id and parentId, the
// ids being eight hex digits, unique in their file only. Opening an older file with a newer pi
// rewrites it with ids added: a message is therefore named by its time and content, which no
// rewriting and no branching to a new file changes.
type pi struct {
	Session string
	Model   string
}

type piLine struct {
	Type          text           `json:"type"`
	ID            text           `json:"id"`
	ParentID      text           `json:"parentId"`
	Timestamp     when           `json:"timestamp"`
	Cwd           text           `json:"cwd"`
	Version       jsontext.Value `json:"version"`
	ParentSession text           `json:"parentSession"`
	BranchedFrom  text           `json:"branchedFrom"`
	ModelID       text           `json:"modelId"`
	Message       jsontext.Value `json:"message"`
	Summary       text           `json:"summary"`
	Name          text           `json:"name"`
	CustomType    text           `json:"customType"`
	Content       textOr[piPart] `json:"content"`
}

type piMessage struct {
	Role         text           `json:"role"`
	Content      textOr[piPart] `json:"content"`
	Timestamp    when           `json:"timestamp"`
	Model        text           `json:"model"`
	ToolCallID   text           `json:"toolCallId"`
	ToolName     text           `json:"toolName"`
	IsError      flag           `json:"isError"`
	ErrorMessage text           `json:"errorMessage"`
	CustomType   text           `json:"customType"`
	Command      text           `json:"command"`
	Output       text           `json:"output"`
	Summary      text           `json:"summary"`
	Usage        object[struct {
		Input      count `json:"input"`
		Output     count `json:"output"`
		CacheRead  count `json:"cacheRead"`
		CacheWrite count `json:"cacheWrite"`
	}] `json:"usage"`
}

type piPart struct {
	Type      text           `json:"type"`
	Text      text           `json:"text"`
	Thinking  text           `json:"thinking"`
	ID        text           `json:"id"`
	Name      text           `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
	Data      text           `json:"data"`
	MimeType  text           `json:"mimeType"`
}

func (g *pi) take(a *assembler, r record) (bool, error) {
	var l piLine
	if err := decode(r.raw, &l); err != nil {
		return false, err
	}
	switch l.Type {
	case "session":
		g.header(a, &l)
	case "message":
		if err := g.message(a, r, &l); err != nil {
			return false, err
		}
	case "compaction", "branch_summary":
		m := g.entry(a, r, &l, string(l.Summary))
		m.Role, m.Blocks = System, injected(string(l.Summary))
		m.Compaction = l.Type == "compaction"
		g.add(a, &l, m)
	case "custom_message":
		m := g.entry(a, r, &l, string(r.raw))
		m.Role, m.Author = System, string(l.CustomType)
		m.Blocks = injectAll(piBlocks(a, &l.Content, said))
		g.add(a, &l, m)
	case "model_change":
		set(&g.Model, l.ModelID)
	case "session_info":
		set(&g.session(a, r).Title, l.Name)
	case "thinking_level_change", "custom", "label", "leaf":
	default:
		a.unknown(string(l.Type))
		return false, nil
	}
	a.pass(string(l.ID), string(l.ParentID))
	return true, nil
}

func (g *pi) header(a *assembler, l *piLine) {
	if g.Session != "" || l.ID == "" {
		return
	}
	g.Session = string(l.ID)
	s := a.session(g.Session)
	s.begin(l.Timestamp.Time)
	set(&s.Cwd, l.Cwd)
	set(&s.Model, l.ModelID)
	set(&g.Model, l.ModelID)
	if k := l.Version.Kind(); k == '0' {
		s.Version = "v" + string(l.Version)
	} else {
		s.Version = "v1"
	}
	from := string(l.ParentSession)
	if from == "" {
		from = string(l.BranchedFrom)
	}
	if from != "" {
		s.Kind, s.ParentID = Fork, piSessionOf(from)
	}
}

// piSessionOf is the id in the name of a session file, or what is given if it is no such name.
func piSessionOf(path string) string {
	name := strings.TrimSuffix(path[strings.LastIndexAny(path, `/\`)+1:], ".jsonl")
	if _, id, ok := strings.Cut(name, "_"); ok {
		return id
	}
	return name
}

func (g *pi) session(a *assembler, r record) *Session {
	if g.Session == "" { // the header was lost
		if id := piSessionOf(filepath.Base(a.source.Path)); isUUID(id) {
			g.Session = id
		} else {
			g.Session = fallbackSession(a.source, r.raw)
		}
	}
	return a.session(g.Session)
}

// entry is the frame of a message, named by its time and content.
func (g *pi) entry(a *assembler, r record, l *piLine, content string) Message {
	s := g.session(a, r)
	s.begin(l.Timestamp.Time)
	return Message{ID: digest(l.Timestamp.Format("2006-01-02T15:04:05.000000000"), content),
		SessionID: s.ID, ParentID: string(l.ParentID), At: l.Timestamp.Time}
}

func (g *pi) add(a *assembler, l *piLine, m Message) {
	a.add(m)
	a.parents.put(string(l.ID), m.ID)
}

func (g *pi) message(a *assembler, r record, l *piLine) error {
	var p piMessage
	if l.Message.Kind() != '{' {
		a.unknown("message")
		return nil
	}
	if err := decode(l.Message, &p); err != nil {
		return err
	}
	m := g.entry(a, r, l, string(l.Message))
	if m.At.IsZero() {
		m.At = p.Timestamp.Time
	}
	switch p.Role {
	case "user":
		m.Role, m.Blocks = User, piBlocks(a, &p.Content, spokenBlocks)
	case "assistant":
		g.assistant(a, &p, &m)
	case "toolResult":
		m.Role, m.Author, m.Blocks = Tool, string(p.ToolName), p.result(a)
	case "bashExecution": // "! command": typed by the person, and what it printed
		m.Role = User
		m.Blocks = append(said(string(p.Command)), injected(string(p.Output))...)
	case "custom", "hookMessage":
		m.Role, m.Author = System, string(p.CustomType)
		m.Blocks = injectAll(piBlocks(a, &p.Content, said))
	case "branchSummary", "compactionSummary":
		m.Role, m.Blocks = System, injected(string(p.Summary))
		m.Compaction = p.Role == "compactionSummary"
	default:
		a.unknown("message/" + string(p.Role))
	}
	g.add(a, l, m)
	return nil
}

func (g *pi) assistant(a *assembler, p *piMessage, m *Message) {
	set(&g.Model, p.Model)
	a.session(g.Session).Model = g.Model
	m.Role, m.Author, m.Blocks = Assistant, string(p.Model), piBlocks(a, &p.Content, said)
	if p.ErrorMessage != "" {
		m.Blocks = append(m.Blocks, injected(string(p.ErrorMessage))...)
	}
	u := &p.Usage.V
	m.Usage = Usage{Input: int64(u.Input), Output: int64(u.Output), CacheRead: int64(u.CacheRead), CacheWrite: int64(u.CacheWrite)}
}

// result is the block of a tool's result, with its images behind it.
func (p *piMessage) result(a *assembler) []Block {
	parts := piBlocks(a, &p.Content, said)
	blocks := []Block{{Kind: ToolResult, ToolID: string(p.ToolCallID), ToolName: string(p.ToolName),
		IsError: bool(p.IsError), Text: joinTexts(parts, "\n")}}
	for _, b := range parts {
		if b.Kind == Image {
			b.ToolID = string(p.ToolCallID)
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// piBlocks are the blocks of a content; speak makes those of a text.
func piBlocks(a *assembler, c *textOr[piPart], speak func(string) []Block) []Block {
	blocks := speak(c.Text)
	for i := range c.Parts {
		switch p := &c.Parts[i]; p.Type {
		case "text":
			blocks = append(blocks, speak(string(p.Text))...)
		case "thinking":
			if p.Thinking != "" {
				blocks = append(blocks, Block{Kind: Thinking, Text: string(p.Thinking)})
			}
		case "toolCall":
			blocks = append(blocks, Block{Kind: ToolUse, ToolID: string(p.ID), ToolName: string(p.Name), Input: cleanJSON(p.Arguments)})
		case "image":
			blocks = append(blocks, image(string(p.MimeType), string(p.Data), a.opts.MaxImage))
		default:
			a.unknown("content/" + string(p.Type))
		}
	}
	return blocks
}
