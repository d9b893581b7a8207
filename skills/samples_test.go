package skills

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/crabstore/crabstore/kv/memkv"
)

// TestSamples reads SKILL.md files from the wild.
func TestSamples(t *testing.T) {
	files, _ := filepath.Glob("../../shared/testdata/skills/*/SKILL.md")
	if len(files) == 0 {
		t.Skip("no ../shared/testdata/skills here")
	}
	ctx, s := context.Background(), memkv.New()
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := Add(ctx, s, body, file)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		t.Logf("%+v", sum)
		if back, err := Body(ctx, s, sum.Name); err != nil || !bytes.Equal(back, body) {
			t.Errorf("%s: %d bytes came back of %d, %v", file, len(back), len(body), err)
		}
	}
}
