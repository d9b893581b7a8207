package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv/crabkv"
	"github.com/crabstore/crabstore/sessions"
	"github.com/crabstore/crabstore/textsearch"
)

// vocabulary is how many words the made-up language of the messages has; they occur
// as often as words do, the n-th 1/n times as often as the first (Zipf).
const vocabulary = 50_000

func word(rank int) string {
	const letters = "etaoinshrdlucmfwypvbgkjqxz"
	var b strings.Builder
	for n := rank + 26; n > 0; n /= 26 {
		b.WriteByte(letters[n%26])
	}
	return b.String()
}

// message returns 50 words.
func message(r *rand.Rand) string {
	words := make([]string, 50)
	for i := range words {
		rank := int(math.Pow(vocabulary, r.Float64())) - 1 // log-uniform, which is Zipf's
		words[i] = word(rank)
	}
	return strings.Join(words, " ")
}

// fillSessions appends n messages of 50 words to sessions of 100.
func fillSessions(b *testing.B, ctx context.Context, s *crabkv.Store, n int) {
	b.Helper()
	r := rand.New(rand.NewPCG(10, 11))
	for from := 0; from < n; from += 2000 {
		check(b, sessions.Update(ctx, s, func(t *sessions.Batch) error {
			for i := from; i < min(from+2000, n); i++ {
				handle := fmt.Sprintf("%026d", i/100)
				if i%100 == 0 {
					if _, err := t.Create(ctx, sessions.Meta{Handle: handle, Agent: "bench", CreatedBy: "bench"}); err != nil {
						return err
					}
				}
				m := sessions.Message{Role: sessions.User, Blocks: []sessions.Block{{Type: sessions.Text, Text: message(r)}}}
				if _, err := t.Append(ctx, handle, m); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

func openCrab(b *testing.B) *crabkv.Store {
	b.Helper()
	s, err := crabkv.Open(filepath.Join(b.TempDir(), "store.crmem"), crabdb.Options{})
	check(b, err)
	b.Cleanup(func() { check(b, s.Close()) })
	return s
}

// BenchmarkIndex appends 10,000 messages of 50 words, text index included, a call.
func BenchmarkIndex(b *testing.B) {
	ctx := context.Background()
	for b.Loop() {
		fillSessions(b, ctx, openCrab(b), 10_000)
	}
	b.ReportMetric(float64(10_000*b.N)/b.Elapsed().Seconds(), "msgs/s")
}

// messagesToSearch is how many messages the benchmarks of search have: as many as the
// environment says, or 100,000.
func messagesToSearch(b *testing.B) int {
	b.Helper()
	text := os.Getenv("CRABSTORE_MESSAGES")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	check(b, err)
	return n
}

// BenchmarkSearch searches messages of 50 words in sessions of a hundred: the text
// index alone, and sessions with the windows around their best messages. Each search
// is for other words, and the 99th percentile is told beside the mean.
func BenchmarkSearch(b *testing.B) {
	ctx := context.Background()
	s := openCrab(b)
	fillSessions(b, ctx, s, messagesToSearch(b))
	st, err := s.Stats(ctx)
	check(b, err)
	b.Logf("%d keys, %d MiB file, %d MiB index", st.Keys, st.Bytes>>20, st.Memory>>20)
	rare := func(i int) string { return word(30_000 + i%10_000) }
	middling := func(i int) string { return word(1_000 + i%1_000) }
	common := func(i int) string { return word(10 + i%20) }
	for _, q := range []struct {
		name string
		text func(i int) string
	}{
		{"rare", rare}, {"middling", middling}, {"common", common},
		{"three", func(i int) string { return strings.Join([]string{rare(i), middling(i), common(i)}, " ") }},
		{"prefix", func(i int) string { return middling(i)[:3] + "*" }},
	} {
		b.Run("text/"+q.name, func(b *testing.B) {
			timed(b, func(i int) error {
				_, err := textsearch.Search(ctx, s, sessions.TextIndex, textsearch.Query{Text: q.text(i)})
				return err
			})
		})
		b.Run("sessions/"+q.name, func(b *testing.B) {
			timed(b, func(i int) error {
				_, err := sessions.Search(ctx, s, sessions.Query{Text: q.text(i)})
				return err
			})
		})
	}
}

// timed runs a benchmark and tells the median and the 99th percentile of its calls.
func timed(b *testing.B, call func(i int) error) {
	b.Helper()
	var times []time.Duration
	for i := 0; b.Loop(); i++ {
		before := time.Now()
		check(b, call(i))
		times = append(times, time.Since(before))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "µs-p50")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "µs-p99")
}
