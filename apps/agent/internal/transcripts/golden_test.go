package transcripts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// goldenSources are our own small transcripts, with what they mean, written by hand, beside them.
var goldenSources = map[string]string{ // source, below testdata: golden
	"claude/main.jsonl":      "claude/main.golden",
	"claude/sidechain.jsonl": "claude/sidechain.golden",
	"claude/fork.jsonl":      "claude/fork.golden",
	"claude/33333333-2222-4333-8444-555555555555/subagents/agent-a1b2.jsonl": "claude/33333333-2222-4333-8444-555555555555/subagents/agent-a1b2.golden",
	"claude/action.json":         "claude/action.golden",
	"codex/rollout.jsonl":        "codex/rollout.golden",
	"codex/first.jsonl":          "codex/first.golden",
	"codex/document.json":        "codex/document.golden",
	"codex/subagent.jsonl":       "codex/subagent.golden",
	"pi/v1.jsonl":                "pi/v1.golden",
	"pi/v3.jsonl":                "pi/v3.golden",
	"opencode/storage":           "opencode/storage.golden",
	"opencode/first":             "opencode/first.golden",
	"opencode/events.jsonl":      "opencode/events.golden",
	"opencode/export.json":       "opencode/export.golden",
	"chatgpt/conversations.json": "chatgpt/conversations.golden",
	"turns/turns.jsonl":          "turns/turns.golden",
}

func TestGolden(t *testing.T) {
	for name, golden := range goldenSources {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", golden))
			if err != nil {
				t.Fatal(err)
			}
			l := mustRead(t, find(t, filepath.Join("testdata", name)))
			compare(t, l.String(), string(want))
		})
	}
}

// compare tells the first line that differs.
func compare(t testing.TB, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("line %d:\n got %s\nwant %s\n\nall of it:\n%s", i+1, a, b, got)
		}
	}
}

// lineSources are the golden sources that are lines, with their content.
func lineSources(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name := range goldenSources {
		if strings.HasSuffix(name, ".jsonl") {
			b, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			out[name] = string(b)
		}
	}
	return out
}
