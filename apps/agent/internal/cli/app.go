package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crabstore/crabstore/apps/agent/internal/console"
	"github.com/crabstore/crabstore/apps/agent/internal/home"
	"github.com/crabstore/crabstore/kv"
)

// app is what the commands of one run share.
type app struct {
	sys      System
	out, err *console.Printer

	home, store string // flags
	json        bool

	began bool // the command line was understood, and its command runs
}

func (a *app) root() *cobra.Command {
	root := group("agent", "Keeps and finds what agents said, remember and are",
		a.importCommand(), a.searchCommand(), a.sessionsCommand(),
		a.rememberCommand(), a.recallCommand(), a.memoriesCommand(), a.forgetCommand(),
		a.agentsCommand(), a.skillsCommand(), a.harnessesCommand(),
		a.storeCommand(), a.versionCommand(),
	)
	version := root.Flags().Bool("version", false, "say which version this is")
	root.RunE = func(c *cobra.Command, args []string) error {
		if *version {
			return a.sayVersion()
		}
		return c.Help()
	}
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = knownCommand
	}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(unknownFlag)
	root.SetOut(a.out)
	root.SetErr(a.err)
	flags := root.PersistentFlags()
	flags.StringVar(&a.home, "home", "", "directory of all that is kept (default $"+home.Variable+" or ~/.crabstore)")
	flags.StringVar(&a.store, "store", "", "store as BACKEND:LOCATION (default: what the home has, else "+home.DefaultStore()+"; built in: "+strings.Join(home.BuiltIn(), ", ")+")")
	flags.BoolVar(&a.json, "json", false, "write JSON, for programs")
	return root
}

// run wraps what a command does.
func (a *app) run(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		a.began = true
		return do(c.Context(), args)
	}
}

// location returns where the store lies.
func (a *app) location() (home.Location, error) {
	dir, err := home.Dir(a.home, a.sys.Getenv)
	if err != nil {
		return home.Location{}, err
	}
	l, err := home.Locate(a.store, dir)
	if errors.Is(err, home.ErrBackend) {
		return l, usage("%w", err)
	}
	return l, err
}

// reading runs do with the store opened to be read.
func (a *app) reading(ctx context.Context, do func(s kv.KVStorage) error) error {
	l, err := a.location()
	if err != nil {
		return err
	}
	s, err := home.OpenRead(ctx, l)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// writing runs do with the store opened to be written, and made if it is missing.
func (a *app) writing(ctx context.Context, do func(s kv.KVStorage) error) error {
	l, err := a.location()
	if err != nil {
		return err
	}
	s, err := home.OpenWrite(ctx, l, a.telling)
	if err != nil {
		return err
	}
	return errors.Join(do(s), home.Done(ctx, s))
}

// changing is writing for what makes no sense without a store that exists.
func (a *app) changing(ctx context.Context, do func(s kv.KVStorage) error) error {
	if err := a.reading(ctx, func(kv.KVStorage) error { return nil }); err != nil {
		return err
	}
	return a.writing(ctx, do)
}

// telling says what a store that is being opened takes its time for.
func (a *app) telling(what string) { a.note("%s", words(errors.New(what))) }

// note says something on stderr at once.
func (a *app) note(format string, args ...any) {
	a.err.Printf(format+"\n", args...)
	a.err.Flush()
}
