package agents

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
)

// MaxName is how many bytes the name of an agent may have. A name may hold
// anything a person types, and each byte of it takes up to three in a key of
// kv.MaxKeySize, beside the realm.
const MaxName = 256

// AgentConfig is all that is kept of an agent. The json tags name the fields in
// the store and in files that people write.
type AgentConfig struct {
	ID          string `json:"id"`   // a ULID; Create makes one when it is empty
	Name        string `json:"name"` // unique, compared byte for byte
	Description string `json:"description,omitempty"`

	Model      Model       `json:"model"`
	Tools      []string    `json:"tools,omitempty"`       // names of tools it may use
	Skills     []string    `json:"skills,omitempty"`      // names of skills it may load
	MCPServers []MCPServer `json:"mcp_servers,omitempty"` // where more tools come from

	// ApprovalRequired names the tools that run only after a person agreed. They
	// need not be in Tools: an MCP server may bring them.
	ApprovalRequired []string `json:"approval_required,omitempty"`

	// MaxIterations is how often the model may be asked in one run; 0 leaves it to
	// the daemon.
	MaxIterations int `json:"max_iterations,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	// Revision counts the writes, from 1. In a call of Update it states what the
	// caller has read; 0 states nothing.
	Revision int64 `json:"revision"`

	// Extra is whatever else belongs to the agent: what kv.Marshal takes.
	Extra map[string]any `json:"extra,omitempty"`
}

// Model says which model is asked, and how.
type Model struct {
	Provider   string         `json:"provider,omitempty"`
	Name       string         `json:"name,omitempty"`
	BaseURL    string         `json:"base_url,omitempty"`   // empty: the provider's own
	Parameters map[string]any `json:"parameters,omitempty"` // temperature and the like, by the provider's names
}

// MCPServer is a server of the Model Context Protocol: a command to start, or an
// address to connect to, not both.
type MCPServer struct {
	Name    string            `json:"name"` // unique within the agent
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Validate returns ErrInvalid with every fault of the configuration, each named
// by its field, or nil.
func (c *AgentConfig) Validate() error {
	var f faults
	f.name(c.Name)
	if c.ID != "" {
		if _, err := ulid.ParseStrict(c.ID); err != nil {
			f.add("id", "%q is no ULID; leave it out to have one made", c.ID)
		}
	}
	f.text("description", c.Description)
	f.model(c.Model)
	f.words("tools", c.Tools)
	f.words("skills", c.Skills)
	f.words("approval_required", c.ApprovalRequired)
	f.servers(c.MCPServers)
	if c.MaxIterations < 0 {
		f.add("max_iterations", "%d is below 0", c.MaxIterations)
	}
	f.tree("extra", c.Extra, 0)
	return f.err()
}

// faults collects what is wrong, so that whoever wrote the file sees all of it.
type faults []string

func (f *faults) add(field, format string, args ...any) {
	*f = append(*f, field+": "+fmt.Sprintf(format, args...))
}

func (f *faults) err() error {
	if len(*f) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrInvalid, strings.Join(*f, "; "))
}

func (f *faults) name(name string) {
	switch {
	case strings.TrimSpace(name) == "":
		f.add("name", "an agent needs one")
	case len(name) > MaxName:
		f.add("name", "it has %d bytes, the limit is %d", len(name), MaxName)
	}
	f.text("name", name)
}

func (f *faults) text(field, s string) {
	if !utf8.ValidString(s) {
		f.add(field, "%.40q is not valid UTF-8", s)
	}
}

// words checks a list of names: none empty, none twice.
func (f *faults) words(field string, list []string) {
	for i, w := range list {
		f.text(field, w)
		if strings.TrimSpace(w) == "" {
			f.add(field, "item %d is empty", i+1)
		} else if slices.Contains(list[:i], w) {
			f.add(field, "%q is there twice", w)
		}
	}
}

func (f *faults) model(m Model) {
	f.text("model.provider", m.Provider)
	f.text("model.name", m.Name)
	if m.BaseURL != "" {
		f.address("model.base_url", m.BaseURL)
	}
	f.tree("model.parameters", m.Parameters, 0)
}

func (f *faults) address(field, s string) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		f.add(field, "%.80q is no http or https address", s)
	}
}

func (f *faults) servers(list []MCPServer) {
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.Name
		field := fmt.Sprintf("mcp_servers[%d]", i)
		if (m.Command == "") == (m.URL == "") {
			f.add(field, "it needs either a command or a url")
		}
		if m.URL != "" {
			f.address(field+".url", m.URL)
		}
		f.text(field+".command", m.Command)
		for _, a := range m.Args {
			f.text(field+".args", a)
		}
		f.pairs(field+".env", m.Env)
		f.pairs(field+".headers", m.Headers)
	}
	f.words("mcp_servers", names)
}

func (f *faults) pairs(field string, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		f.text(field, k)
		f.text(field+"."+k, m[k])
	}
}

// maxDepth is how deep tree looks, so that a map that holds itself ends too.
// kv.Marshal refuses what is nested as deep.
const maxDepth = 1000

// tree checks the texts of a value that can hold anything. What its types are is
// kv.Marshal's to judge.
func (f *faults) tree(field string, v any, depth int) {
	if depth > maxDepth {
		return
	}
	switch v := v.(type) {
	case string:
		f.text(field, v)
	case []any:
		for _, item := range v {
			f.tree(field, item, depth+1)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			f.text(field, k)
			f.tree(field, v[k], depth+1)
		}
	}
}
