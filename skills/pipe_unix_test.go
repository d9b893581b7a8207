//go:build unix

package skills

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipe has a pipe for a file, which would be waited for if it were opened.
func TestPipe(t *testing.T) {
	dir := tree(t, map[string]string{"pipe/x": ""})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe", "SKILL.md"), 0o600); err != nil {
		t.Skip(err)
	}
	r, err := ScanDir(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	wantReport(t, dir, r, nil, [2]string{"pipe/SKILL.md", "it is no file"})
}
