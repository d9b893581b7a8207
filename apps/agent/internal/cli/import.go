package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/apps/agent/internal/importer"
	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
	"github.com/crabstore/crabstore/apps/agent/samples"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// importing is one run of the import command.
type importing struct {
	*app
	sample, dryRun, force bool
	quiet, verbose        bool
	formats               []string
}

func (a *app) importCommand() *cobra.Command {
	i := &importing{app: a}
	c := &cobra.Command{
		Use:   "import [PATH…]",
		Short: "Bring in the sessions of coding agents",
		Long: `Bring in the sessions that coding agents left, from files and whole folders. What
a file is, is found by its content. Without a PATH the places are searched where
Claude Code, Codex, pi and OpenCode keep theirs.

A second run adds only what is new. It exits with 3 when records of the input had
to be skipped, and says which.`,
		Example: `  agent import
  agent import ~/Downloads/chatgpt-export.zip
  agent import --sample`,
		Args: takes("[PATH…]"),
	}
	c.RunE = a.run(i.run)
	flags := c.Flags()
	flags.BoolVar(&i.sample, "sample", false, "bring in sample sessions that ship with this program")
	flags.BoolVar(&i.dryRun, "dry-run", false, "say what would be done, and write nothing")
	flags.BoolVar(&i.force, "force", false, "bring back sessions that were deleted here")
	flags.StringSliceVar(&i.formats, "format", nil, "only these formats: "+strings.Join(formatNames(), ", "))
	flags.BoolVarP(&i.quiet, "quiet", "q", false, "no progress, and no report but of what went wrong")
	flags.BoolVarP(&i.verbose, "verbose", "v", false, "name all files that are no sessions, and all records skipped")
	c.MarkFlagsMutuallyExclusive("quiet", "verbose")
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func formatNames() []string {
	return []string{string(transcripts.ClaudeCode), string(transcripts.Codex), string(transcripts.Pi),
		string(transcripts.OpenCode), string(transcripts.ChatGPT), string(transcripts.ClaudeReplay)}
}

func (i *importing) run(ctx context.Context, args []string) error {
	if err := i.checkFormats(); err != nil {
		return err
	}
	if i.sample && len(args) > 0 {
		return usage("--sample takes no PATH")
	}
	paths, opts, done, err := i.paths(args)
	if err != nil {
		return err
	}
	defer done()
	found, err := i.find(ctx, paths)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(f transcripts.Finding) bool { return f.Status == transcripts.Found }) {
		return i.nothing(args, paths, found)
	}
	return i.opened(ctx, func(s kv.KVStorage) error { return i.into(ctx, s, found, opts) })
}

func (i *importing) checkFormats() error {
	known := formatNames()
	for _, f := range i.formats {
		if !slices.Contains(known, f) {
			return usage("unknown format %q; known are %s", f, strings.Join(known, ", "))
		}
	}
	return nil
}

// paths returns where to look, and a function to be called at the end.
func (i *importing) paths(args []string) (paths []string, opts importer.Options, done func(), err error) {
	opts = importer.Options{Force: i.force, DryRun: i.dryRun}
	switch {
	case i.sample:
		dir, remove, err := samples.Extract()
		opts.Name = func(s transcripts.Source) string { return samples.Name(dir, s.Path) }
		return []string{dir}, opts, remove, err
	case len(args) > 0:
		paths, err = absolute(args)
		return paths, opts, func() {}, err
	}
	user, err := os.UserHomeDir()
	for _, p := range transcripts.KnownPlaces(user, i.sys.Getenv) {
		paths = append(paths, p.Path)
	}
	return paths, opts, func() {}, err
}

// absolute makes paths absolute, so that a source is known again from elsewhere,
// and refuses one that leads nowhere before anything is done.
func absolute(args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		if _, err := os.Stat(arg); err != nil {
			return nil, err
		}
		path, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// find looks for sources. Known places that are not there are passed over.
func (i *importing) find(ctx context.Context, paths []string) ([]transcripts.Finding, error) {
	there := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Stat(path)
		return os.IsNotExist(err)
	})
	var found []transcripts.Finding
	for f := range transcripts.Walk(ctx, there) {
		if f.Status == transcripts.Found && len(i.formats) > 0 && !slices.Contains(i.formats, string(f.Source.Format)) {
			continue
		}
		found = append(found, f)
	}
	return found, ctx.Err()
}

// nothing says that there was nothing to import, and where it was looked for.
func (i *importing) nothing(args, paths []string, found []transcripts.Finding) error {
	for _, f := range found {
		if f.Status == transcripts.Unreadable || f.Status == transcripts.Unsupported {
			i.err.Printf("%s: %s\n", console.Line(f.Path), console.Line(f.Reason))
		}
	}
	if len(args) > 0 {
		i.err.Printf("No session found in %s (%s looked at).\n", strings.Join(args, ", "), console.Plural(len(found), "file"))
		for _, f := range found[:min(len(found), firstNamed)] {
			i.err.Printf("  %s: %s\n", console.Line(f.Path), console.Line(f.Reason))
		}
		return &exit{exitFailed, nil}
	}
	i.err.Println("No sessions of coding agents found. Looked in")
	for _, p := range paths {
		i.err.Println("  " + p)
	}
	i.err.Println(`Name another PATH, or try it with samples: agent import --sample`)
	return &exit{exitFailed, nil}
}

// firstNamed is how many of many things are named.
const firstNamed = 10

// opened runs do with the store: opened to be written, or for a dry run to be
// read, where none is as good as an empty one.
func (i *importing) opened(ctx context.Context, do func(s kv.KVStorage) error) error {
	if !i.dryRun {
		return i.writing(ctx, do)
	}
	err := i.reading(ctx, do)
	if isNoStore(err) {
		return do(memkv.New())
	}
	return err
}

// into imports what was found and reports.
func (i *importing) into(ctx context.Context, s kv.KVStorage, found []transcripts.Finding, opts importer.Options) error {
	var bar *console.Progress
	if i.quiet || i.json {
		bar = &console.Progress{}
	} else {
		bar = i.err.Progress("importing")
	}
	opts.Progress = func(p importer.Progress) {
		bar.Set(p.Bytes, p.BytesTotal, fmt.Sprintf("%d/%d files, %s messages", p.Sources, p.SourcesTotal, console.Count(p.Messages)))
	}
	report, err := importer.Run(ctx, s, found, opts)
	bar.End()
	if err != nil {
		return err
	}
	if err := i.report(report); err != nil {
		return err
	}
	switch {
	case report.Interrupted:
		return &exit{exitInterrupted, nil}
	case report.Partial():
		return &exit{exitPartial, nil}
	}
	return nil
}
