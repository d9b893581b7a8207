package transcripts

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sharedTranscripts are files that other programs wrote or ship as examples.
const sharedTranscripts = "../../../../../shared/testdata/transcripts"

// sharedQuiet are the sessions in which nothing is said: of three Codex versions, token counts
// alone.
var sharedQuiet = []string{"codex/codex_050_legacy.jsonl", "codex/codex_051_usage.jsonl", "codex/codex_052_raw.jsonl"}

// sharedOther are the files that are no session, or none by themselves.
var sharedOther = []string{
	"chatgpt-export/SOURCES.md", "claude-code/SOURCES.md", "codex/SOURCES.md", "opencode/SOURCES.md", "pi/SOURCES.md",
	"claude-code/as-subagent/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f/subagents/agent-a0ad4f44468bdf20d.meta.json",
	"opencode/storage_v2/migration",
	"pi/assistant-message-with-thinking-code.json", // one message, with nothing that says of which session
}

// sharedWords are rare words of users, one or more of each kind of file, read off the files.
var sharedWords = map[string]string{
	"chatgpt-export/export-studio-conversations.json":                   "beginner projects",
	"claude-code/replay-demo-session.jsonl":                             "built-in node test runner",
	"claude-code/replay-system-tags.jsonl":                              "Actual user message",
	"claude-code/as-small.jsonl":                                        "Hello",
	"claude-code/simonw-sample_session.jsonl":                           "goodbye function",
	"codex/fixture-codex.jsonl":                                         "fix the typo",
	"codex/fixture-codex-patch.jsonl":                                   "multi-file patch",
	"codex/agentsview-standard_session.jsonl":                           "rate limiting",
	"codex/as-small.jsonl":                                              "List the files",
	"opencode/storage_legacy/session/proj_test/ses_s_stage0_drift.json": "Open README",
	"opencode/storage_v2/session/proj_test/ses_s_stage0_small.json":     "Hello",
	"pi/as-small.jsonl":                                                 "concise follow-up",
	"pi/before-compaction.jsonl":                                        "one big mess",
}

// Every shared file that is a session yields messages, nothing is skipped, nothing fails, and a
// second reading finds nothing new.
func TestSharedTranscripts(t *testing.T) {
	if _, err := os.Stat(sharedTranscripts); err != nil {
		t.Skip("no shared transcripts here")
	}
	sources, empty := 0, 0
	ids := map[string]string{} // of messages: the file that has it
	for f := range Walk(context.Background(), []string{sharedTranscripts}) {
		name, err := filepath.Rel(sharedTranscripts, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.ToSlash(name)
		switch f.Status {
		case Found:
			sources++
			for _, id := range readShared(t, name, f.Source).order {
				key := string(f.Source.Format) + " " + id
				if other, same := ids[key]; same { // no file here is a copy of another, so it would be lost
					t.Errorf("%s and %s both have message %s", other, name, id)
				}
				ids[key] = name
			}
		case Empty:
			empty++
		default:
			if f.Status != NotSession || !slices.Contains(sharedOther, name) {
				t.Errorf("%s: %s: %s", name, f.Status, f.Reason)
			}
		}
	}
	equal(t, "sources", sources, 56) // of 74 files: 8 are others, 1 is empty, 9 are pieces of OpenCode trees
	equal(t, "empty", empty, 1)
}

func readShared(t *testing.T, name string, src Source) *library {
	t.Helper()
	l := newLibrary()
	if err := l.read(t, src, Options{}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if quiet := slices.Contains(sharedQuiet, name); quiet != (len(l.messages) == 0) || len(l.sessions) == 0 {
		t.Errorf("%s: %d sessions, %d messages", name, len(l.sessions), len(l.messages))
	}
	for _, s := range l.skips {
		t.Errorf("%s: skipped line %d: %s", name, s.Line, s.Reason)
	}
	if len(l.unknown) > 0 {
		t.Errorf("%s: unknown %v", name, l.unknown)
	}
	if l.unread > 0 {
		t.Errorf("%s: %d bytes unread", name, l.unread)
	}
	if word := sharedWords[name]; word != "" && !strings.Contains(strings.Join(l.texts(), "\n"), word) {
		t.Errorf("%s: no user said %q", name, word)
	}
	for m := range l.messages {
		if _, ok := l.sessions[l.messages[m].SessionID]; !ok {
			t.Errorf("%s: message %s is of no session", name, m)
		}
	}
	for b, err := range Read(context.Background(), src, stored(t, l.cursor), Options{}) {
		t.Errorf("%s: a second reading yields %d messages, %v", name, len(b.Messages), err)
	}
	return l
}
