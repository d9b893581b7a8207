package transcripts

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// What a file is, is told by the names of the members of its first JSON objects. A head of the
// file is enough; it may end within an object.

// Heads that are read to tell what a file is: a longer one when the first line does not end in
// the short one.
const (
	shortHead = 64 << 10
	longHead  = 4 << 20
)

// headLines is how many lines are looked at for one that is not damaged.
const headLines = 64

// members are those of an object: the kind of each, and the value of those that are strings.
type members map[string]member

type member struct {
	kind  jsontext.Kind
	value string
}

func (m members) has(name string, kind jsontext.Kind) bool { return m[name].kind == kind }

func (m members) is(name string, values ...string) bool {
	return m.has(name, '"') && slices.Contains(values, m[name].value)
}

// sniff tells what the file is that begins with head, or why it is no session.
func sniff(head []byte) (format Format, layout Layout, reason string) {
	head = bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	head = bytes.TrimLeft(head, blank+"\x00")
	if len(head) > 0 && head[0] == '[' {
		first := firstMembers(head[1:])
		if format := arrayOf(first); format != "" {
			return format, Document, ""
		}
		return "", "", "a JSON array of something else"
	}
	reason = "not JSON"
	rest := head
	for i := 0; i < headLines && len(rest) > 0; i++ {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		if trimmed := bytes.TrimLeft(line, blank+"\x00"); len(trimmed) > 0 && trimmed[0] == '{' {
			m := firstMembers(rest)
			if format := lineOf(m); format != "" {
				return format, Lines, ""
			}
			if i == 0 {
				if format, layout, why := objectOf(m); format != "" || why != "" {
					return format, layout, why
				}
			}
			reason = "JSON of something else"
		}
		rest = after
	}
	return "", "", reason
}

// firstMembers are the members of the object that data begins with, as far as it goes.
func firstMembers(data []byte) members {
	m := members{}
	d := jsontext.NewDecoder(bytes.NewReader(data), tolerant)
	if d.PeekKind() != '{' {
		return m
	}
	if _, err := d.ReadToken(); err != nil {
		return m
	}
	const most = 200
	for len(m) < most && d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return m
		}
		name := token.String()
		this := member{kind: d.PeekKind()}
		m[name] = this
		if this.kind == '"' {
			if token, err = d.ReadToken(); err == nil {
				this.value = token.String()
				m[name] = this
			}
		} else {
			err = d.SkipValue()
		}
		if err != nil {
			return m
		}
	}
	return m
}

// lineOf tells the format that a line with these members is of.
func lineOf(m members) Format {
	typ := m["type"].value
	switch {
	case m.has("user_text", '"') && m.has("blocks", '['):
		return ClaudeReplay
	case m.has("payload", '{') && m.has("type", '"'):
		return Codex
	case m.is("type", "session") && m.has("id", '"') && m.has("timestamp", '"'),
		m.is("type", "message") && m.has("message", '{') && m.has("timestamp", '"'):
		return Pi
	case m.has("sessionID", '"') && m.has("type", '"') && (m.has("part", '{') || m.is("type", "error")):
		return OpenCode
	case claudeOf(m, typ):
		return ClaudeCode
	case codexBare(m, typ):
		return Codex
	}
	return ""
}

func claudeOf(m members, typ string) bool {
	_, quiet := slices.BinarySearch(claudeQuiet, typ)
	named := m.has("sessionId", '"') || m.has("session_id", '"')
	switch {
	case m.is("type", "user", "assistant") && m.has("message", '{'):
		return true
	case m.has("sessionId", '"') && m.has("type", '"') && (quiet || m.has("uuid", '"') ||
		m.is("type", "agent-name", "ai-title", "custom-title", "queued_command")):
		return true
	case m.is("type", "summary") && m.has("summary", '"') && m.has("leafUuid", '"'),
		m.is("type", "file-history-snapshot") && m.has("snapshot", '{'),
		m.is("type", "system") && named && m.has("subtype", '"'):
		return true
	}
	_, tree := m["parentUuid"]
	_, side := m["isSidechain"]
	return tree && side
}

// codexBare tells a line of the first generation of Codex.
func codexBare(m members, typ string) bool {
	if m.has("record_type", '"') {
		return true
	}
	if _, ok := m["type"]; !ok {
		_, instructions := m["instructions"]
		return m.has("id", '"') && m.has("timestamp", '"') && (instructions || m.has("git", '{'))
	}
	switch typ {
	case "message":
		return m.has("role", '"') && m.has("content", '[')
	case "function_call", "function_call_output", "local_shell_call", "custom_tool_call", "custom_tool_call_output":
		return m.has("call_id", '"')
	case "reasoning":
		return m.has("summary", '[')
	}
	return false
}

// arrayOf tells the format of an array whose first element has these members.
func arrayOf(m members) Format {
	switch {
	case m.has("mapping", '{'):
		return ChatGPT
	case m.is("type", "system", "user", "assistant") && (m.has("message", '{') || m.has("session_id", '"')):
		return ClaudeCode
	}
	return ""
}

// objectOf tells what a file is that is one object with these members; also what it is a piece of.
func objectOf(m members) (format Format, layout Layout, reason string) {
	switch {
	case m.has("mapping", '{'):
		return ChatGPT, Document, ""
	case m.has("session", '{') && m.has("items", '['):
		return Codex, Document, ""
	case m.has("info", '{') && m.has("messages", '['):
		return OpenCode, Document, ""
	case m.has("role", '"') && m.has("time", '{') && m.has("id", '"'):
		return "", "", "a message of an OpenCode storage tree, without its session"
	case m.has("messageID", '"') && m.has("type", '"'), m.has("type", '"') && m.has("time", '{') && m.has("id", '"'):
		return "", "", "a part of an OpenCode message, without its session"
	case m.has("id", '"') && m.has("time", '{') && (m.has("directory", '"') || m.has("projectID", '"') || m.has("title", '"') && m.has("version", '"')):
		return OpenCode, Tree, ""
	case m.has("role", '"') && (m.has("content", '[') || m.has("content", '"')):
		return "", "", "one message, without its session"
	}
	return "", "", ""
}
