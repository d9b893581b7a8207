package samples

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
)

// Every sample is read without a fault, whole, and under a name that does not tell
// where it was extracted.
func TestSamplesAreRead(t *testing.T) {
	dir, remove, err := Extract()
	defer remove()
	if err != nil {
		t.Fatal(err)
	}
	formats := map[transcripts.Format]int{}
	for f := range transcripts.Walk(context.Background(), []string{dir}) {
		if f.Status != transcripts.Found {
			if !strings.HasSuffix(f.Path, ".meta.json") {
				t.Errorf("%s: %s %s", f.Path, f.Status, f.Reason)
			}
			continue
		}
		formats[f.Source.Format]++
		if name := Name(dir, f.Source.Path); !strings.HasPrefix(name, "sample:") || strings.Contains(name, dir) {
			t.Errorf("%s is called %q", f.Source.Path, name)
		}
		for b, err := range transcripts.Read(context.Background(), f.Source, transcripts.Cursor{}, transcripts.Options{}) {
			if err != nil || len(b.Skips) > 0 || len(b.Unknown) > 0 || b.Unread > 0 {
				t.Errorf("%s: %v, skips %v, unknown %v", f.Path, err, b.Skips, b.Unknown)
			}
		}
	}
	for format, want := range map[transcripts.Format]int{transcripts.ClaudeCode: 2, transcripts.Codex: 1, transcripts.Pi: 1, transcripts.OpenCode: 1} {
		if formats[format] != want {
			t.Errorf("%d samples of %s, want %d", formats[format], format, want)
		}
	}
	remove()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	if other := filepath.Join(t.TempDir(), "x"); Name(dir, other) != other {
		t.Error("a file from elsewhere passes for a sample")
	}
}
