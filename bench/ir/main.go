// Command ir measures how well text search ranks: it indexes a test collection,
// asks its queries and compares the answers with what people judged relevant.
//
//	go run ./bench/ir [-k1 1.2] [-b 0.75] [-language english] [-stem=true] FOLDER…
//
// A folder holds corpus.jsonl (a line {"id": …, "text": …} for each document),
// queries.tsv (id, tab, text) and qrels.txt (query, 0, document, grade). Printed
// are the mean average precision, nDCG at 10 and precision at 30, over the queries
// that have a relevant document, as trec_eval computes them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/textsearch"
)

// depth is how many hits of a query are judged, as is usual for these collections.
const depth = 1000

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "ir:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	var set textsearch.Settings
	flags := flag.NewFlagSet("ir", flag.ContinueOnError)
	flags.Float64Var(&set.K1, "k1", textsearch.DefaultK1, "how much more a word counts that occurs more often")
	flags.Float64Var(&set.B, "b", textsearch.DefaultB, "how much length is taken into account")
	flags.StringVar(&set.Language, "language", "english", "language of stems and stopwords")
	stem := flags.Bool("stem", true, "find inflections and leave out stopwords; false is -language none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("name one folder or more with corpus.jsonl, queries.tsv and qrels.txt")
	}
	if !*stem {
		set.Language = "none"
	}
	set.K1, set.B = literal(set.K1), literal(set.B)
	fmt.Fprintf(out, "k1 %v, b %v, language %s\n", max(set.K1, 0), max(set.B, 0), set.Language)
	for _, dir := range flags.Args() {
		if err := report(context.Background(), out, dir, set); err != nil {
			return err
		}
	}
	return nil
}

// literal makes a zero on the command line one, and not the default.
func literal(n float64) float64 {
	if n == 0 {
		return -1
	}
	return n
}

// tuned is a store with settings of its own.
type tuned struct {
	kv.KVStorage
	settings textsearch.Settings
}

func (s tuned) Unwrap() kv.KVStorage              { return s.KVStorage }
func (s tuned) TextSettings() textsearch.Settings { return s.settings }

func (s tuned) Update(ctx context.Context, fn func(kv.KVStorage) error) error {
	return kv.Update(ctx, s.KVStorage, func(tx kv.KVStorage) error { return fn(tuned{tx, s.settings}) })
}

func (s tuned) View(ctx context.Context, fn func(kv.KVStorage) error) error {
	return kv.View(ctx, s.KVStorage, func(tx kv.KVStorage) error { return fn(tuned{tx, s.settings}) })
}

// report prints the figures of one collection.
func report(ctx context.Context, out io.Writer, dir string, set textsearch.Settings) error {
	c, err := readCollection(dir)
	if err != nil {
		return err
	}
	f, err := c.measure(ctx, set)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: MAP %.4f, nDCG@10 %.4f, P@30 %.4f over %d queries; %d documents indexed in %v, a query %v\n",
		dir, f.averagePrecision, f.ndcg10, f.precision30, f.queries,
		len(c.documents), f.indexing.Round(time.Millisecond), f.asking.Round(time.Microsecond))
	for _, note := range c.notes {
		fmt.Fprintf(out, "    %s\n", note)
	}
	return nil
}

// figures are what was measured of a collection.
type figures struct {
	metrics                // means
	indexing time.Duration // of all documents
	asking   time.Duration // one query, on average
}

// measure indexes a collection and asks its queries.
func (c *collection) measure(ctx context.Context, set textsearch.Settings) (f figures, err error) {
	s := tuned{memkv.New(), set}
	start := time.Now()
	if err := index(ctx, s, c.documents); err != nil {
		return f, err
	}
	f.indexing = time.Since(start)
	start = time.Now()
	for _, q := range c.queries {
		hits, err := ask(ctx, s, q.text)
		if err != nil {
			return f, err
		}
		f.add(hits, c.judgments[q.id])
	}
	f.asking = time.Since(start) / time.Duration(max(len(c.queries), 1))
	f.metrics = f.mean()
	return f, nil
}

func index(ctx context.Context, s kv.KVStorage, documents []document) error {
	return kv.Update(ctx, s, func(tx kv.KVStorage) error {
		b, err := textsearch.NewBatch(ctx, tx, "ir")
		if err != nil {
			return err
		}
		for _, d := range documents {
			if err := b.Put(ctx, d.ID, d.Text, 1); err != nil {
				return err
			}
		}
		return b.Flush(ctx)
	})
}

func ask(ctx context.Context, s kv.KVStorage, query string) ([]string, error) {
	r, err := textsearch.Search(ctx, s, "ir", textsearch.Query{Text: query, Limit: depth})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(r.Hits))
	for i, h := range r.Hits {
		ids[i] = h.Key
	}
	return ids, nil
}
