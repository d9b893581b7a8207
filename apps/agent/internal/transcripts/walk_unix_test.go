//go:build unix

package transcripts

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe is not opened: no one may ever write to it.
func TestWalkPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.jsonl"), 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	put(t, dir, "s.jsonl", userLine(1, "x")+"\n")
	equal(t, "findings", findings(t, dir), []string{"pipe.jsonl not a session", "s.jsonl found claude-code lines"})
}
