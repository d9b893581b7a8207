package sessions_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
)

// benchVocabulary makes words whose frequencies fall as those of a language do.
type benchVocabulary struct {
	rng  *rand.Rand
	zipf *rand.Zipf
}

func newVocabulary(seed uint64) *benchVocabulary {
	rng := rand.New(rand.NewPCG(seed, 7))
	return &benchVocabulary{rng, rand.NewZipf(rng, 1.1, 3, 30_000)}
}

func (v *benchVocabulary) text(words int) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		n := v.zipf.Uint64()
		for n++; n > 0; n /= 26 {
			b.WriteString([]string{"ta", "re", "mi", "so", "lu", "ne", "ko", "di", "pa", "fe", "gu", "ha", "ji", "ba", "vo", "xe", "za", "ri", "to", "qu", "wa", "ye", "no", "la", "sti", "che"}[n%26])
		}
	}
	return b.String()
}

// conversation makes messages in the proportions of a coding agent's transcript:
// of five, one of the user, two of the assistant with a call each, two results.
func (v *benchVocabulary) conversation(n int) []sessions.Message {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	msgs := make([]sessions.Message, n)
	for i := range msgs {
		m := sessions.Message{ID: fmt.Sprintf("m-%d", i), At: at.Add(time.Duration(i) * time.Second)}
		call := fmt.Sprintf("call-%d", i/2)
		switch i % 5 {
		case 0:
			m.Role, m.Blocks = sessions.User, []sessions.Block{{Type: sessions.Text, Text: v.text(50)}}
		case 1, 3:
			m.Role, m.Model, m.Usage = sessions.Assistant, "anthropic/sonnet", &sessions.Usage{Input: 1000, Output: 200}
			m.Blocks = []sessions.Block{
				{Type: sessions.Text, Text: v.text(50)},
				{Type: sessions.ToolUse, ID: call, Name: "read_file", Input: []byte(`{"path":"src/kv/key.go","limit":200}`)},
			}
		default:
			m.Role, m.Blocks = sessions.Tool, []sessions.Block{{Type: sessions.ToolResult, ID: call, Text: v.text(100)}}
		}
		msgs[i] = m
	}
	return msgs
}

func BenchmarkAppendOne(b *testing.B) {
	ctx, s := b.Context(), memkv.New()
	msgs := newVocabulary(1).conversation(1000)
	m := mustCreate(b, s, sessions.Meta{Agent: "bench"})
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		if _, err := sessions.Append(ctx, s, m.Handle, msgs[i%len(msgs)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendBatch1000(b *testing.B) {
	ctx, s := b.Context(), memkv.New()
	msgs := newVocabulary(1).conversation(1000)
	m := mustCreate(b, s, sessions.Meta{Agent: "bench"})
	b.ResetTimer()
	for b.Loop() {
		if _, err := sessions.Append(ctx, s, m.Handle, msgs...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/msg")
}
