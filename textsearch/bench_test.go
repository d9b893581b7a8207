package textsearch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// vocabulary makes n words whose frequencies fall as those of a language do, by
// Zipf's law, half of them with inflections.
func vocabulary(rng *rand.Rand, n int) func() string {
	words := make([]string, n)
	for i := range words {
		b := make([]byte, 3+rng.IntN(7))
		for j := range b {
			b[j] = "etaoinshrdlucmfwypvbgk"[rng.IntN(22)]
		}
		words[i] = string(b)
	}
	endings := []string{"", "", "", "s", "ed", "ing"}
	zipf := rand.NewZipf(rng, 1.1, 4, uint64(n-1))
	return func() string { return words[zipf.Uint64()] + endings[rng.IntN(len(endings))] }
}

// messages makes n texts of 50 words.
func messages(n int) []string {
	word := vocabulary(rand.New(rand.NewPCG(1, 2)), 20000)
	texts := make([]string, n)
	for i := range texts {
		words := make([]string, 50)
		for j := range words {
			words[j] = word()
		}
		texts[i] = strings.Join(words, " ")
	}
	return texts
}

func fill(tb testing.TB, s kv.KVStorage, texts []string) {
	tb.Helper()
	ctx := context.Background()
	const transaction = 1000
	for from := 0; from < len(texts); from += transaction {
		err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
			b, err := NewBatch(ctx, tx, "bench")
			if err != nil {
				return err
			}
			for i, text := range texts[from:min(from+transaction, len(texts))] {
				if err := b.Put(ctx, kv.Join("handle", fmt.Sprintf("%012d", from+i)), text, 1); err != nil {
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

// BenchmarkBatch indexes messages of 50 words, 1,000 in a transaction: into memory,
// into a file, and into nothing, which leaves the part of this package.
func BenchmarkBatch(b *testing.B) {
	texts := messages(1000)
	b.Run("memkv", func(b *testing.B) {
		for b.Loop() {
			fill(b, memkv.New(), texts)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(texts)), "ns/message")
	})
	b.Run("crabkv", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			s, err := crabkv.Open(filepath.Join(b.TempDir(), fmt.Sprint(i)), crabdb.Options{})
			if err != nil {
				b.Fatal(err)
			}
			fill(b, s, texts)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(texts)), "ns/message")
	})
	b.Run("nothing", func(b *testing.B) {
		for b.Loop() {
			fill(b, sink{kv.NewOverlay(memkv.New())}, texts)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(texts)), "ns/message")
	})
}

// sink is a transaction that keeps nothing.
type sink struct{ *kv.Overlay }

func (s sink) Put(context.Context, kv.Column, []byte, []byte) error { return nil }

func (s sink) Update(_ context.Context, fn func(kv.KVStorage) error) error { return fn(s) }

// BenchmarkPut indexes one message of 50 words in a transaction of its own.
func BenchmarkPut(b *testing.B) {
	texts := messages(1000)
	s := memkv.New()
	i := 0
	for b.Loop() {
		if err := Put(context.Background(), s, "bench", fmt.Sprint(i), texts[i%len(texts)], 1); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkDropPrefix drops 1,000 messages of 50 words among 2,000.
func BenchmarkDropPrefix(b *testing.B) {
	texts := messages(1000)
	s := memkv.New()
	fill(b, s, texts)
	for b.Loop() {
		b.StopTimer()
		err := kv.Update(context.Background(), s, func(tx kv.KVStorage) error {
			batch, err := NewBatch(context.Background(), tx, "bench")
			for i, text := range texts {
				if err == nil {
					err = batch.Put(context.Background(), fmt.Sprint("drop/", i), text, 1)
				}
			}
			return errors.Join(err, batch.Flush(context.Background()))
		})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if n, err := DropPrefix(context.Background(), s, "bench", "drop/"); n != len(texts) || err != nil {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(texts)), "ns/message")
}

// BenchmarkSearch asks an index of 20,000 messages.
func BenchmarkSearch(b *testing.B) {
	texts := messages(20000)
	s := memkv.New()
	fill(b, s, texts)
	common := strings.Fields(texts[0])[0]
	for _, q := range []struct{ name, text string }{
		{"rare", rarest(texts)}, {"common", common}, {"prefix", common[:2] + "*"}, {"ten words", strings.Join(strings.Fields(texts[1])[:10], " ")},
	} {
		b.Run(q.name, func(b *testing.B) {
			total := 0
			for b.Loop() {
				r, err := Search(context.Background(), s, "bench", Query{Text: q.text})
				if err != nil {
					b.Fatal(err)
				}
				total = r.Total
			}
			b.ReportMetric(float64(total), "matches")
		})
	}
}

func rarest(texts []string) string {
	count := map[string]int{}
	for _, text := range texts {
		for _, w := range strings.Fields(text) {
			count[w]++
		}
	}
	rare := ""
	for w, n := range count {
		if rare == "" || n < count[rare] || n == count[rare] && w < rare {
			rare = w
		}
	}
	return rare
}

// BenchmarkHighlight marks a word in a message of 50.
func BenchmarkHighlight(b *testing.B) {
	text := messages(1)[0]
	h, err := NewHighlighter(strings.Fields(text)[7], Settings{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		h.Spans(text)
	}
}
