package sessions

import (
	"encoding/json"
	"time"
)

// Message is one message of a session. Messages are in the order of their
// indices, which is that in which they were appended, whatever At says.
type Message struct {
	Index  int       `json:"index"`        // given by Append; never used again
	ID     string    `json:"id,omitempty"` // in the transcript that it was imported from
	Role   Role      `json:"role"`
	Name   string    `json:"name,omitempty"`        // who speaks in that role, where there are several
	Model  string    `json:"model,omitempty"`       // that wrote it
	At     time.Time `json:"at,omitempty,omitzero"` // UTC; the time of the Append when that was given none
	Stop   string    `json:"stop,omitempty"`        // why the model ended, in the provider's word
	Blocks []Block   `json:"blocks,omitempty"`      // in the order of the provider
	Usage  *Usage    `json:"usage,omitempty"`       // nil when none was reported
}

// Role is who speaks.
type Role string

// The roles. A tool's results are messages of role tool, whichever role the
// provider gives them.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	System    Role = "system"
	Tool      Role = "tool"
)

// Block is a part of a message. Which fields it has depends on its type.
type Block struct {
	Type      BlockType       `json:"type"`
	Text      string          `json:"text,omitempty"`      // of text, thinking and tool_result
	ID        string          `json:"id,omitempty"`        // of a tool_use; of what belongs to its result, the same
	Name      string          `json:"name,omitempty"`      // of the function that a tool_use calls
	Input     json.RawMessage `json:"input,omitempty"`     // of a tool_use: its arguments
	IsError   bool            `json:"is_error,omitempty"`  // of a tool_result
	MIME      string          `json:"mime,omitempty"`      // of an image
	Data      []byte          `json:"data,omitempty"`      // of an image; empty when only Size was kept
	Size      int64           `json:"size,omitempty"`      // of an image whose Data was not kept, in bytes
	Signature string          `json:"signature,omitempty"` // of thinking: what the provider wants back with it

	// Injected marks what nobody said: framing that a program put into the message,
	// such as reminders, environment descriptions and instruction files. It is part
	// of the context and not of what Search finds.
	Injected bool `json:"injected,omitempty"`
}

// BlockType is what a block holds.
type BlockType string

// The types of blocks. An image that a tool returned is an Image block with the
// ID of the call, beside the ToolResult.
const (
	Text       BlockType = "text"
	Thinking   BlockType = "thinking"
	ToolUse    BlockType = "tool_use"
	ToolResult BlockType = "tool_result"
	Image      BlockType = "image"
)
