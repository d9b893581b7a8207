package skills

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// tree makes a folder of files; a content that begins with -> is a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if to, ok := strings.CutPrefix(content, "->"); ok {
			err = errors.Join(err, os.Symlink(to, path))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(content), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// wantReport compares a report with names, and with faults as path: reason, in
// their order.
func wantReport(t *testing.T, dir string, r Report, names []string, faults ...[2]string) {
	t.Helper()
	var got []string
	for _, s := range r.Skills {
		got = append(got, s.Name)
		if rel, err := filepath.Rel(dir, s.Source); err != nil || strings.HasPrefix(rel, "..") {
			t.Errorf("%s: source %s", s.Name, s.Source)
		}
	}
	if !slices.Equal(got, names) {
		t.Errorf("skills %q, want %q", got, names)
	}
	if len(r.Faults) != len(faults) {
		t.Errorf("faults %v, want %v", r.Faults, faults)
		return
	}
	for i, want := range faults {
		if f := r.Faults[i]; f.Source != filepath.Join(dir, want[0]) || !strings.Contains(f.Error(), want[1]) {
			t.Errorf("fault %v, want %s: …%s…", f, want[0], want[1])
		}
	}
}

func TestScanDir(t *testing.T) {
	dir := tree(t, map[string]string{
		"b/SKILL.md":              file("name: b", "description: d"),
		"b/references/SKILL.md":   file("name: inside-b"),
		"a/deep/down/skill.md":    file("description: named by its folder"),
		"c/SKILL.md":              "not a skill",
		"c/README.md":             "x",
		".system/d/SKILL.md":      file("name: d", "description: Use when: asked", "allowed-tools: Read"),
		".git/e/SKILL.md":         file("name: e"),
		"node_modules/f/SKILL.md": file("name: f"),
		"g/SKILL.md/h":            "SKILL.md is a folder",
	})
	r, err := ScanDir(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	wantReport(t, dir, r, []string{"d", "down", "b"}, [2]string{"c/SKILL.md", ":1: the file does not begin"}, [2]string{"g/SKILL.md", "it is no file"})
	if d := r.Skills[0]; !slices.Equal(d.AllowedTools, []string{"Read"}) {
		t.Errorf("got %+v", d)
	}

	r, err = ScanDir(context.Background(), filepath.Join(dir, "b")) // the folder of one skill
	if err != nil {
		t.Fatal(err)
	}
	wantReport(t, filepath.Join(dir, "b"), r, []string{"b"})

	if _, err := ScanDir(context.Background(), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a folder that is not there: %v", err)
	}
	if _, err := ScanDir(context.Background(), filepath.Join(dir, "b/SKILL.md")); err == nil {
		t.Error("of a file: no error")
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ScanDir(ended, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context ended: %v", err)
	}
}

// TestE07_LinksOutOfTheTree has links to skills, and to one file of one, outside.
func TestE07_LinksOutOfTheTree(t *testing.T) {
	outside := tree(t, map[string]string{"evil/SKILL.md": file("name: evil", "description: d")})
	dir := tree(t, map[string]string{
		"absolute":            "->" + filepath.Join(outside, "evil"),
		"dangling":            "->nowhere",
		"file/SKILL.md":       "->" + filepath.Join(outside, "evil", "SKILL.md"),
		"good/SKILL.md":       file("name: good"),
		"inside":              "->good",
		"loop":                "->loop",
		"relative":            "->../" + filepath.Base(outside) + "/evil",
		"shared/SKILL.md":     "->../text.md",
		"text.md":             file("name: shared"),
		"up":                  "->..",
		"within/good":         "->../good",
		"within/here":         "->.",
		"within/m/SKILL.md":   file("name: m"),
		"within/m/n/SKILL.md": "->" + filepath.Join(outside, "evil", "SKILL.md"), // m's own, and not read
	})
	r, err := ScanDir(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	out := "out of the folder"
	wantReport(t, dir, r, []string{"good", "shared", "m"},
		[2]string{"absolute", out}, [2]string{"dangling", out}, [2]string{"file/SKILL.md", "escapes"}, [2]string{"loop", out}, [2]string{"relative", out}, [2]string{"up", out})
}

// TestE07_Clashes has two skills of one name, names that differ by case alone, and
// two files in one folder.
func TestE07_Clashes(t *testing.T) {
	dir := tree(t, map[string]string{
		"1/SKILL.md": file("name: same", "description: first"),
		"2/SKILL.md": file("name: same", "description: second"),
		"3/SKILL.md": file("name: SAME", "description: third"),
		"4/SKILL.md": file("name: other"),
	})
	faults := [][2]string{{"2/SKILL.md", filepath.Join(dir, "1/SKILL.md") + ` is called "same" too`}, {"3/SKILL.md", "differs by case alone"}}
	ctx, s := context.Background(), memkv.New()
	for range 2 { // adding again changes nothing
		r, err := AddDir(ctx, s, dir)
		if err != nil {
			t.Fatal(err)
		}
		wantReport(t, dir, r, []string{"same", "other"}, faults...)
		for _, f := range r.Faults {
			if !errors.Is(f, ErrExists) {
				t.Errorf("%v is no ErrExists", f)
			}
		}
	}
	if got, err := Get(ctx, s, "same"); err != nil || got.Description != "first" {
		t.Errorf("Get = %+v, %v", got, err)
	}
	if runtime.GOOS == "linux" { // elsewhere two such files may be one
		dir := tree(t, map[string]string{"a/SKILL.md": file("name: a"), "a/skill.md": file("name: b")})
		r, err := ScanDir(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		wantReport(t, dir, r, nil, [2]string{"a/SKILL.md", "skill.md is there too"})
	}
}

// TestAddDir adds what can be added, whatever cannot.
func TestAddDir(t *testing.T) {
	ctx, s := context.Background(), memkv.New()
	add1(t, s, file("name: taken", "description: another"), "elsewhere/SKILL.md")
	dir := tree(t, map[string]string{
		"a/SKILL.md":     file("name: a"),
		"bad/SKILL.md":   file("name: ../evil"),
		"c/SKILL.md":     file("name: c"),
		"taken/SKILL.md": file("name: taken"),
	})
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(wd, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, relative, dir + "/./"} { // it is the same source
		r, err := AddDir(ctx, s, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range r.Skills {
			if sum.UpdatedAt.IsZero() {
				t.Errorf("the report has %+v, which is not as it was stored", sum)
			}
		}
		wantReport(t, dir, r, []string{"a", "c"}, [2]string{"bad/SKILL.md", ":2: the name"}, [2]string{"taken/SKILL.md", "from elsewhere/SKILL.md"})
	}
	wantNames(t, s, "a", "c", "taken")
	body, err := Body(ctx, s, "c")
	if err != nil || string(body) != file("name: c") {
		t.Errorf("Body = %q, %v", body, err)
	}
	if _, err := AddDir(ctx, kv.ReadOnly(s), dir); !errors.Is(err, kv.ErrReadOnly) {
		t.Errorf("into a store that is read-only: %v", err)
	}
}

func TestFileThatIsTooLong(t *testing.T) {
	dir := tree(t, map[string]string{"big/SKILL.md": file("name: big") + strings.Repeat("x", MaxSize)})
	r, err := ScanDir(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	wantReport(t, dir, r, nil, [2]string{"big/SKILL.md", "more than"})
}
