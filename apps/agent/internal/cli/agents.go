package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/agents"
	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/kv"
)

func (a *app) agentsCommand() *cobra.Command {
	return listing("agents", "Add, list, show, rename and remove agents",
		a.agentsList(), a.agentsAdd(), a.agentsShow(), a.agentsRemove(), a.agentsRename(), a.agentsDefault())
}

func (a *app) agentsAdd() *cobra.Command {
	var format string
	var replace bool
	c := &cobra.Command{
		Use: "add FILE", Short: "Add an agent from a TOML, YAML or JSON file", Args: takes("FILE"),
		Long: `Add an agent from a file; - is stdin. Its fields are

  name = "reviewer"                   # the only one that has to be there
  description = "…"
  tools = ["read", "grep"]
  skills = ["code-review"]
  approval_required = ["bash"]
  max_iterations = 20
  [model]
  provider = "anthropic"
  name = "…"
  parameters = { temperature = 0 }
  [[mcp_servers]]
  name = "files"
  command = "mcp-files"
  args = ["--root", "."]
  [extra]                             # whatever else belongs to it`,
	}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		config, err := a.readConfig(ctx, args[0], format)
		if err != nil {
			return err
		}
		return a.writing(ctx, func(s kv.KVStorage) error { return a.addAgent(ctx, s, config, replace) })
	})
	c.Flags().StringVar(&format, "format", "", "toml, yaml or json (default: by the file's name)")
	c.Flags().BoolVar(&replace, "replace", false, "take the place of the agent of this name")
	return c
}

func (a *app) addAgent(ctx context.Context, s kv.KVStorage, config agents.AgentConfig, replace bool) (err error) {
	var stored agents.AgentConfig
	err = kv.Update(ctx, s, func(tx kv.KVStorage) error {
		if replace {
			was, err := agents.ByName(ctx, tx, config.Name)
			if err == nil {
				config.ID = was.ID
				stored, err = agents.Update(ctx, tx, config)
				return err
			}
			if !errors.Is(err, kv.ErrNotFound) {
				return err
			}
		}
		stored, err = agents.Create(ctx, tx, config)
		return err
	})
	switch {
	case errors.Is(err, agents.ErrExists):
		return fail("there is an agent called %q; --replace takes its place", config.Name)
	case err != nil:
		return err
	case a.json:
		return a.writeJSON(stored)
	}
	a.out.Printf("Added %s (%s).\n", console.Line(stored.Name), stored.ID)
	return nil
}

func (a *app) agentsList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List agents", Args: takes(),
		RunE: a.run(func(ctx context.Context, _ []string) error {
			return a.reading(ctx, func(s kv.KVStorage) error { return a.listAgents(ctx, s) })
		}),
	}
}

func (a *app) listAgents(ctx context.Context, s kv.KVStorage) error {
	list, err := agents.List(ctx, s)
	if err != nil {
		return err
	}
	if a.json {
		return writeLines(a, slices.Values(list))
	}
	if len(list) == 0 {
		a.err.Println(`No agents; "agent agents add FILE" adds one.`)
		return nil
	}
	def, err := agents.Default(ctx, s)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	t := &console.Table{Columns: []console.Column{{Title: "NAME"}, {Title: "MODEL"}, {Title: "DESCRIPTION", Flex: true}, {Title: "CHANGED"}, {Title: "ID"}}}
	for i := range list {
		c := &list[i]
		name := console.Line(c.Name)
		if c.ID == def.ID {
			name += " (default)"
		}
		t.Add(name, console.Line(modelOf(c)), console.Line(c.Description), console.Ago(c.UpdatedAt, a.sys.Now()), c.ID)
	}
	a.out.Table(t)
	return nil
}

func modelOf(c *agents.AgentConfig) string {
	return strings.Trim(c.Model.Provider+"/"+c.Model.Name, "/")
}

// agentOf returns the agent that is meant by a name or an id.
func agentOf(ctx context.Context, s kv.KVStorage, given string) (agents.AgentConfig, error) {
	c, err := agents.ByName(ctx, s, given)
	if errors.Is(err, kv.ErrNotFound) {
		c, err = agents.Get(ctx, s, given)
	}
	if errors.Is(err, kv.ErrNotFound) {
		return c, fail("no agent is called %q, and none has that id", given)
	}
	return c, err
}

func (a *app) agentsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME|ID", Short: "Show an agent whole, as JSON", Args: takes("NAME|ID"),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.reading(ctx, func(s kv.KVStorage) error {
				c, err := agentOf(ctx, s, args[0])
				if err != nil {
					return err
				}
				enc := newEncoder(a.out)
				if !a.json {
					enc.SetIndent("", "  ")
				}
				return enc.Encode(c)
			})
		}),
	}
}

func (a *app) agentsRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME|ID", Short: "Remove an agent", Args: takes("NAME|ID"),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.changing(ctx, func(s kv.KVStorage) error {
				c, err := agentOf(ctx, s, args[0])
				if err != nil {
					return err
				}
				if err := agents.Delete(ctx, s, c.ID); err != nil {
					return err
				}
				return a.done("Removed "+c.Name+".", "removed", c.Name)
			})
		}),
	}
}

func (a *app) agentsRename() *cobra.Command {
	return &cobra.Command{
		Use: "rename NAME|ID NEW", Short: "Give an agent another name", Args: takes("NAME|ID", "NEW"),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.changing(ctx, func(s kv.KVStorage) error {
				c, err := agentOf(ctx, s, args[0])
				if err != nil {
					return err
				}
				renamed, err := agents.Rename(ctx, s, c.ID, args[1])
				if errors.Is(err, agents.ErrExists) {
					return fail("there is an agent called %q already", args[1])
				}
				if err != nil {
					return err
				}
				return a.done(c.Name+" is "+renamed.Name+" now.", "renamed", renamed.Name)
			})
		}),
	}
}

func (a *app) agentsDefault() *cobra.Command {
	var none bool
	c := &cobra.Command{Use: "default [NAME|ID]", Short: "Say which agent is meant when none is named, or make one that", Args: takes("[NAME|ID]")}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		switch {
		case none && len(args) > 0:
			return usage("--none takes no name")
		case none:
			return a.changing(ctx, func(s kv.KVStorage) error {
				if err := agents.SetDefault(ctx, s, ""); err != nil {
					return err
				}
				return a.done("No agent is the default now.", "default", "")
			})
		case len(args) == 0:
			return a.reading(ctx, func(s kv.KVStorage) error { return a.sayDefault(ctx, s) })
		}
		return a.changing(ctx, func(s kv.KVStorage) error {
			c, err := agentOf(ctx, s, args[0])
			if err != nil {
				return err
			}
			if err := agents.SetDefault(ctx, s, c.ID); err != nil {
				return err
			}
			return a.done(c.Name+" is the default now.", "default", c.Name)
		})
	})
	c.Flags().BoolVar(&none, "none", false, "leave no agent the default")
	return c
}

func (a *app) sayDefault(ctx context.Context, s kv.KVStorage) error {
	c, err := agents.Default(ctx, s)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return fail("no agent is the default")
	case err != nil:
		return err
	}
	return a.done(c.Name, "default", c.Name)
}

// done says what was done, in words or as one value of JSON.
func (a *app) done(words, key, value string) error {
	if a.json {
		return a.writeJSON(map[string]string{key: value})
	}
	a.out.Println(console.Line(words))
	return nil
}
