package transcripts

import (
	"encoding/json"
	"time"
)

// Format names the program that wrote a transcript.
type Format string

// The formats that are read.
const (
	ClaudeCode   Format = "claude-code"
	Codex        Format = "codex"
	Pi           Format = "pi"
	OpenCode     Format = "opencode"
	ChatGPT      Format = "chatgpt"
	ClaudeReplay Format = "claude-replay" // turns that claude-replay cut out of a Claude Code session
)

// Kind tells how a session came to be.
type Kind string

// The kinds of session. A sidechain is a subagent of old Claude Code, whose messages stand in
// the file of the session that called it.
const (
	Main      Kind = "main"
	Subagent  Kind = "subagent"
	Sidechain Kind = "sidechain"
	Fork      Kind = "fork"
)

// Session is a conversation. The zero value of a field means that the transcript does not say.
type Session struct {
	Format    Format
	ID        string // the other agent's own, or derived from content where it has none; unique within Format
	Kind      Kind
	ParentID  string // the session that this one is a subagent, sidechain or fork of; it may not exist here
	Title     string // as the other agent recorded it, never made up from the first prompt
	Agent     string // the agent's name or type within the program: "Explore", "build"
	Model     string // the last model that answered
	Cwd       string // where it began
	GitBranch string // the last one named
	Version   string // of the program that wrote it; the last one named
	StartedAt time.Time
	Source    string // path of the file; for a member of a .zip, path!member
}

// Role tells whose message it is.
type Role string

// The roles. System is what the harness said: notices, hook output, compaction.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
	System    Role = "system"
)

// Message is one message of a session.
type Message struct {
	ID        string // unique within the format, the same at every reading
	SessionID string
	ParentID  string // the ID of the message this one answers; it may name none that exists, and chains of it may be cycles
	Role      Role
	Author    string // the model, the tool or the participant, where named
	At        time.Time
	Blocks    []Block
	Usage     Usage

	// Compaction marks the place where history was replaced by a summary. Its blocks, if any, are
	// the summary, and Injected.
	Compaction bool

	// Amends is set when this source may have yielded the message before, in an earlier batch or
	// run: this one has all its blocks and replaces it. Without Amends, an ID that is stored
	// already is a copy (a fork, a resumed session) and may be passed over.
	Amends bool
}

// BlockKind names what a block holds.
type BlockKind string

// The kinds of block.
const (
	Text       BlockKind = "text"
	Thinking   BlockKind = "thinking"
	ToolUse    BlockKind = "tool_use"
	ToolResult BlockKind = "tool_result"
	Image      BlockKind = "image"
)

// Block is one part of a message.
type Block struct {
	Kind BlockKind

	// Text is the text, the thought, or the textual result of a tool.
	Text string

	// Injected is set on what the harness put into the conversation and no one said: reminders,
	// environment, instructions files, hook output, command wrappers, compaction summaries.
	Injected bool

	ToolID   string          // joins a ToolUse and its ToolResult; also on an Image that a tool returned
	ToolName string          // of a ToolUse, and of a ToolResult where the transcript says
	Input    json.RawMessage // of a ToolUse: valid JSON in valid UTF-8, or nil
	IsError  bool            // of a ToolResult

	MIME string // of an Image
	Size int64  // of an Image, in bytes; 0 when unknown
	Data []byte // of an Image, decoded; nil beyond Options.MaxImage and when it is elsewhere
	URL  string // of an Image that is elsewhere: a URL, a path, an asset name
}

// Usage counts tokens. CacheRead and CacheWrite are beside Input, not within it, where the
// transcript keeps them apart.
type Usage struct {
	Input, Output, CacheRead, CacheWrite, Reasoning int64
}

// Skip is a record, or some bytes, that were passed over.
type Skip struct {
	Path   string // as Session.Source
	Line   int64  // from 1; 0 where there are no lines
	Offset int64  // of its first byte, in the decompressed file; the index of the element in an array
	Reason string
}
