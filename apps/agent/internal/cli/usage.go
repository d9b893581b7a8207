package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// fail is an error in words that need no more.
func fail(format string, args ...any) error { return &exit{exitFailed, fmt.Errorf(format, args...)} }

// usage is an error in how a command was called, with what to do.
func usage(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

// usageOf makes an error that came before a command began one of usage, with where
// to read more.
func usageOf(cmd *cobra.Command, err error) error {
	return usage("%w\nsee %q", err, cmd.CommandPath()+" --help")
}

// group is a command that has others and does nothing itself.
func group(use, short string, of ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short,
		Args: unknownCommand, SuggestionsMinimumDistance: 2,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(of...)
	return c
}

// listing is a group that does by itself what the list command in it does.
func listing(use, short string, list *cobra.Command, others ...*cobra.Command) *cobra.Command {
	c := group(use, short, append(others, list)...)
	c.RunE = list.RunE
	c.Flags().AddFlagSet(list.Flags())
	return c
}

// knownCommand refuses arguments that are not the path of a command.
func knownCommand(c *cobra.Command, args []string) error {
	found, rest, err := c.Root().Find(args)
	if err != nil {
		return err
	}
	return unknownCommand(found, rest)
}

// unknownCommand refuses arguments where a command was meant.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath())
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		err += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return fmt.Errorf("%s", err)
}

// takes says how many arguments a command takes, by their names in its usage: one
// in brackets may be missing, and the last may be repeated if it ends in dots. An
// empty one names nothing, least of all the only one that there is, and is refused,
// unless it is a text or a query, which are data.
func takes(names ...string) cobra.PositionalArgs {
	least, most := 0, len(names)
	for _, n := range names {
		if !strings.HasPrefix(n, "[") {
			least++
		}
		if strings.HasSuffix(strings.TrimSuffix(n, "]"), "…") {
			most = 1 << 20
		}
	}
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s is missing", names[len(args)])
		case len(args) > most:
			return fmt.Errorf("unexpected argument %q", args[most])
		}
		for i, arg := range args {
			if name := names[min(i, len(names)-1)]; arg == "" && name != "TEXT…" && name != "QUERY…" {
				return fmt.Errorf("%s is empty", name)
			}
		}
		return nil
	}
}

// unknownFlag adds to the complaint about a flag the one that may have been meant.
func unknownFlag(c *cobra.Command, err error) error {
	_, name, found := strings.Cut(err.Error(), "unknown flag: --")
	if !found {
		return err
	}
	best, least := "", 3 // as many changes make another word
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if d := distance(name, f.Name); d < least || strings.HasPrefix(f.Name, name) {
			best, least = f.Name, min(d, least)
		}
	})
	if best == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, best)
}

// distance returns how many characters have to be changed, put in or taken out to
// make one word the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
