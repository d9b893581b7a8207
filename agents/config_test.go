package agents

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	if c := full("a"); c.Validate() != nil {
		t.Fatalf("a whole configuration: %v", c.Validate())
	}
	for want, edit := range map[string]func(c *AgentConfig){
		"name: an agent needs one":                 func(c *AgentConfig) { c.Name = "" },
		"name: an agent needs one ":                func(c *AgentConfig) { c.Name = " \t" },
		"name: it has 257 bytes":                   func(c *AgentConfig) { c.Name = strings.Repeat("x", 257) },
		`name: "a\xff" is not valid UTF-8`:         func(c *AgentConfig) { c.Name = "a\xff" },
		"id: \"7\" is no ULID":                     func(c *AgentConfig) { c.ID = "7" },
		"id: \"../../../../../../../../..\"":       func(c *AgentConfig) { c.ID = "../../../../../../../../.." },
		"description: ":                            func(c *AgentConfig) { c.Description = "\xed\xa0\x80" },
		"model.name: ":                             func(c *AgentConfig) { c.Model.Name = "\xff" },
		"model.base_url: \"models.example\"":       func(c *AgentConfig) { c.Model.BaseURL = "models.example" },
		"model.base_url: \"file:///etc/passwd\"":   func(c *AgentConfig) { c.Model.BaseURL = "file:///etc/passwd" },
		"model.parameters: ":                       func(c *AgentConfig) { c.Model.Parameters["stop"] = []any{"\xff"} },
		"tools: \"read\" is there twice":           func(c *AgentConfig) { c.Tools = []string{"read", "bash", "read"} },
		"skills: item 2 is empty":                  func(c *AgentConfig) { c.Skills = []string{"a", " "} },
		"approval_required: item 1 is empty":       func(c *AgentConfig) { c.ApprovalRequired = []string{""} },
		"max_iterations: -1":                       func(c *AgentConfig) { c.MaxIterations = -1 },
		"mcp_servers[0]: it needs either":          func(c *AgentConfig) { c.MCPServers[0].Command = "" },
		"mcp_servers[1]: it needs either":          func(c *AgentConfig) { c.MCPServers[1].Command = "x" },
		"mcp_servers[1].url: \"ftp://x\"":          func(c *AgentConfig) { c.MCPServers[1].URL = "ftp://x" },
		"mcp_servers: \"web\" is there twice":      func(c *AgentConfig) { c.MCPServers[0].Name = "web" },
		"mcp_servers: item 1 is empty":             func(c *AgentConfig) { c.MCPServers[0].Name = "" },
		"mcp_servers[0].args: ":                    func(c *AgentConfig) { c.MCPServers[0].Args = []string{"\xff"} },
		"mcp_servers[0].env.A: ":                   func(c *AgentConfig) { c.MCPServers[0].Env["A"] = "\xff" },
		"extra: ":                                  func(c *AgentConfig) { c.Extra["a\xff"] = 1 },
		"max_iterations: -2 is below 0; extra: \"": func(c *AgentConfig) { c.MaxIterations = -2; c.Extra["x"] = map[string]any{"y": "\xff"} },
	} {
		c := full("a")
		edit(&c)
		if err := c.Validate(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), strings.TrimRight(want, " ")) {
			t.Errorf("got %v, want ErrInvalid with %s", err, want)
		}
	}
}

// TestJSONNames writes a configuration as people do, with every field.
func TestJSONNames(t *testing.T) {
	const file = `{
		"name": "a", "description": "You write Go.",
		"model": {"provider": "anthropic", "name": "claude", "base_url": "https://models.example/v1", "parameters": {"temperature": 0.5}},
		"tools": ["read", "bash"], "skills": ["review"],
		"mcp_servers": [
			{"name": "files", "command": "files-mcp", "args": ["."], "env": {"A": "b"}},
			{"name": "web", "url": "http://localhost:1/mcp", "headers": {"X": "y"}}],
		"approval_required": ["bash"], "max_iterations": 40,
		"extra": {"team": "core", "nested": {"list": ["x", 1, true]}}}`
	var c AgentConfig
	if err := json.Unmarshal([]byte(file), &c); err != nil {
		t.Fatal(err)
	}
	want := full("a")
	want.Extra["nested"].(map[string]any)["list"].([]any)[1] = 1.0 // what encoding/json makes of a number
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
}
