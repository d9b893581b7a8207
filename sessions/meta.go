package sessions

import (
	"crypto/sha256"
	"encoding/base32"
	"time"
)

// Meta is what is known of a session without reading its messages. The json tags
// are the stored names.
//
// The caller owns what describes the session (Agent to Tags, CreatedAt, Parent,
// Origin, Extra). The rest is kept by the functions of this package, which
// disregard what a caller puts there.
type Meta struct {
	Handle    string `json:"handle"`               // opaque; encodes nothing
	Agent     string `json:"agent,omitempty"`      // name of the agent that converses
	CreatedBy string `json:"created_by,omitempty"` // who began it: a user, a channel, an importer
	Title     string `json:"title,omitempty"`      // found by Search, at twice a message's weight

	// Summary says what the conversation is about; found by Search, at three times a
	// message's weight. Compact sets it to the summary it records.
	Summary string   `json:"summary,omitempty"`
	Model   string   `json:"model,omitempty"` // as provider/name, or as a transcript had it
	Cwd     string   `json:"cwd,omitempty"`   // working directory
	Tags    []string `json:"tags,omitempty"`

	CreatedAt time.Time `json:"created_at,omitempty,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitempty,omitzero"` // the latest At of what was ever appended; never moves back

	Messages  int   `json:"messages,omitempty"`       // stored messages, those before Boundary included
	NextIndex int   `json:"next_index,omitempty"`     // index of the next message; never moves back
	LastSeq   int   `json:"last_seq,omitempty"`       // sequence of the last event, and so their number
	Boundary  int   `json:"boundary,omitempty"`       // messages before this index are history: compacted, not in the context
	Revision  int   `json:"revision"`                 // from 1; every commit that changes the session moves it by one
	Usage     Usage `json:"usage,omitempty,omitzero"` // the sum over the stored messages

	Parent *Parent        `json:"parent,omitempty"` // nil for a session of its own
	Origin *Origin        `json:"origin,omitempty"` // nil for a session that was not imported
	Extra  map[string]any `json:"extra,omitempty"`  // whatever else its owner keeps: strings, numbers, booleans, lists and maps of these
}

// Parent tells which session another one came from.
type Parent struct {
	Handle string     `json:"handle"`
	Kind   ParentKind `json:"kind"`
	Index  int        `json:"index,omitempty"` // the parent's message at which it left
}

// ParentKind is what a session is to its parent.
type ParentKind string

// The kinds of descent.
const (
	Subagent  ParentKind = "subagent"  // works for a tool call of its parent
	Fork      ParentKind = "fork"      // goes on from a message of its parent, in another direction
	Sidechain ParentKind = "sidechain" // runs beside its parent, outside its context
)

// Origin tells where an imported session was read.
type Origin struct {
	Format string `json:"format"`         // as in claude-code
	ID     string `json:"id"`             // the session's id in that format
	Path   string `json:"path,omitempty"` // of the file
}

// Handle returns the handle under which an imported session is stored. It is
// derived from Format and ID alone, so that a second import, and a child that is
// read before its parent, arrive at the same one. Like every handle it has 26
// characters and can be read for nothing.
func (o Origin) Handle() string {
	sum := sha256.Sum256([]byte(o.Format + "\x00" + o.ID))
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])[:26]
}

// Usage counts tokens, as the provider reported them.
type Usage struct {
	Input      int64 `json:"input,omitempty"`       // not read from a cache
	Output     int64 `json:"output,omitempty"`      // reasoning included
	CacheRead  int64 `json:"cache_read,omitempty"`  // input that a cache served
	CacheWrite int64 `json:"cache_write,omitempty"` // input that was put into a cache
}

// plus returns u with v taken n times added.
func (u Usage) plus(v *Usage, n int64) Usage {
	if v == nil {
		return u
	}
	return Usage{u.Input + n*v.Input, u.Output + n*v.Output, u.CacheRead + n*v.CacheRead, u.CacheWrite + n*v.CacheWrite}
}
