package transcripts

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// claudeBlock is a content block of the Messages API, as Claude Code writes it.
type claudeBlock struct {
	Type      text                    `json:"type"`
	Text      text                    `json:"text"`
	Thinking  text                    `json:"thinking"`
	ID        text                    `json:"id"`
	Name      text                    `json:"name"`
	Input     jsontext.Value          `json:"input"`
	ToolUseID text                    `json:"tool_use_id"`
	Content   textOr[claudeResult]    `json:"content"`
	IsError   flag                    `json:"is_error"`
	Source    object[claudeImageData] `json:"source"`
}

// claudeResult is a part of a tool's result.
type claudeResult struct {
	Type   text                    `json:"type"`
	Text   text                    `json:"text"`
	Title  text                    `json:"title"`
	URL    text                    `json:"url"`
	Tool   text                    `json:"tool_name"`
	Source object[claudeImageData] `json:"source"`
}

type claudeImageData struct {
	Type      text `json:"type"`
	MediaType text `json:"media_type"`
	Data      text `json:"data"`
	URL       text `json:"url"`
}

type claudeAttachment struct {
	Type          text                `json:"type"`
	CommandMode   text                `json:"commandMode"`
	Prompt        textOr[claudeBlock] `json:"prompt"`
	IsMeta        flag                `json:"isMeta"`
	Content       jsontext.Value      `json:"content"`
	Text          text                `json:"text"`
	Snippet       text                `json:"snippet"`
	Banner        text                `json:"banner"`
	Stdout        text                `json:"stdout"`
	Stderr        text                `json:"stderr"`
	BlockingError jsontext.Value      `json:"blockingError"`
}

// user takes a line of the user's turn: what was typed, what tools returned, or what the harness
// put there.
func (g *claude) user(a *assembler, r record, l *claudeLine) {
	s := g.session(a, l)
	id := g.lineID(r, l)
	if g.repeated(a, l, id, id) {
		return
	}
	m := Message{ID: id, SessionID: s.ID, ParentID: string(l.ParentUUID), Role: User, At: l.Timestamp.Time}
	results, rest := g.userBlocks(a, &l.Message.V.Content)
	switch {
	case bool(l.IsCompactSummary), len(rest) > 0 && isCompaction(rest[0].Text):
		m.Role, m.Compaction = System, true
		rest = injectAll(rest)
	case bool(l.IsMeta):
		rest = injectAll(rest)
	}
	if len(results) > 0 {
		tool := m
		tool.Role, tool.Blocks = Tool, results
		a.add(tool)
		m.ID += "/rest"
	}
	m.Blocks = rest
	a.add(m)
}

// userBlocks are the results of tools, and the rest.
func (g *claude) userBlocks(a *assembler, c *textOr[claudeBlock]) (results, rest []Block) {
	rest = spokenBlocks(c.Text)
	for i := range c.Parts {
		switch p := &c.Parts[i]; p.Type {
		case "text":
			rest = append(rest, spokenBlocks(string(p.Text))...)
		case "tool_result":
			results = append(results, p.result(a)...)
		case "image", "document":
			rest = append(rest, p.Source.V.block(a))
		default:
			a.unknown("user/" + string(p.Type))
		}
	}
	return results, rest
}

// result is the block of a tool's result, with its images behind it.
func (p *claudeBlock) result(a *assembler) []Block {
	b := Block{Kind: ToolResult, ToolID: string(p.ToolUseID), IsError: bool(p.IsError)}
	texts := []string{}
	if p.Content.Text != "" {
		texts = append(texts, p.Content.Text)
	}
	var images []Block
	for i := range p.Content.Parts {
		switch part := &p.Content.Parts[i]; part.Type {
		case "image", "document":
			image := part.Source.V.block(a)
			image.ToolID = b.ToolID
			images = append(images, image)
		case "tool_reference":
			texts = append(texts, string(part.Tool))
		case "web_search_result":
			texts = append(texts, string(part.Title)+" "+string(part.URL))
		default:
			if part.Text != "" {
				texts = append(texts, string(part.Text))
			}
		}
	}
	b.Text = strings.Join(texts, "\n")
	return append([]Block{b}, images...)
}

func (d *claudeImageData) block(a *assembler) Block {
	if d.Data != "" && d.Type != "text" {
		return image(string(d.MediaType), string(d.Data), a.opts.MaxImage)
	}
	return imageURL(string(d.MediaType), string(d.URL), a.opts.MaxImage)
}

// assistant takes a line of a reply of the model.
func (g *claude) assistant(a *assembler, r record, l *claudeLine) {
	s := g.session(a, l)
	m := &l.Message.V
	line := g.lineID(r, l)
	id, key := line, line
	if m.ID != "" {
		key = string(m.ID)
	}
	if isGlobalID(key) {
		id = key
	}
	if _, seen := a.parents.get(line); seen && !a.replaying {
		return
	}
	reply := a.reply(s.ID, Assistant, key, func() Message {
		return Message{ID: id, ParentID: string(l.ParentUUID), Author: string(m.Model), At: l.Timestamp.Time}
	})
	g.repeated(a, l, line, reply.message.ID)
	blocks := g.assistantBlocks(a, &m.Content)
	if m.Model == "<synthetic>" { // the harness speaking: an API error, an interruption
		blocks = injectAll(blocks)
	} else {
		set(&s.Model, m.Model)
	}
	a.extend(reply, blocks...)
	a.use(reply, Usage{Input: int64(m.Usage.V.Input), Output: int64(m.Usage.V.Output),
		CacheRead: int64(m.Usage.V.CacheRead), CacheWrite: int64(m.Usage.V.CacheWrite)})
}

func (g *claude) assistantBlocks(a *assembler, c *textOr[claudeBlock]) []Block {
	blocks := said(c.Text)
	for i := range c.Parts {
		switch p := &c.Parts[i]; p.Type {
		case "text":
			blocks = append(blocks, said(string(p.Text))...)
		case "thinking":
			if p.Thinking != "" {
				blocks = append(blocks, Block{Kind: Thinking, Text: string(p.Thinking)})
			}
		case "tool_use", "server_tool_use", "mcp_tool_use":
			blocks = append(blocks, Block{Kind: ToolUse, ToolID: string(p.ID), ToolName: string(p.Name), Input: cleanJSON(p.Input)})
		case "image", "document":
			blocks = append(blocks, p.Source.V.block(a))
		case "redacted_thinking", "fallback": // nothing to read, and the model that took over
		default:
			if !strings.HasSuffix(string(p.Type), "_tool_result") {
				a.unknown("assistant/" + string(p.Type))
				continue
			}
			blocks = append(blocks, p.result(a)...)
		}
	}
	return blocks
}

// system takes what the harness said on its own account.
func (g *claude) system(a *assembler, r record, l *claudeLine) {
	if l.Subtype == "init" { // of a stream: what the session file says on every line
		s := g.session(a, l)
		set(&s.Model, l.Model)
		return
	}
	if l.IsSidechain && l.AgentID == "" {
		g.chain(l) // lines that say nothing are links of the chain as well
	}
	if l.Content == "" && l.Subtype != "compact_boundary" {
		return
	}
	s := g.session(a, l)
	id := g.lineID(r, l)
	if g.repeated(a, l, id, id) {
		return
	}
	m := Message{ID: id, SessionID: s.ID, ParentID: string(l.ParentUUID), Role: System,
		At: l.Timestamp.Time, Blocks: spokenBlocks(string(l.Content))}
	if l.Subtype == "compact_boundary" {
		m.Compaction, m.Blocks = true, injectAll(m.Blocks)
	}
	a.add(m)
}

// attachment takes what came along with a turn: a prompt that was queued while the model was at
// work, or context.
func (g *claude) attachment(a *assembler, r record, l *claudeLine) {
	if l.IsSidechain && l.AgentID == "" {
		g.chain(l)
	}
	at := &l.Attachment.V
	m := Message{ParentID: string(l.ParentUUID), At: l.Timestamp.Time}
	if at.Type == "queued_command" {
		m.Role = User
		_, m.Blocks = g.userBlocks(a, &at.Prompt)
		if at.IsMeta || at.CommandMode != "" && at.CommandMode != "prompt" {
			m.Blocks = injectAll(m.Blocks)
		}
	} else {
		m.Role, m.Author, m.Blocks = System, string(at.Type), injected(at.context())
	}
	if len(m.Blocks) == 0 {
		return
	}
	s := g.session(a, l)
	m.ID, m.SessionID = g.lineID(r, l), s.ID
	if !g.repeated(a, l, m.ID, m.ID) {
		a.add(m)
	}
}

// context is the text that an attachment put into the conversation, if any.
func (at *claudeAttachment) context() string {
	const depth = 3
	for _, s := range []string{looseText(at.Content, depth), string(at.Text), string(at.Snippet), string(at.Banner),
		looseText(at.BlockingError, depth), string(at.Stderr), string(at.Stdout)} {
		if t := strings.TrimSpace(s); t != "" && t != "{}" {
			return s
		}
	}
	return ""
}
