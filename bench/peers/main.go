package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if childMain() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// command does what the first argument names, by default the comparison of stores.
func command(ctx context.Context, args []string) error {
	switch {
	case len(args) > 0 && args[0] == "corpus":
		return corpusMain(ctx, args[1:], os.Stderr)
	case len(args) > 0 && args[0] == "search":
		return searchMain(ctx, args[1:], os.Stdout, os.Stderr)
	}
	return parentMain(ctx, args, os.Stdout, os.Stderr)
}

// options are what the flags say.
type options struct {
	bench
	dir, out, svg string
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	var stores, lines string
	var names []string
	for _, e := range engines() {
		names = append(names, e.name)
	}
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.keys, "keys", 1_000_000, "how many keys a store is loaded with")
	flags.IntVar(&o.rounds, "rounds", 3, "how many rounds the medians are of")
	flags.Int64Var(&o.stall, "stall-size", 1<<30, "size in `bytes` of the store that is compacted beside a writer")
	flags.IntVar(&o.pace, "stall-pace", 20_000, "`puts` a second of that writer, 0 for as many as it can")
	flags.StringVar(&stores, "stores", strings.Join(names, ","), "which stores")
	flags.StringVar(&lines, "lines", "", "which lines, of "+strings.Join(groups(), ",")+" (default all)")
	flags.StringVar(&o.dir, "dir", "", "where the stores lie meanwhile (default the directory for temporary files)")
	flags.StringVar(&o.out, "out", "", "write the table to this `file` (default standard output)")
	flags.StringVar(&o.svg, "svg", "", "write the plot to this `file`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || o.keys < perSession || o.rounds < 1 || o.pace < 0 {
		return o, fmt.Errorf("want no arguments, at least %d keys and a round; see -help", perSession)
	}
	var err error
	for name := range strings.SplitSeq(stores, ",") {
		e, err := engineNamed(name)
		if err != nil {
			return o, err
		}
		o.engines = append(o.engines, e)
	}
	o.groups, err = parseGroups(lines)
	return o, err
}

// parentMain runs the rounds and writes the table and the plot.
func parentMain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	o.progress = stderr
	dir, m, err := workplace(ctx, o.dir)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	found, err := o.run(ctx, dir)
	if err != nil {
		return err
	}
	r := report{bench: o.bench, machine: m, figures: found.figures, date: time.Now().UTC(), args: args}
	if o.svg != "" {
		if err := os.WriteFile(o.svg, r.chart(), 0o644); err != nil {
			return err
		}
	}
	return write(r.markdown(), o.out, stdout)
}

// workplace makes a directory in another, for the caller to remove, and looks at the
// machine that it is on.
func workplace(ctx context.Context, parent string) (string, machine, error) {
	dir, err := os.MkdirTemp(parent, "crabstore-peers-")
	if err != nil {
		return "", machine{}, err
	}
	m, err := thisMachine(ctx, dir)
	if err != nil {
		return "", machine{}, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, m, nil
}

// write writes a report to a file, or to stdout where none is named.
func write(text []byte, path string, stdout io.Writer) error {
	if path == "" {
		_, err := stdout.Write(text)
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
