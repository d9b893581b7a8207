package literal

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
)

// corpus returns the messages that bench/peers makes, or, without them, made-up ones.
func corpus(tb testing.TB) []string {
	tb.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		tb.Skip(err)
	}
	f, err := os.Open(filepath.Join(dir, "crabstore", "corpus.txt"))
	if err != nil {
		tb.Skip("no corpus: go run . corpus in bench/peers makes it")
	}
	defer f.Close()
	var messages []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		messages = append(messages, lines.Text())
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return messages
}

// fill stores messages and indexes them, 1,000 in a transaction.
func fill(tb testing.TB, s kv.KVStorage, messages []string, content bool) {
	tb.Helper()
	const each = 1000
	for from := 0; from < len(messages); from += each {
		err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
			b, err := NewBatch(ctx, tx, ix)
			if err != nil {
				return err
			}
			for i, text := range messages[from:min(from+each, len(messages))] {
				key := kv.Join("handle", fmt.Sprintf("%012d", from+i))
				if content {
					if err := tx.Put(ctx, kv.Archive, contentKey(tx, key), []byte(text)); err != nil {
						return err
					}
				}
				if err := b.Put(ctx, key, text); err != nil {
					return err
				}
			}
			return b.Flush(ctx)
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func openStore(tb testing.TB, path string) *crabkv.Store {
	tb.Helper()
	s, err := crabkv.Open(path, crabdb.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() }) // a second close does nothing
	return s
}

func sizeOf(tb testing.TB, path string) (size int64) {
	tb.Helper()
	all, err := filepath.Glob(path + "*")
	if err != nil {
		tb.Fatal(err)
	}
	for _, p := range all {
		err := filepath.Walk(p, func(_ string, info os.FileInfo, err error) error {
			if err == nil && info.Mode().IsRegular() {
				size += info.Size()
			}
			return err
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return size
}

// BenchmarkIndexCorpus indexes the corpus in bulk, and makes it small.
func BenchmarkIndexCorpus(b *testing.B) {
	messages := corpus(b)
	for i := 0; b.Loop(); i++ {
		path := filepath.Join(b.TempDir(), fmt.Sprint(i), "store.crmem")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		s := openStore(b, path)
		began := time.Now()
		fill(b, s, messages, false)
		took := time.Since(began)
		b.ReportMetric(float64(len(messages))/took.Seconds(), "docs/s")
		b.ReportMetric(float64(sizeOf(b, path))/(1<<20), "MiB-loaded")
		if err := Optimize(ctx, s, ix); err != nil {
			b.Fatal(err)
		}
		if err := s.Compact(ctx); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((time.Since(began) - took).Seconds(), "s-optimizing")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(sizeOf(b, path))/(1<<20), "MiB")
	}
}

// BenchmarkPutCorpus indexes messages of the corpus, each in a transaction of its own.
func BenchmarkPutCorpus(b *testing.B) {
	messages := corpus(b)
	s := openStore(b, filepath.Join(b.TempDir(), "store.crmem"))
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		if err := Put(ctx, s, ix, kv.Join("handle", fmt.Sprintf("%012d", i)), messages[i%len(messages)]); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	reportLatencies(b, took)
}

func reportLatencies(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	micros := func(part float64) float64 { return float64(took[int(part*float64(len(took)-1))].Nanoseconds()) / 1000 }
	b.ReportMetric(micros(0.5), "µs-p50")
	b.ReportMetric(micros(0.99), "µs-p99")
}

// BenchmarkSearchCorpus asks for parts of messages of 10 to 20 characters, of an index
// as loaded and of one made small.
func BenchmarkSearchCorpus(b *testing.B) {
	messages := corpus(b)
	s := openStore(b, filepath.Join(b.TempDir(), "store.crmem"))
	fill(b, s, messages, true)
	needles := literals(messages, 500)
	b.Run("loaded", func(b *testing.B) { benchmarkLiterals(b, s, needles) })
	if err := Optimize(ctx, s, ix); err != nil {
		b.Fatal(err)
	}
	b.Run("optimized", func(b *testing.B) { benchmarkLiterals(b, s, needles) })
}

func benchmarkLiterals(b *testing.B, s kv.KVStorage, needles []string) {
	var took []time.Duration
	hits := 0
	for b.Loop() {
		took, hits = took[:0], 0
		for _, needle := range needles {
			for round := range 4 {
				began := time.Now()
				r, err := Search(context.Background(), s, ix, Query{Text: needle}, stored)
				if err != nil {
					b.Fatal(err)
				}
				if round > 0 {
					took = append(took, time.Since(began))
					hits += len(r.Hits)
				}
			}
		}
	}
	reportLatencies(b, took)
	b.ReportMetric(float64(hits)/float64(len(took)), "hits")
}

// literals draws parts of messages.
func literals(messages []string, n int) []string {
	rng := rand.New(rand.NewPCG(2, 2))
	var all []string
	for len(all) < n {
		m, size := messages[rng.IntN(len(messages))], 10+rng.IntN(11)
		if len(m) < size {
			continue
		}
		start := rng.IntN(len(m) - size + 1)
		text := m[start : start+size]
		if strings.TrimSpace(text) == text && strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
			all = append(all, text)
		}
	}
	return all
}
