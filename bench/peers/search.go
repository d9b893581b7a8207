package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// searchBench is what is to be measured of search.
type searchBench struct {
	indexers []indexer
	corpus   string
	messages int
	commits  int
	queries  int // of each kind
	rounds   int
	progress io.Writer
}

func parseSearchFlags(args []string, stderr io.Writer) (b searchBench, dir, out string, err error) {
	var names []string
	for _, e := range indexers() {
		names = append(names, e.name)
	}
	flags := flag.NewFlagSet("peers search", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&b.corpus, "corpus", defaultCorpus(), "the messages, one a line, as go run . corpus makes them")
	flags.IntVar(&b.messages, "n", 200_000, "how many messages are indexed")
	flags.IntVar(&b.commits, "commits", 20_000, "how many are indexed one a commit; durably, a tenth")
	flags.IntVar(&b.queries, "queries", 200, "how many queries of each kind are drawn")
	flags.IntVar(&b.rounds, "rounds", 3, "how many rounds the medians are of")
	engines := flags.String("engines", strings.Join(names, ","), "which engines")
	flags.StringVar(&dir, "dir", "", "where the indexes lie meanwhile (default the directory for temporary files)")
	flags.StringVar(&out, "out", "", "write the table to this `file` (default standard output)")
	if err := flags.Parse(args); err != nil {
		return b, "", "", err
	}
	if flags.NArg() > 0 || b.messages < perSession || b.commits < 1 || b.queries < 1 || b.rounds < 1 {
		return b, "", "", fmt.Errorf("want no arguments, at least %d messages, a commit, a query and a round; see -help", perSession)
	}
	for name := range strings.SplitSeq(*engines, ",") {
		e, err := indexerNamed(name)
		if err != nil {
			return b, "", "", err
		}
		b.indexers = append(b.indexers, e)
	}
	return b, dir, out, nil
}

// searchMain runs the comparison of search and writes its table.
func searchMain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	b, parent, out, err := parseSearchFlags(args, stderr)
	if err != nil {
		return err
	}
	b.progress = stderr
	dir, m, err := workplace(ctx, parent)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	found, err := b.run(ctx, dir)
	if err != nil {
		return err
	}
	r := b.report(m, found.figures, time.Now().UTC(), args)
	return write(r.markdown(), out, stdout)
}

// run draws the queries and gives every engine its turn, as often as there are
// rounds, in directories under dir.
func (b *searchBench) run(ctx context.Context, dir string) (findings, error) {
	found := findings{figures{}, map[string]origin{}}
	path := filepath.Join(dir, "queries.json")
	if err := b.writeQueries(path); err != nil {
		return found, err
	}
	rounds := bench{rounds: b.rounds, progress: b.progress}
	for round := range b.rounds {
		for _, e := range b.indexers {
			var turn []job
			for _, s := range searchStages {
				turn = append(turn, job{Store: e.name, Stage: s.name,
					Search: &searchJob{b.corpus, b.messages, b.commits, path}})
			}
			if err := rounds.take(ctx, round, turn, dir, found); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

func (b *searchBench) writeQueries(path string) error {
	messages, err := readMessages(b.corpus, b.messages)
	if err != nil {
		return err
	}
	queries, err := drawQueries(messages, b.queries)
	if err != nil {
		return err
	}
	text, err := json.Marshal(queries)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
