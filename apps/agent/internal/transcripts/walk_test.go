package transcripts

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// findings walks below dir and tells each finding as "path status [member format layout]".
func findings(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	for f := range Walk(context.Background(), []string{dir}) {
		name, err := filepath.Rel(dir, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		s := filepath.ToSlash(name) + " " + string(f.Status)
		if f.Status == Found {
			s += " " + strings.TrimSpace(f.Source.Member+" "+string(f.Source.Format)+" "+string(f.Source.Layout))
		}
		out = append(out, s)
	}
	return out
}

func put(t testing.TB, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func gz(content string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(content))
	w.Close()
	return b.String()
}

func zst(content string) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return string(w.EncodeAll([]byte(content), nil))
}

func zipped(t testing.TB, members ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		m, err := w.Create(members[i])
		if err != nil {
			t.Fatal(err)
		}
		m.Write([]byte(members[i+1]))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What a file is, is told by its content: names and places say nothing here.
func TestWalkFindsByContent(t *testing.T) {
	dir := t.TempDir()
	user := userLine(1, "x") + "\n"
	codex := `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"c"}}` + "\n"
	chat := `[{"title":"t","mapping":{}}]`
	put(t, dir, "a/notes.txt", user)
	put(t, dir, "a/package.json", `{"name":"x","version":"1.0.0","type":"module","scripts":{}}`)
	put(t, dir, "a/data.jsonl", `{"id":1,"text":"a row"}`+"\n")
	put(t, dir, "a/events.jsonl", `{"type":"click","timestamp":"2026-01-01T00:00:00Z","sessionId":"web"}`+"\n")
	put(t, dir, "a/README.md", "# Sessions\n\n```\n{\"a\":1}\n```\n")
	put(t, dir, "a/empty.jsonl", "")
	put(t, dir, "a/blank.jsonl", "\n\n")
	put(t, dir, "a/binary", "\x7FELF\x02\x01\x01\x00\x00")
	put(t, dir, "b/damaged-first-line.jsonl", `"lost":1}`+"\n"+user)
	put(t, dir, "b/hole.jsonl", "\x00\x00\x00\n"+user)
	put(t, dir, "b/mark.jsonl", "\xEF\xBB\xBF"+user)
	put(t, dir, "b/long-first-line.jsonl", strings.Replace(user, `"x"`, `"`+strings.Repeat("y", 200<<10)+`"`, 1))
	put(t, dir, "b/late-type.jsonl", `{"parentUuid":null,"message":{"content":"`+strings.Repeat("z", 100<<10)+`"},"type":"user","uuid":"u"}`+"\n")
	put(t, dir, "c/r.zst", zst(codex))
	put(t, dir, "c/r.gz", gz(codex))
	put(t, dir, "c/r.jsonl.xz", "\xFD7zXZ\x00\x00\x04")
	put(t, dir, "c/other.tar.xz", "\xFD7zXZ\x00\x00\x04")
	put(t, dir, "d/export.zip", zipped(t, "chat.html", "<html>", "conversations-000.json", chat, "user.json", `{"id":"u"}`, "x/conversations-001.json", chat))
	put(t, dir, "d/other.zip", zipped(t, "a.txt", "x"))
	put(t, dir, "d/broken.zip", "PK\x03\x04garbage")
	put(t, dir, "d/other.db", "SQLite format 3\x00garbage")
	put(t, dir, "e/fragment.json", `{"role":"assistant","content":[{"type":"text","text":"x"}],"model":"m"}`)
	put(t, dir, "e/pretty.json", "{\n  \"title\": \"t\",\n  \"mapping\": {\n  }\n}\n")
	equal(t, "findings", strings.Join(findings(t, dir), "\n"), strings.Join([]string{
		"a/README.md not a session", "a/binary not a session", "a/blank.jsonl not a session", "a/data.jsonl not a session",
		"a/empty.jsonl empty", "a/events.jsonl not a session", "a/notes.txt found claude-code lines", "a/package.json not a session",
		"b/damaged-first-line.jsonl found claude-code lines", "b/hole.jsonl found claude-code lines",
		"b/late-type.jsonl found claude-code lines", "b/long-first-line.jsonl found claude-code lines", "b/mark.jsonl found claude-code lines",
		"c/other.tar.xz not a session", "c/r.gz found codex lines", "c/r.jsonl.xz unsupported", "c/r.zst found codex lines",
		"d/broken.zip not a session", "d/export.zip found conversations-000.json chatgpt document",
		"d/export.zip found x/conversations-001.json chatgpt document", "d/other.db not a session", "d/other.zip not a session",
		"e/fragment.json not a session", "e/pretty.json found chatgpt document",
	}, "\n"))
}

// Links are followed, but lead to no file or folder a second time, and to no loop.
func TestWalkLinks(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "real/s.jsonl", userLine(1, "x")+"\n")
	put(t, dir, "apart/t.jsonl", userLine(2, "x")+"\n")
	for name, target := range map[string]string{"real/loop": "..", "real/self": "self", "real/again": "s.jsonl", "real/z-folder": "../apart", "real/gone": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	equal(t, "findings", findings(t, filepath.Join(dir, "real")), []string{
		"again found claude-code lines", "gone unreadable", "loop/apart/t.jsonl found claude-code lines", "self unreadable"})
	// The same place given twice, and a place within another.
	n := 0
	for f := range Walk(context.Background(), []string{dir, filepath.Join(dir, "real"), filepath.Join(dir, "real", "s.jsonl"), dir}) {
		if f.Status == Found {
			n++
		}
	}
	equal(t, "found", n, 2)
}

func TestWalkTellsSizeAndTime(t *testing.T) {
	src := write(t, "s.jsonl", userLine(1, "x")+"\n")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(src.Path, at, at); err != nil {
		t.Fatal(err)
	}
	for f := range Walk(context.Background(), []string{src.Path}) {
		equal(t, "size and time", []any{f.Size, f.ModTime.UTC()}, []any{len(userLine(1, "x")) + 1, at})
	}
}

func TestWalkMissing(t *testing.T) {
	var got []Status
	for f := range Walk(context.Background(), []string{filepath.Join(t.TempDir(), "missing")}) {
		got = append(got, f.Status)
		if !os.IsNotExist(f.Err) {
			t.Errorf("got %v", f.Err)
		}
	}
	equal(t, "statuses", got, []Status{Unreadable})
}

func TestWalkUnreadable(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "closed.jsonl", userLine(1, "x")+"\n")
	if err := os.Chmod(filepath.Join(dir, "closed.jsonl"), 0); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(filepath.Join(dir, "closed.jsonl")); err == nil {
		f.Close()
		t.Skip("permissions do not hold for this user")
	}
	equal(t, "findings", findings(t, dir), []string{"closed.jsonl unreadable"})
}

// The pieces of an OpenCode tree are not looked at one by one.
func TestWalkOpenCodeTree(t *testing.T) {
	equal(t, "findings", findings(t, "testdata/opencode/storage"), []string{"session/p1/ses_000000000000000000000001.json found opencode tree"})
	equal(t, "findings", findings(t, "testdata/opencode/first"), []string{"storage/session/info/ses_1.json found opencode tree"})
	equal(t, "findings", findings(t, "testdata/opencode/storage/part/msg_000000000000000000000001"),
		[]string{"prt_01.json not a session", "prt_02.json not a session", "prt_03.json not a session"})
}

func TestWalkStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for range Walk(ctx, []string{"testdata"}) {
		n++
		cancel()
	}
	equal(t, "findings", n, 1)
	for range Walk(context.Background(), []string{"testdata"}) {
		break
	}
}

// Compressed files hold what the plain ones do, and are read once.
func TestCompressed(t *testing.T) {
	content := lineSources(t)["codex/rollout.jsonl"]
	want := mustRead(t, find(t, "testdata/codex/rollout.jsonl")).String()
	for name, packed := range map[string]string{"r.jsonl.zst": zst(content), "r.jsonl.gz": gz(content),
		"two-frames.zst": zst(content[:1000]) + zst(content[1000:]), "export.zip": zipped(t, "a/r.jsonl", content)} {
		t.Run(name, func(t *testing.T) {
			src := write(t, name, packed)
			l := mustRead(t, src)
			compare(t, l.String(), want)
			for range Read(context.Background(), src, stored(t, l.cursor), Options{}) {
				t.Error("a batch of an unchanged file")
			}
			// Cut short, it gives what there is, and an error.
			if err := os.WriteFile(src.Path, []byte(packed[:len(packed)-20]), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := newLibrary().read(t, src, Options{}); err == nil {
				t.Error("no error of a file that was cut short")
			}
		})
	}
}

func TestKnownPlaces(t *testing.T) {
	home := filepath.FromSlash("/home/me")
	places := func(env map[string]string) (out []string) {
		for _, p := range KnownPlaces(home, func(k string) string { return env[k] }) {
			out = append(out, fmt.Sprintf("%s %s", p.Format, filepath.ToSlash(p.Path)))
		}
		return out
	}
	equal(t, "by default", strings.Join(places(nil), "\n"), `claude-code /home/me/.claude/projects
claude-code /home/me/.config/claude/projects
codex /home/me/.codex/sessions
codex /home/me/.codex/archived_sessions
pi /home/me/.pi/agent/sessions
opencode /home/me/.local/share/opencode/opencode.db
opencode /home/me/.local/share/opencode/storage
opencode /home/me/.local/share/opencode/project`)
	equal(t, "moved", strings.Join(places(map[string]string{"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "PI_CODING_AGENT_DIR": "/p",
		"XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/e", "OPENCODE_DB": "/o.db"}), "\n"), `claude-code /c/projects
codex /x/sessions
codex /x/archived_sessions
pi /p/sessions
opencode /o.db
opencode /d/opencode/storage
opencode /d/opencode/project`)
	more := places(map[string]string{"PI_CODING_AGENT_SESSION_DIR": "/s", "PI_CODING_AGENT_DIR": "/p", "OPENCODE_DB": "beta.db"})
	for _, want := range []string{"pi /s", "opencode /home/me/.local/share/opencode/beta.db"} {
		if !slices.Contains(more, want) {
			t.Errorf("no %q in %v", want, more)
		}
	}
}
