package transcripts

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// codexItem is an item of the Responses API.
type codexItem struct {
	Type      text              `json:"type"`
	ID        text              `json:"id"`
	Role      text              `json:"role"`
	Author    text              `json:"author"`
	Content   textOr[codexPart] `json:"content"`
	Summary   textOr[codexPart] `json:"summary"`
	CallID    text              `json:"call_id"`
	Name      text              `json:"name"`
	Namespace text              `json:"namespace"`
	Arguments jsontext.Value    `json:"arguments"`
	Input     jsontext.Value    `json:"input"`
	Output    jsontext.Value    `json:"output"`
	Action    jsontext.Value    `json:"action"`
	Tools     jsontext.Value    `json:"tools"`
	Status    text              `json:"status"`
	Prompt    text              `json:"revised_prompt"`
	Result    text              `json:"result"`
}

type codexPart struct {
	Type     text `json:"type"`
	Text     text `json:"text"`
	ImageURL text `json:"image_url"`
}

// item takes an item: of the user's turn, of an answer, or a result.
func (g *codex) item(a *assembler, r record, payload jsontext.Value, at when) (bool, error) {
	var it codexItem
	if err := decode(payload, &it); err != nil {
		return false, err
	}
	if it.Type == "" && it.Role != "" {
		it.Type = "message"
	}
	id := func() string {
		return g.itemID(r, payload, at, string(it.Type), string(it.ID), string(it.CallID))
	}
	switch it.Type {
	case "message":
		g.message(a, r, &it, at, id)
	case "agent_message":
		g.agentMessage(a, r, &it, at, id)
	case "reasoning":
		g.answer(a, r, at, id, g.thoughts(&it))
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call", "image_generation_call":
		g.answer(a, r, at, id, it.call(a))
	case "function_call_output", "custom_tool_call_output", "tool_search_output", "local_shell_call_output":
		g.result(a, r, &it, at, id)
	case "compaction", "context_compaction", "compaction_summary":
		g.compaction(a, r, payload, at, "")
	case "ghost_snapshot", "additional_tools", "compaction_trigger", "other":
	default:
		a.unknown("response_item/" + string(it.Type))
	}
	return it.Type != "", nil
}

// answer adds to the answer under way.
func (g *codex) answer(a *assembler, r record, at when, id func() string, blocks []Block) {
	if len(blocks) == 0 {
		return
	}
	s := g.session(a, r, at)
	reply := a.reply(s.ID, Assistant, "answer", func() Message {
		return Message{ID: id(), Author: g.Model, At: at.Time}
	})
	a.extend(reply, blocks...)
}

func (g *codex) message(a *assembler, r record, it *codexItem, at when, id func() string) {
	role := Role(it.Role)
	switch role {
	case User, Assistant, System:
	case "developer":
		role = System
	default:
		a.unknown("role/" + string(role))
		return
	}
	said := it.words(a)
	if role != System && g.twin(role, joinTexts(said, ""), false) {
		return
	}
	if role == Assistant {
		g.answer(a, r, at, id, said)
		return
	}
	s := g.session(a, r, at)
	a.close(s.ID, Assistant)
	if role == System {
		said = injectAll(said)
	}
	m := Message{ID: id(), SessionID: s.ID, Role: role, At: at.Time, Blocks: said}
	if len(said) > 0 && isCompaction(said[0].Text) {
		m.Role, m.Compaction, m.Blocks = System, true, injectAll(said)
	}
	a.add(m)
}

// agentMessage takes what another agent wrote to this one.
func (g *codex) agentMessage(a *assembler, r record, it *codexItem, at when, id func() string) {
	s := g.session(a, r, at)
	a.close(s.ID, Assistant)
	a.add(Message{ID: id(), SessionID: s.ID, Role: User, Author: string(it.Author), At: at.Time, Blocks: it.words(a)})
}

// words are the texts and images of a message.
func (it *codexItem) words(a *assembler) []Block {
	speak := said
	if it.Role != "assistant" {
		speak = spokenBlocks
	}
	blocks := speak(it.Content.Text)
	for i := range it.Content.Parts {
		switch p := &it.Content.Parts[i]; p.Type {
		case "input_text", "output_text", "text", "refusal", "summary_text":
			blocks = append(blocks, speak(string(p.Text))...)
		case "input_image":
			if p.ImageURL != "" {
				blocks = append(blocks, imageURL("", string(p.ImageURL), a.opts.MaxImage))
			}
		case "encrypted_content", "input_audio", "input_file":
		default:
			a.unknown("content/" + string(p.Type))
		}
	}
	return blocks
}

// thoughts are the readable parts of a reasoning item whose events did not come before it.
func (g *codex) thoughts(it *codexItem) []Block {
	var blocks []Block
	for _, parts := range []textOr[codexPart]{it.Summary, it.Content} {
		texts := []string{parts.Text}
		for i := range parts.Parts {
			texts = append(texts, string(parts.Parts[i].Text))
		}
		for _, t := range texts {
			if t != "" && !g.twin("thought", t, false) {
				blocks = append(blocks, Block{Kind: Thinking, Text: t})
			}
		}
	}
	return blocks
}

// call is the block of a call, whatever its kind.
func (it *codexItem) call(a *assembler) []Block {
	b := Block{Kind: ToolUse, ToolID: string(it.CallID), ToolName: string(it.Name)}
	if b.ToolID == "" {
		b.ToolID = string(it.ID)
	}
	if it.Namespace != "" {
		b.ToolName = string(it.Namespace) + "." + b.ToolName
	}
	if b.ToolName == "" {
		b.ToolName = strings.TrimSuffix(string(it.Type), "_call")
	}
	for _, raw := range []jsontext.Value{it.Arguments, it.Input, it.Action} {
		if b.Input == nil {
			b.Input = jsonOrText(raw)
		}
	}
	if it.Type != "image_generation_call" {
		return []Block{b}
	}
	if it.Prompt != "" {
		b.Input = quoteJSON(string(it.Prompt))
	}
	if it.Result == "" {
		return []Block{b}
	}
	return []Block{b, image("image/png", string(it.Result), a.opts.MaxImage)}
}

// result takes what a call returned.
func (g *codex) result(a *assembler, r record, it *codexItem, at when, id func() string) {
	s := g.session(a, r, at)
	a.close(s.ID, Assistant)
	blocks := codexOutput(a, it.Output)
	if it.Type == "tool_search_output" {
		blocks = []Block{{Kind: ToolResult, Text: string(cleanJSON(it.Tools))}}
	}
	for i := range blocks {
		blocks[i].ToolID = string(it.CallID)
	}
	a.add(Message{ID: id(), SessionID: s.ID, Role: Tool, At: at.Time, Blocks: blocks})
}

// codexOutput is a result and its images: text, a list of parts, or an object, which is
// {"output":…,"metadata":{"exit_code":…}} and may itself stand in a string.
func codexOutput(a *assembler, output jsontext.Value) []Block {
	b := Block{Kind: ToolResult}
	switch output.Kind() {
	case '"':
		var s text
		if decode(output, &s) != nil {
			return nil
		}
		b.Text = string(s)
		if inner, failed, ok := codexExit(jsontext.Value(s)); ok {
			b.Text, b.IsError = inner, failed
		}
	case '{':
		const depth = 3
		b.Text = looseText(output, depth)
		if inner, failed, ok := codexExit(output); ok {
			b.Text, b.IsError = inner, failed
		}
	case '[':
		content := codexItem{Role: "assistant"}
		if decode(output, &content.Content) != nil {
			return nil
		}
		words := content.words(a)
		b.Text = joinTexts(words, "\n")
		return append([]Block{b}, slices.DeleteFunc(words, func(w Block) bool { return w.Kind != Image })...)
	}
	return []Block{b}
}

// codexExit reads a result with an exit code.
func codexExit(raw jsontext.Value) (output string, failed, ok bool) {
	var o struct {
		Output   jsontext.Value `json:"output"`
		Metadata *struct {
			ExitCode count `json:"exit_code"`
		} `json:"metadata"`
	}
	if raw.Kind() != '{' || decode(raw, &o) != nil || o.Metadata == nil {
		return "", false, false
	}
	const depth = 3
	return looseText(o.Output, depth), o.Metadata.ExitCode != 0, true
}

// joinTexts is what the texts of blocks say together, sep between them.
func joinTexts(blocks []Block, sep string) string {
	var texts []string
	for _, b := range blocks {
		if b.Kind == Text {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, sep)
}

// codexEvent is an event for the user interface.
type codexEvent struct {
	Type       text `json:"type"`
	Message    text `json:"message"`
	Text       text `json:"text"`
	Kind       text `json:"kind"`
	ThreadName text `json:"thread_name"`
	Name       text `json:"name"`
	Info       object[struct {
		Last object[codexUsage] `json:"last_token_usage"`
	}] `json:"info"`
}

type codexUsage struct {
	Input     count `json:"input_tokens"`
	Cached    count `json:"cached_input_tokens"`
	Written   count `json:"cache_write_input_tokens"`
	Output    count `json:"output_tokens"`
	Reasoning count `json:"reasoning_output_tokens"`
}

// event takes an event: what it says is taken unless an item has said it.
func (g *codex) event(a *assembler, r record, payload jsontext.Value, at when) (bool, error) {
	var e codexEvent
	if err := decode(payload, &e); err != nil {
		return false, err
	}
	id := func() string { return g.itemID(r, payload, at, string(e.Type), "", "") }
	switch e.Type {
	case "user_message":
		g.userEvent(a, r, &e, at, id)
	case "agent_message":
		if !g.twin(Assistant, string(e.Message), true) {
			g.answer(a, r, at, id, said(string(e.Message)))
		}
	case "agent_reasoning", "agent_reasoning_raw_content":
		if e.Text != "" && !g.twin("thought", string(e.Text), true) {
			g.answer(a, r, at, id, []Block{{Kind: Thinking, Text: string(e.Text)}})
		}
	case "token_count":
		g.usage(a, r, at, &e.Info.V.Last.V)
	case "thread_name_updated":
		s := g.session(a, r, at)
		set(&s.Title, e.Name)
		set(&s.Title, e.ThreadName)
	default:
		if _, quiet := slices.BinarySearch(codexQuiet, string(e.Type)); !quiet {
			a.unknown("event_msg/" + string(e.Type))
		}
	}
	return e.Type != "", nil
}

func (g *codex) userEvent(a *assembler, r record, e *codexEvent, at when, id func() string) {
	if g.twin(User, string(e.Message), true) {
		return
	}
	blocks := spokenBlocks(string(e.Message))
	if e.Kind != "" && e.Kind != "plain" && !strings.HasPrefix(string(e.Kind), "[") {
		blocks = injectAll(blocks)
	}
	s := g.session(a, r, at)
	a.close(s.ID, Assistant)
	a.add(Message{ID: id(), SessionID: s.ID, Role: User, At: at.Time, Blocks: blocks})
}

// usage counts for the answer under way, and ends it: one count comes for each.
func (g *codex) usage(a *assembler, r record, at when, u *codexUsage) {
	s := g.session(a, r, at)
	open := a.replies[slot(s.ID, Assistant)]
	if open == nil {
		return
	}
	open.spans = append(open.spans, r.offset)
	a.use(open, Usage{Input: int64(u.Input - u.Cached), Output: int64(u.Output), CacheRead: int64(u.Cached),
		CacheWrite: int64(u.Written), Reasoning: int64(u.Reasoning)})
	if *u != (codexUsage{}) {
		a.close(s.ID, Assistant)
	}
}
