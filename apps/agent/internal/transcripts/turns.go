package transcripts

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// claude-replay cuts a session into turns, one a line: what the user asked, and the blocks of the
// answer, each call with its result.
type turns struct {
	Session string
}

type turn struct {
	Index     count           `json:"index"`
	UserText  text            `json:"user_text"`
	Timestamp when            `json:"timestamp"`
	Blocks    list[turnBlock] `json:"blocks"`
}

type turnBlock struct {
	Kind      text `json:"kind"`
	Text      text `json:"text"`
	Timestamp when `json:"timestamp"`
	Call      object[struct {
		ID      text           `json:"tool_use_id"`
		Name    text           `json:"name"`
		Input   jsontext.Value `json:"input"`
		Result  text           `json:"result"`
		IsError flag           `json:"is_error"`
	}] `json:"tool_call"`
}

func (g *turns) take(a *assembler, r record) (bool, error) {
	var t turn
	if err := decode(r.raw, &t); err != nil {
		return false, err
	}
	if t.UserText == "" && len(t.Blocks) == 0 {
		a.unknown("(no turn)")
		return false, nil
	}
	if g.Session == "" {
		g.Session = fallbackSession(a.source, r.raw)
	}
	s := a.session(g.Session)
	s.begin(t.Timestamp.Time)
	id := digest(s.ID, strconv.FormatInt(r.offset, 10), string(r.raw))
	answer := Message{ID: id + "/answer", SessionID: s.ID, ParentID: id, Role: Assistant, At: t.Timestamp.Time}
	results := Message{ID: id + "/results", SessionID: s.ID, ParentID: answer.ID, Role: Tool, At: t.Timestamp.Time}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		call := &b.Call.V
		toolID := string(call.ID)
		if toolID == "" {
			toolID = id + "/" + strconv.Itoa(i)
		}
		switch b.Kind {
		case "text":
			answer.Blocks = append(answer.Blocks, said(string(b.Text))...)
		case "thinking":
			answer.Blocks = append(answer.Blocks, Block{Kind: Thinking, Text: string(b.Text)})
		case "tool_use":
			answer.Blocks = append(answer.Blocks, Block{Kind: ToolUse, ToolID: toolID, ToolName: string(call.Name), Input: cleanJSON(call.Input)})
			results.Blocks = append(results.Blocks, Block{Kind: ToolResult, ToolID: toolID, ToolName: string(call.Name), Text: string(call.Result), IsError: bool(call.IsError)})
		default:
			a.unknown("block/" + string(b.Kind))
		}
	}
	a.add(Message{ID: id, SessionID: s.ID, Role: User, At: t.Timestamp.Time, Blocks: spokenBlocks(string(t.UserText))})
	a.add(answer)
	a.add(results)
	return true, nil
}
