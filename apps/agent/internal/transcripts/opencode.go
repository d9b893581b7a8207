package transcripts

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// OpenCode keeps a session as three kinds of object: the session, its messages, and the parts of
// each message. Version 0 and 1 kept each in a JSON file of its own (openCodeTree), 1.2 in the
// tables session, message and part of opencode.db, 2.0 in session_v2 and session_message, where
// the parts stand within the message (openCodeDB). `opencode export` writes one document of them,
// and `opencode run --format json` a line for each part (openCodeEvents).
//
// A tool part holds the call and its result: here, the results of a message follow it as one
// message of role tool.

// openCodeSession is a session object, or a row of either table.
type openCodeSession struct {
	ID        text                  `json:"id"`
	ParentID  text                  `json:"parentID"`
	ForkedID  text                  `json:"-"`
	Directory text                  `json:"directory"`
	Title     text                  `json:"title"`
	Version   text                  `json:"version"`
	Agent     text                  `json:"agent"`
	Model     object[openCodeModel] `json:"model"`
	Time      object[openCodeSpan]  `json:"time"`
}

type openCodeModel struct {
	ID      text `json:"id"`
	ModelID text `json:"modelID"`
}

func (m openCodeModel) name() string {
	if m.ModelID != "" {
		return string(m.ModelID)
	}
	return string(m.ID)
}

type openCodeSpan struct {
	Created   when `json:"created"`
	Completed when `json:"completed"`
	Start     when `json:"start"`
	End       when `json:"end"`
}

// openCodeMessage is a message object. In 2.0 it has a type for a role, and holds its parts.
type openCodeMessage struct {
	ID       text                  `json:"id"`
	Role     text                  `json:"role"`
	Type     text                  `json:"type"`
	ParentID text                  `json:"parentID"`
	Time     object[openCodeSpan]  `json:"time"`
	ModelID  text                  `json:"modelID"`
	Model    object[openCodeModel] `json:"model"`
	Agent    text                  `json:"agent"`
	Path     object[struct {
		Cwd text `json:"cwd"`
	}] `json:"path"`
	Summary jsontext.Value         `json:"summary"` // true; or an object with title and body; or, in 2.0, text
	Tokens  object[openCodeTokens] `json:"tokens"`
	Error   jsontext.Value         `json:"error"`
	Parts   list[openCodePart]     `json:"parts"`
	// of 2.0
	Text    text               `json:"text"`
	Command text               `json:"command"`
	Output  text               `json:"output"`
	Files   list[openCodePart] `json:"files"`
	Content list[openCodePart] `json:"content"`
}

type openCodeTokens struct {
	Input     count `json:"input"`
	Output    count `json:"output"`
	Reasoning count `json:"reasoning"`
	Cache     object[struct {
		Read  count `json:"read"`
		Write count `json:"write"`
	}] `json:"cache"`
}

func (t openCodeTokens) usage() Usage {
	return Usage{Input: int64(t.Input), Output: int64(t.Output), Reasoning: int64(t.Reasoning),
		CacheRead: int64(t.Cache.V.Read), CacheWrite: int64(t.Cache.V.Write)}
}

// openCodePart is a part of a message, a file in one, or a piece of a tool's result.
type openCodePart struct {
	ID        text                   `json:"id"`
	MessageID text                   `json:"messageID"`
	Type      text                   `json:"type"`
	Text      text                   `json:"text"`
	Synthetic flag                   `json:"synthetic"`
	Tool      text                   `json:"tool"`
	Name      text                   `json:"name"`
	CallID    text                   `json:"callID"`
	State     object[openCodeState]  `json:"state"`
	Mime      text                   `json:"mime"`
	URL       text                   `json:"url"`
	URI       text                   `json:"uri"`
	Filename  text                   `json:"filename"`
	Prompt    text                   `json:"prompt"`
	Time      object[openCodeSpan]   `json:"time"`
	Tokens    object[openCodeTokens] `json:"tokens"`
}

type openCodeState struct {
	Status      text                 `json:"status"`
	Input       jsontext.Value       `json:"input"`
	Output      text                 `json:"output"`
	Error       jsontext.Value       `json:"error"`
	Content     list[openCodePart]   `json:"content"`
	Attachments list[openCodePart]   `json:"attachments"`
	Time        object[openCodeSpan] `json:"time"`
}

// openCodeQuiet are the kinds of part, and of message in 2.0, that say nothing.
var openCodeQuiet = []string{"agent", "agent-switched", "compaction", "location-switched", "model-switched", "patch",
	"retry", "snapshot", "step-finish", "step-start"}

// open brings the session up to date.
func (o *openCodeSession) open(a *assembler) *Session {
	s := a.session(string(o.ID))
	s.begin(o.Time.V.Created.Time)
	set(&s.Title, o.Title)
	set(&s.Cwd, o.Directory)
	set(&s.Version, o.Version)
	set(&s.Agent, o.Agent)
	set(&s.Model, text(o.Model.V.name()))
	switch {
	case o.ParentID != "":
		s.Kind, s.ParentID = Subagent, string(o.ParentID)
	case o.ForkedID != "":
		s.Kind, s.ParentID = Fork, string(o.ForkedID)
	}
	return s
}

// take counts a message as a record that was understood and adds it, and hands on
// what has come together when that is enough.
func (m *openCodeMessage) take(r *reading, s *Session) error {
	r.asm.records++
	r.asm.known++
	r.asm.batch.Records++
	m.add(r.asm, s)
	if r.asm.full(0) {
		return r.emit(false)
	}
	return nil
}

// add takes a message with its parts, in the form of either generation.
func (m *openCodeMessage) add(a *assembler, s *Session) {
	if m.Role == "" {
		m.Role = m.Type
	}
	at := m.Time.V.Created.Time
	s.begin(at)
	out := Message{ID: scoped(s.ID, string(m.ID)), SessionID: s.ID, Role: User, At: at}
	if m.ParentID != "" {
		out.ParentID = scoped(s.ID, string(m.ParentID))
	}
	switch m.Role {
	case "user":
		out.Blocks, out.Compaction = m.asked(a)
		if out.Compaction {
			out.Role = System
		}
		a.add(out)
	case "assistant":
		m.answered(a, s, out)
	case "synthetic", "system":
		out.Role, out.Blocks = System, injected(string(m.Text))
		a.add(out)
	case "shell":
		out.Blocks = append(said(string(m.Command)), injected(string(m.Output))...)
		a.add(out)
	case "compaction":
		out.Role, out.Compaction, out.Blocks = System, true, injected(m.summary())
		a.add(out)
	default:
		if _, quiet := slices.BinarySearch(openCodeQuiet, string(m.Role)); !quiet {
			a.unknown("message/" + string(m.Role))
		}
	}
}

// asked are the blocks of the user's turn, and whether it asks for compaction.
func (m *openCodeMessage) asked(a *assembler) (blocks []Block, compaction bool) {
	blocks = spokenBlocks(string(m.Text))
	for i := range m.Files {
		blocks = append(blocks, m.Files[i].file(a)...)
	}
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case "text":
			if p.Synthetic {
				blocks = append(blocks, injected(string(p.Text))...)
			} else {
				blocks = append(blocks, spokenBlocks(string(p.Text))...)
			}
		case "file":
			blocks = append(blocks, p.file(a)...)
		case "subtask":
			blocks = append(blocks, injected(string(p.Prompt))...)
		case "compaction":
			compaction = true
		default:
			p.quiet(a)
		}
	}
	if len(blocks) == 0 && !compaction { // of the oldest: what was asked stands in the summary alone
		blocks = spokenBlocks(m.summary())
	}
	return blocks, compaction
}

// summary is the text of a summary, in whichever form.
func (m *openCodeMessage) summary() string {
	if m.Summary.Kind() != '{' {
		return looseText(m.Summary, 0)
	}
	var o struct {
		Title text `json:"title"`
		Body  text `json:"body"`
	}
	if decode(m.Summary, &o) == nil && o.Body != "" {
		return string(o.Body)
	}
	return string(o.Title)
}

// answered adds an answer of the model, and behind it what its tools returned.
func (m *openCodeMessage) answered(a *assembler, s *Session, out Message) {
	model := text(m.Model.V.name())
	if m.ModelID != "" {
		model = m.ModelID
	}
	set(&s.Model, model)
	set(&s.Agent, m.Agent)
	setFirst(&s.Cwd, m.Path.V.Cwd)
	out.Role, out.Author, out.Usage = Assistant, string(model), m.Tokens.V.usage()
	out.Compaction = m.Summary.Kind() == 't'
	results := Message{ID: out.ID + "/results", SessionID: s.ID, ParentID: out.ID, Role: Tool, At: out.At}
	for _, parts := range []list[openCodePart]{m.Parts, m.Content} {
		for i := range parts {
			p := &parts[i]
			out.Blocks = append(out.Blocks, p.answer(a)...)
			results.Blocks = append(results.Blocks, p.result(a)...)
			if end := p.State.V.Time.V.End.Time; end.After(results.At) {
				results.At = end
			}
		}
	}
	if len(out.Blocks) == 0 {
		const depth = 3
		out.Blocks = injected(openCodeError(m.Error, depth))
	}
	if out.Compaction {
		out.Role, out.Blocks = System, injectAll(out.Blocks)
	}
	a.add(out)
	a.add(results)
}

// answer is the block of a part of an answer.
func (p *openCodePart) answer(a *assembler) []Block {
	switch p.Type {
	case "text":
		return said(string(p.Text))
	case "reasoning":
		if p.Text == "" {
			return nil
		}
		return []Block{{Kind: Thinking, Text: string(p.Text)}}
	case "tool":
		return []Block{{Kind: ToolUse, ToolID: p.call(), ToolName: p.toolName(), Input: jsonOrText(p.State.V.Input)}}
	case "file":
		return p.file(a)
	}
	p.quiet(a)
	return nil
}

// result is what a tool part returned, with its images; nothing while it runs.
func (p *openCodePart) result(a *assembler) []Block {
	st := &p.State.V
	if p.Type != "tool" || st.Status == "pending" || st.Status == "running" || st.Status == "" {
		return nil
	}
	b := Block{Kind: ToolResult, ToolID: p.call(), ToolName: p.toolName(), Text: string(st.Output), IsError: st.Status == "error"}
	var images []Block
	for _, parts := range []list[openCodePart]{st.Content, st.Attachments} {
		for i := range parts {
			if parts[i].Type == "text" {
				b.Text += string(parts[i].Text)
			} else {
				images = append(images, parts[i].file(a)...)
			}
		}
	}
	if b.Text == "" {
		const depth = 3
		b.Text = openCodeError(st.Error, depth)
	}
	for i := range images {
		images[i].ToolID = b.ToolID
	}
	return append([]Block{b}, images...)
}

func (p *openCodePart) call() string {
	if p.CallID != "" {
		return string(p.CallID)
	}
	return string(p.ID)
}

func (p *openCodePart) toolName() string {
	if p.Tool != "" {
		return string(p.Tool)
	}
	return string(p.Name)
}

// file is a file that came along: an image, or another by its name, which is no one's words.
func (p *openCodePart) file(a *assembler) []Block {
	url := string(p.URL)
	if url == "" {
		url = string(p.URI)
	}
	if strings.HasPrefix(string(p.Mime), "image/") {
		return []Block{imageURL(string(p.Mime), url, a.opts.MaxImage)}
	}
	name := string(p.Filename)
	if name == "" {
		name = string(p.Name)
	}
	if name == "" && !strings.HasPrefix(url, "data:") {
		name = url
	}
	return injected(name)
}

func (p *openCodePart) quiet(a *assembler) {
	if _, quiet := slices.BinarySearch(openCodeQuiet, string(p.Type)); !quiet {
		a.unknown("part/" + string(p.Type))
	}
}

// openCodeError is the message of an error: text, {message}, {data:{message}}.
func openCodeError(raw jsontext.Value, depth int) string {
	if raw.Kind() != '{' || depth == 0 {
		return looseText(raw, 0)
	}
	var o struct {
		Message text           `json:"message"`
		Data    jsontext.Value `json:"data"`
	}
	if decode(raw, &o) != nil || o.Message != "" {
		return string(o.Message)
	}
	return openCodeError(o.Data, depth-1)
}

// openCodeExport is the document that `opencode export` writes.
type openCodeExport struct{}

func (g *openCodeExport) take(a *assembler, r record) (bool, error) {
	var doc struct {
		Info     object[openCodeSession] `json:"info"`
		Messages list[struct {
			Info  object[openCodeMessage] `json:"info"`
			Parts list[openCodePart]      `json:"parts"`
		}] `json:"messages"`
	}
	if err := decode(r.raw, &doc); err != nil || doc.Info.V.ID == "" {
		return false, err
	}
	s := doc.Info.V.open(a)
	for i := range doc.Messages {
		m := &doc.Messages[i]
		m.Info.V.Parts = m.Parts
		m.Info.V.add(a, s)
	}
	return true, nil
}

// openCodeEvents are the lines of `opencode run --format json`.
type openCodeEvents struct{}

var openCodeEventTypes = []string{"error", "reasoning", "step_finish", "step_start", "text", "tool_use"}

func (g *openCodeEvents) take(a *assembler, r record) (bool, error) {
	var l struct {
		Type      text                 `json:"type"`
		Timestamp when                 `json:"timestamp"`
		SessionID text                 `json:"sessionID"`
		Part      object[openCodePart] `json:"part"`
		Error     jsontext.Value       `json:"error"`
	}
	if err := decode(r.raw, &l); err != nil {
		return false, err
	}
	if _, known := slices.BinarySearch(openCodeEventTypes, string(l.Type)); !known || l.SessionID == "" {
		a.unknown(string(l.Type))
		return false, nil
	}
	s := a.session(string(l.SessionID))
	s.begin(l.Timestamp.Time)
	p := &l.Part.V
	id := scoped(s.ID, string(p.MessageID))
	answer := func() *reply {
		return a.reply(s.ID, Assistant, id, func() Message { return Message{ID: id, At: l.Timestamp.Time} })
	}
	switch l.Type {
	case "text", "reasoning":
		a.extend(answer(), p.answer(a)...)
	case "tool_use":
		a.extend(answer(), p.answer(a)...)
		results := a.reply(s.ID, Tool, id, func() Message {
			return Message{ID: id + "/results", ParentID: id, At: l.Timestamp.Time}
		})
		a.extend(results, p.result(a)...)
	case "step_finish":
		a.use(answer(), p.Tokens.V.usage())
	case "error":
		const depth = 3
		a.add(Message{ID: digest(s.ID, string(r.raw)), SessionID: s.ID, Role: System, At: l.Timestamp.Time,
			Blocks: injected(openCodeError(l.Error, depth))})
	}
	return true, nil
}
