package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/apps/agent/internal/home"
)

// build says what this program is.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // since the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Schema   int    `json:"schema"` // version of the keyspace
}

func thisBuild() build {
	b := build{Version: "(unknown)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Schema: home.SchemaVersion}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which version this is", Args: takes(),
		RunE: a.run(func(context.Context, []string) error { return a.sayVersion() }),
	}
}

func (a *app) sayVersion() error {
	b := thisBuild()
	if a.json {
		return a.writeJSON(b)
	}
	a.out.Printf("agent %s, %s, %s, keyspace version %d\n", b.Version, b.Go, b.Platform, b.Schema)
	return nil
}
