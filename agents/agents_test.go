package agents

import (
	"context"
	"reflect"
	"testing"

	"github.com/crabstore/crabstore/kv/memkv"
)

func TestCreateAndFind(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	made, err := Create(ctx, s, full("coder"))
	if err != nil {
		t.Fatal(err)
	}
	if made.ID == "" || made.Revision != 1 || made.CreatedAt.IsZero() || made.UpdatedAt != made.CreatedAt {
		t.Fatalf("stored as %+v", made)
	}
	if got, err := Get(ctx, s, made.ID); err != nil || !reflect.DeepEqual(got, made) {
		t.Errorf("Get = %+v, %v; want %+v", got, err, made)
	}
	if got, err := ByName(ctx, s, "coder"); err != nil || !reflect.DeepEqual(got, made) {
		t.Errorf("ByName = %+v, %v; want %+v", got, err, made)
	}
}

// full is a configuration with a value in every field that a person writes.
func full(name string) AgentConfig {
	return AgentConfig{
		Name:             name,
		Description:      "You write Go.",
		Model:            Model{Provider: "anthropic", Name: "claude", BaseURL: "https://models.example/v1", Parameters: map[string]any{"temperature": 0.5}},
		Tools:            []string{"read", "bash"},
		Skills:           []string{"review"},
		MCPServers:       []MCPServer{{Name: "files", Command: "files-mcp", Args: []string{"."}, Env: map[string]string{"A": "b"}}, {Name: "web", URL: "http://localhost:1/mcp", Headers: map[string]string{"X": "y"}}},
		ApprovalRequired: []string{"bash"},
		MaxIterations:    40,
		Extra:            map[string]any{"team": "core", "nested": map[string]any{"list": []any{"x", int64(1), true}}},
	}
}
