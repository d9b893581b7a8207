package transcripts

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A ChatGPT export has conversations.json, an array of conversations (newer ones several, 000 on),
// and is itself a .zip. A conversation is a tree, mapping, of which current_node is the leaf on
// display; editing a question or asking again grows a branch. All of it was said, so all of it is
// taken, branch behind branch in the order they grew.
type chatGPT struct{}

type chatConversation struct {
	ID             text        `json:"id"`
	ConversationID text        `json:"conversation_id"`
	Title          text        `json:"title"`
	CreateTime     when        `json:"create_time"`
	Model          text        `json:"default_model_slug"`
	Mapping        chatMapping `json:"mapping"`
}

// chatMapping is the nodes in the order of the file.
type chatMapping []chatNode

type chatNode struct {
	ID       text                `json:"id"`
	Parent   text                `json:"parent"`
	Children []text              `json:"children"`
	Message  object[chatMessage] `json:"message"`
}

func (m *chatMapping) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		key := token.String()
		var node object[chatNode]
		if err := json.UnmarshalDecode(d, &node); err != nil {
			return err
		}
		node.V.ID = text(key)
		*m = append(*m, node.V)
	}
	_, err := d.ReadToken()
	return err
}

type chatMessage struct {
	ID     text `json:"id"`
	Author object[struct {
		Role text `json:"role"`
		Name text `json:"name"`
	}] `json:"author"`
	CreateTime when                `json:"create_time"`
	Content    object[chatContent] `json:"content"`
	Recipient  text                `json:"recipient"`
	Metadata   object[struct {
		Model  text `json:"model_slug"`
		Hidden flag `json:"is_visually_hidden_from_conversation"`
		Custom flag `json:"is_user_system_message"`
	}] `json:"metadata"`
}

type chatContent struct {
	Type             text              `json:"content_type"`
	RawParts         jsontext.Value    `json:"parts"`
	Text             text              `json:"text"`
	Result           text              `json:"result"`
	Content          text              `json:"content"`
	Thoughts         list[chatThought] `json:"thoughts"`
	UserProfile      text              `json:"user_profile"`
	UserInstructions text              `json:"user_instructions"`
}

type chatThought struct {
	Summary text `json:"summary"`
	Content text `json:"content"`
}

// chatPart is a part that is not a string.
type chatPart struct {
	Type  text  `json:"content_type"`
	Text  text  `json:"text"`
	Asset text  `json:"asset_pointer"`
	Size  count `json:"size_bytes"`
}

func (g *chatGPT) take(a *assembler, r record) (bool, error) {
	var c chatConversation
	if err := decode(r.raw, &c); err != nil {
		return false, err
	}
	id := string(c.ConversationID)
	if id == "" {
		id = string(c.ID)
	}
	if id == "" && len(c.Mapping) == 0 {
		a.unknown("(no conversation)")
		return false, nil
	}
	if id == "" {
		id = digest(string(c.Title), c.CreateTime.String(), string(c.Mapping[0].ID))
	}
	s := a.session(id)
	s.begin(c.CreateTime.Time)
	set(&s.Title, c.Title)
	set(&s.Model, c.Model)
	for _, n := range c.Mapping.order() {
		n.add(a, s)
	}
	return true, nil
}

// order is the nodes from the roots on, each before its children. Nodes whose parent is missing
// are roots; those on a cycle come last. Nothing is visited twice.
func (m chatMapping) order() []*chatNode {
	index := make(map[text]int, len(m))
	for i := range m {
		index[m[i].ID] = i
	}
	children := make([][]int, len(m))
	var stack []int
	for i := len(m) - 1; i >= 0; i-- { // backwards, to come off the stack in order
		if parent, ok := index[m[i].Parent]; ok {
			children[parent] = append(children[parent], i)
		} else {
			stack = append(stack, i)
		}
	}
	out := make([]*chatNode, 0, len(m))
	seen := make([]bool, len(m))
	visit := func() {
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[i] {
				continue
			}
			seen[i] = true
			out = append(out, &m[i])
			stack = append(stack, m[i].pushOrder(children[i], index)...)
		}
	}
	visit()
	for i := range m {
		stack = append(stack[:0], i)
		visit()
	}
	return out
}

// pushOrder is the children of a node, last first: in the order it gives them, and behind those
// any others that name it their parent.
func (n *chatNode) pushOrder(byParent []int, index map[text]int) []int {
	order := byParent
	for k := len(n.Children) - 1; k >= 0; k-- {
		if i, ok := index[n.Children[k]]; ok {
			order = append(order, i)
		}
	}
	return order
}

// add takes the message of a node.
func (n *chatNode) add(a *assembler, s *Session) {
	m := &n.Message.V
	if m.ID == "" {
		m.ID = n.ID
	}
	s.begin(m.CreateTime.Time)
	out := Message{ID: scoped(s.ID, string(m.ID)), SessionID: s.ID, Role: Role(m.Author.V.Role),
		Author: string(m.Author.V.Name), At: m.CreateTime.Time}
	if n.Parent != "" {
		out.ParentID = scoped(s.ID, string(n.Parent))
	}
	switch out.Role {
	case Assistant:
		set(&out.Author, m.Metadata.V.Model)
		set(&s.Model, m.Metadata.V.Model)
		out.Blocks = m.answer(a)
	case Tool:
		out.Blocks = m.result(a, string(n.Parent))
	case User, System:
		out.Blocks = m.blocks(a)
	case "": // the root, which says nothing
		return
	default:
		a.unknown("role/" + string(out.Role))
		return
	}
	if m.Metadata.V.Hidden || m.Metadata.V.Custom || m.Content.V.Type == "user_editable_context" {
		out.Blocks = injectAll(out.Blocks)
	}
	a.add(out)
}

// answer is what the model said: to the person, or, when it names another recipient, to a tool.
func (m *chatMessage) answer(a *assembler) []Block {
	if m.Recipient == "" || m.Recipient == "all" || m.Content.V.Type == "thoughts" {
		return m.blocks(a)
	}
	call := joinTexts(m.blocks(a), "\n")
	if call == "" {
		return nil
	}
	return []Block{{Kind: ToolUse, ToolID: string(m.ID), ToolName: string(m.Recipient), Input: jsonOrText(jsontext.Value(quoteJSON(call)))}}
}

// result is what a tool answered to the message that is its parent.
func (m *chatMessage) result(a *assembler, parent string) []Block {
	blocks := m.blocks(a)
	b := Block{Kind: ToolResult, ToolID: parent, ToolName: string(m.Author.V.Name), Text: joinTexts(blocks, "\n"),
		IsError: m.Content.V.Type == "system_error"}
	out := []Block{b}
	for _, image := range blocks {
		if image.Kind == Image {
			image.ToolID = parent
			out = append(out, image)
		}
	}
	if b.Text == "" && len(out) == 1 {
		return nil
	}
	return out
}

// blocks are the texts, thoughts and images of a content, whatever its type.
func (m *chatMessage) blocks(a *assembler) []Block {
	c := &m.Content.V
	var blocks []Block
	switch c.Type {
	case "thoughts":
		for _, t := range c.Thoughts {
			if s := strings.TrimSpace(string(t.Summary + "\n" + t.Content)); s != "" {
				blocks = append(blocks, Block{Kind: Thinking, Text: s})
			}
		}
		return blocks
	case "reasoning_recap":
		if c.Content != "" {
			blocks = append(blocks, Block{Kind: Thinking, Text: string(c.Content)})
		}
		return blocks
	}
	blocks = c.parts(a)
	for _, s := range []text{c.Text, c.Result, c.Content, c.UserProfile, c.UserInstructions} {
		blocks = append(blocks, said(string(s))...)
	}
	if len(blocks) == 0 && len(c.RawParts) == 0 && c.Type != "" && c.Type != "text" && c.Type != "code" {
		a.unknown("content/" + string(c.Type))
	}
	return blocks
}

// parts are the strings, images and transcribed sounds that a content is made of.
func (c *chatContent) parts(a *assembler) []Block {
	var raws []jsontext.Value
	if c.RawParts.Kind() != '[' || decode(c.RawParts, &raws) != nil {
		return nil
	}
	var blocks []Block
	for _, raw := range raws {
		var part textOr[chatPart]
		if decode(raw, &part) != nil {
			continue
		}
		blocks = append(blocks, said(part.Text)...)
		for _, p := range part.Parts {
			switch p.Type {
			case "image_asset_pointer":
				blocks = append(blocks, Block{Kind: Image, URL: string(p.Asset), Size: max(0, int64(p.Size))})
			case "audio_transcription", "text":
				blocks = append(blocks, said(string(p.Text))...)
			case "audio_asset_pointer", "video_container_asset_pointer", "real_time_user_audio_video_asset_pointer":
			default:
				a.unknown("part/" + string(p.Type))
			}
		}
	}
	return blocks
}
