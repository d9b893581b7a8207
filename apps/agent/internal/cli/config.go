package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v4"

	"github.com/crabstore/crabstore/agents"
)

// mostConfig is how many bytes the file of an agent may have.
const mostConfig = 1 << 20

// readConfig reads an agent from a file in TOML, YAML or JSON. What it does not
// know is refused, and so are names in another case: a restriction that was
// mistyped must not pass for none.
func (a *app) readConfig(ctx context.Context, file, format string) (agents.AgentConfig, error) {
	var config agents.AgentConfig
	if format == "" {
		format = strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	}
	data, err := a.readInput(ctx, file, mostConfig)
	if err != nil {
		return config, err
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	switch format {
	case "json":
	case "toml":
		data, err = toJSON(data, toml.Unmarshal)
	case "yaml", "yml":
		data, err = toJSON(data, func(b []byte, v any) error { return yaml.Unmarshal(b, v) })
	default:
		return config, usage("is %s TOML, YAML or JSON? Say --format", file)
	}
	if err == nil {
		err = json.Unmarshal(data, &config, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return config, fail("%s is no agent: %w", file, err)
	}
	return config, nil
}

func toJSON(data []byte, unmarshal func([]byte, any) error) ([]byte, error) {
	var v map[string]any
	if err := unmarshal(data, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
