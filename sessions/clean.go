package sessions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/crabstore/crabstore/kv"
)

// What enters a session is put right at the door, and what comes out of it once
// more, since an older store may hold what this door would have mended: text is
// valid UTF-8, with U+FFFD in place of what is not, and JSON is valid JSON without
// half of a surrogate pair. A provider refuses a conversation that has either,
// for ever after.

// maxName bounds what stands in keys, handle, agent and creator, in bytes as they
// are escaped there.
const maxName = 128

// clean puts a meta right. Afterwards it shares nothing with what it was copied
// from.
func (m *Meta) clean() {
	for _, s := range []*string{&m.Agent, &m.CreatedBy, &m.Title, &m.Summary, &m.Model, &m.Cwd} {
		*s = cleanText(*s)
	}
	m.Tags = cleanTexts(m.Tags)
	m.CreatedAt, m.UpdatedAt = cleanTime(m.CreatedAt), cleanTime(m.UpdatedAt)
	if p := m.Parent; p != nil {
		m.Parent = &Parent{cleanText(p.Handle), ParentKind(cleanText(string(p.Kind))), p.Index}
	}
	if o := m.Origin; o != nil {
		m.Origin = &Origin{cleanText(o.Format), cleanText(o.ID), cleanText(o.Path)}
	}
	if m.Extra != nil {
		m.Extra = cleanAny(m.Extra).(map[string]any)
	}
}

func (m *Meta) validate() error {
	if m.Handle == "" || !utf8.ValidString(m.Handle) {
		return fmt.Errorf("%w: the handle %q is empty or not valid UTF-8", ErrInvalid, m.Handle)
	}
	for _, n := range []struct{ what, name string }{{"handle", m.Handle}, {"agent", m.Agent}, {"created_by", m.CreatedBy}} {
		if size := len(kv.Join(n.name)); size > maxName {
			return fmt.Errorf("%w: %s %.40q… takes %d bytes in a key, the limit is %d", ErrInvalid, n.what, n.name, size, maxName)
		}
	}
	if p := m.Parent; p != nil && p.Kind != Subagent && p.Kind != Fork && p.Kind != Sidechain {
		return fmt.Errorf("%w: kind %.40q of a parent is none of subagent, fork, sidechain", ErrInvalid, p.Kind)
	}
	return nil
}

// clean puts a message right, its blocks in place.
func (m *Message) clean() {
	m.ID, m.Name, m.Model, m.Stop = cleanText(m.ID), cleanText(m.Name), cleanText(m.Model), cleanText(m.Stop)
	m.At = cleanTime(m.At)
	for i := range m.Blocks {
		m.Blocks[i].clean()
	}
}

func (b *Block) clean() {
	b.Text, b.ID, b.Name = cleanText(b.Text), cleanText(b.ID), cleanText(b.Name)
	b.MIME, b.Signature = cleanText(b.MIME), cleanText(b.Signature)
	b.Input = cleanJSON(b.Input)
}

func (m *Message) validate() error {
	switch m.Role {
	case User, Assistant, System, Tool:
	default:
		return fmt.Errorf("%w: role %.40q of a message is none of user, assistant, system, tool", ErrInvalid, m.Role)
	}
	for i, b := range m.Blocks {
		switch b.Type {
		case Text, Thinking, ToolUse, ToolResult, Image:
		default:
			return fmt.Errorf("%w: type %.40q of block %d is none of text, thinking, tool_use, tool_result, image", ErrInvalid, b.Type, i)
		}
	}
	return nil
}

func (e *Event) clean() {
	e.Type, e.At, e.Data = cleanText(e.Type), cleanTime(e.At), cleanJSON(e.Data)
}

func (e *Event) validate() error {
	if e.Type == "" {
		return fmt.Errorf("%w: an event needs a type", ErrInvalid)
	}
	return nil
}

// cleanTime takes off the zone, and the monotonic reading, which no store keeps.
func cleanTime(t time.Time) time.Time { return t.UTC().Round(0) }

func cleanText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func cleanTexts(list []string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = cleanText(list[i])
	}
	return list
}

// cleanAny returns a copy of v whose strings are clean.
func cleanAny(v any) any {
	switch v := v.(type) {
	case string:
		return cleanText(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cleanAny(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[cleanText(k)] = cleanAny(v[k])
		}
		return out
	}
	return v
}

// cleanJSON returns raw as valid JSON. What is none, such as the arguments of a
// call that broke off, becomes a JSON string of its text. It changes nothing in
// place.
func cleanJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	if !json.Valid(raw) {
		raw, _ = json.Marshal(string(raw)) // of a string: never an error
		return raw
	}
	return mendSurrogates(raw)
}

// mendSurrogates replaces every escape \uD800 to \uDFFF that is not half of a
// pair by \ufffd. raw is valid JSON and stays as it is.
func mendSurrogates(raw []byte) []byte {
	out := raw
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		u := escapedUnit(raw[i:])
		switch {
		case u < 0xD800 || u > 0xDFFF: // another escape, or no surrogate
			i++
		case isHigh(u) && isLow(escapedUnit(raw[i+6:])):
			i += 11
		default:
			if &out[0] == &raw[0] {
				out = bytes.Clone(raw)
			}
			i += copy(out[i:], `\ufffd`) - 1
		}
	}
	return out
}

func isHigh(u int) bool { return u >= 0xD800 && u <= 0xDBFF }

func isLow(u int) bool { return u >= 0xDC00 && u <= 0xDFFF }

// escapedUnit returns the UTF-16 unit that b begins with as \uXXXX, or -1.
func escapedUnit(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	u := 0
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			u = u<<4 | int(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			u = u<<4 | int(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return u
}
