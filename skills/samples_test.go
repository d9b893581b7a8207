package skills

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv/memkv"
)

// TestSamples adds SKILL.md files from the wild and wants each back byte for byte,
// called as its folder is, with the text that the file has for a description.
func TestSamples(t *testing.T) {
	const dir = "../../shared/testdata/skills"
	files, err := filepath.Glob(dir + "/*/" + FileName)
	if err != nil || len(files) == 0 {
		t.Skip("no SKILL.md files in ../shared/testdata/skills, from the root of the repository")
	}
	ctx, s := context.Background(), memkv.New()
	report, err := AddDir(ctx, s, dir)
	if err != nil || len(report.Faults) > 0 || len(report.Skills) != len(files) {
		t.Fatalf("%d of %d files were added, faults %v, %v", len(report.Skills), len(files), report.Faults, err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(file))
		if body, err := Body(ctx, s, name); err != nil || !bytes.Equal(body, want) {
			t.Errorf("%s: %d bytes came back of %d, %v", name, len(body), len(want), err)
		}
		sum, err := Get(ctx, s, name)
		if err != nil || sum.Size != int64(len(want)) {
			t.Errorf("%+v, %v", sum, err)
		}
		// Folded, block and plain scalars differ in white space alone.
		words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
		header, _, _ := strings.Cut(strings.TrimPrefix(string(want), "---\n"), "\n---")
		if sum.Description == "" || !strings.Contains(words(header), words(sum.Description)) {
			t.Errorf("%s: description %q is not in\n%s", name, sum.Description, header)
		}
		for _, key := range []string{"allowed-tools", "license", "compatibility", "metadata"} {
			is := map[string]bool{"allowed-tools": sum.AllowedTools != nil, "license": sum.License != "", "compatibility": sum.Compatibility != "", "metadata": sum.Metadata != nil}
			if has := strings.Contains("\n"+header, "\n"+key+":"); has != is[key] {
				t.Errorf("%s: %s in the file: %t, in %+v", name, key, has, sum)
			}
		}
	}
}
