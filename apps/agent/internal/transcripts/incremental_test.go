package transcripts

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stored is the cursor after a trip through a store.
func stored(t testing.TB, c Cursor) Cursor {
	t.Helper()
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var out Cursor
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// cuts are the places around the ends of lines, and others strewn between: all of them take a
// minute, and were tried.
func cuts(content string) (out []int) {
	step := 29
	if testing.Short() {
		step = 211
	}
	for i := range len(content) + 1 {
		near := content[max(0, i-2):min(len(content), i+2)]
		if i%step == 0 || strings.Contains(near, "\n") {
			out = append(out, i)
		}
	}
	return out
}

// A file that is read while it grows, cut anywhere, gives what it gives at once; and reading it
// once more adds nothing.
func TestF01_CutAnywhere(t *testing.T) {
	for name, content := range lineSources(t) {
		t.Run(name, func(t *testing.T) {
			src := find(t, filepath.Join("testdata", name))
			want := mustRead(t, src).String()
			src.Path = filepath.Join(t.TempDir(), filepath.Base(name))
			for _, cut := range cuts(content) {
				l := newLibrary()
				for _, part := range []string{content[:cut], content, content} {
					if err := os.WriteFile(src.Path, []byte(part), 0o600); err != nil {
						t.Fatal(err)
					}
					if err := l.read(t, src, Options{}); err != nil && cut > 0 {
						t.Fatalf("cut at %d: %v", cut, err)
					}
					l.cursor = stored(t, l.cursor)
				}
				// What only the folder says (a subagent's parent, its description) is the same folder's here too.
				if got := l.String(); got != want && !strings.Contains(name, "subagents") {
					t.Fatalf("cut at %d:\n%s\nwant\n%s", cut, got, want)
				}
				if l.restarts != 0 {
					t.Fatalf("cut at %d: restarted", cut)
				}
			}
		})
	}
}

// An importer that is killed after any batch, and goes on from the cursor of that batch, comes to
// the same.
func TestF01_KilledAfterEveryBatch(t *testing.T) {
	for name := range lineSources(t) {
		t.Run(name, func(t *testing.T) {
			src := find(t, filepath.Join("testdata", name))
			want := mustRead(t, src).String()
			l := newLibrary()
			for range 1000 {
				before := l.batches
				for b, err := range Read(context.Background(), src, stored(t, l.cursor), Options{batch: 1}) {
					if err != nil {
						t.Fatal(err)
					}
					l.apply(b)
					break
				}
				if l.batches == before {
					break
				}
			}
			compare(t, l.String(), want)
		})
	}
}

func TestF01_HalfLastLine(t *testing.T) {
	line := func(id int, text string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"00000000-0000-4000-8000-%012d","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":%q}}`+"\n", id, text)
	}
	first, second := line(1, "ein"), line(2, "zwei Füße")
	inside := strings.Index(second, "ü") + 1 // between the two bytes of ü
	src := write(t, "s.jsonl", first+second[:inside])
	l := newLibrary()
	read := func(wantRecords int, wantUnread int64) {
		t.Helper()
		l.unread = 0
		if err := l.read(t, src, Options{}); err != nil {
			t.Fatal(err)
		}
		l.cursor = stored(t, l.cursor)
		equal(t, "records", l.records, wantRecords)
		equal(t, "unread", l.unread, wantUnread)
	}
	read(1, int64(inside))
	equal(t, "cursor", l.cursor.Offset, len(first))
	put := func(content string) {
		t.Helper()
		if err := os.WriteFile(src.Path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(first + second)
	read(2, 0)
	equal(t, "cursor", l.cursor.Offset, len(first)+len(second))
	read(2, 0)
	equal(t, "texts", l.texts(), []string{"ein", "zwei Füße"})

	// A last line without its newline is taken when it is whole, and is not taken again.
	third := line(3, "drei")
	put(first + second + strings.TrimSuffix(third, "\n"))
	read(3, 0)
	put(first + second + third)
	read(3, 0)
	put(first + second + third + line(4, "vier"))
	read(4, 0)
	equal(t, "texts", l.texts(), []string{"ein", "zwei Füße", "drei", "vier"})
	equal(t, "skips", len(l.skips), 0)
}

// A writer that puts no newline behind a record, and goes on right behind it: nothing is lost,
// nothing is twice, and lines are counted as the file has them.
func TestF01_NoNewlineBetween(t *testing.T) {
	reply := func(uuid int, text string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":"00000000-0000-4000-8000-%012d","sessionId":"s","message":{"id":"msg_0000000000000001","content":[{"type":"text","text":%q}]}}`, uuid, text)
	}
	for what, c := range map[string]struct {
		before string
		skips  []string
	}{
		"whole at once": {"", nil},
		"behind a hole": {"\xEF\xBB\xBF \x00", []string{"line 1 offset 4"}}, // such a line waits for its end
	} {
		t.Run(what, func(t *testing.T) {
			src := Source{Path: filepath.Join(t.TempDir(), "s"), Format: ClaudeCode, Layout: Lines}
			l, content := newLibrary(), c.before
			for _, p := range []string{reply(1, "a"), reply(2, "b"), " " + reply(3, "c"), "\n" + reply(4, "d"), reply(5, "e") + "\n", "damaged\n"} {
				content += p
				if err := os.WriteFile(src.Path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := l.read(t, src, Options{}); err != nil {
					t.Fatal(err)
				}
				l.cursor = stored(t, l.cursor)
			}
			equal(t, "texts", l.texts(), []string{"a", "b", "c", "d", "e"})
			equal(t, "messages", len(l.messages), 1)
			equal(t, "records", l.records, 5)
			var skips []string
			for _, s := range l.skips {
				skips = append(skips, fmt.Sprintf("line %d offset %d", s.Line, s.Offset))
			}
			equal(t, "skips", skips, append(c.skips, fmt.Sprintf("line 3 offset %d", len(content)-8)))
		})
	}
}

func TestF01_TruncatedOrReplaced(t *testing.T) {
	line := func(id int, text string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"00000000-0000-4000-8000-%012d","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":%q}}`+"\n", id, text)
	}
	whole := line(1, "a") + line(2, "b") + line(3, "c")
	middle := line(5, strings.Repeat("middle ", 2000)) // longer than what is hashed of either end
	for what, next := range map[string]string{
		"long, other head":          line(1, "x") + middle + line(3, "c"),
		"long, other tail":          line(1, "a") + middle + line(3, "x"),
		"truncated":                 line(1, "a"),
		"shorter":                   line(7, "z"),
		"longer":                    line(7, "z") + whole,
		"same size, other head":     line(1, "x") + line(2, "b") + line(3, "c"),
		"same size, other tail":     line(1, "a") + line(2, "b") + line(3, "x"),
		"grown, other before there": line(1, "a") + line(2, "b") + line(3, "x") + line(4, "d"),
	} {
		t.Run(what, func(t *testing.T) {
			before := whole
			if strings.HasPrefix(what, "long") {
				before = line(1, "a") + middle + line(3, "c")
			}
			src := write(t, "s.jsonl", before)
			l := newLibrary()
			if err := l.read(t, src, Options{}); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(src.Path, []byte(next), 0o600); err != nil {
				t.Fatal(err)
			}
			fresh := newLibrary() // what is in the file now
			if err := fresh.read(t, src, Options{}); err != nil {
				t.Fatal(err)
			}
			if err := l.read(t, src, Options{}); err != nil {
				t.Fatal(err)
			}
			equal(t, "restarts", l.restarts, 1)
			for id, m := range fresh.messages {
				equal(t, "message "+id, l.messages[id], m)
			}
			for _, id := range []string{"1", "3"} { // what was read before stays
				if _, ok := l.messages["00000000-0000-4000-8000-00000000000"+id]; !ok {
					t.Errorf("message %s is gone", id)
				}
			}
		})
	}
}

// A file that grows while it is read: what came is read now or by the next run, once.
func TestF01_GrowingDuringTheRead(t *testing.T) {
	line := func(id int) string {
		return fmt.Sprintf(`{"type":"user","uuid":"00000000-0000-4000-8000-%012d","sessionId":"s","message":{"role":"user","content":"m%d"}}`+"\n", id, id)
	}
	src := write(t, "s.jsonl", line(0)+line(1))
	l, next := newLibrary(), 2
	var want []string
	for range 3 {
		for b, err := range Read(context.Background(), src, l.cursor, Options{batch: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			l.apply(b)
			if next < 20 {
				f, err := os.OpenFile(src.Path, os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.WriteString(line(next) + line(next + 1)[:20]); err != nil {
					t.Fatal(err)
				}
				if _, err := f.WriteString(line(next + 1)[20:]); err != nil {
					t.Fatal(err)
				}
				f.Close()
				next += 2
			}
		}
	}
	for i := range 20 {
		want = append(want, fmt.Sprintf("m%d", i))
	}
	equal(t, "texts", l.texts(), want)
	equal(t, "records", l.records, 20)
}

// Characters that lie across the borders of the buffers come out whole.
func TestF01_CharactersAcrossBuffers(t *testing.T) {
	for _, border := range []int{64 << 10, readBuffer, 2 * readBuffer} {
		for shift := range 4 {
			head := `{"type":"user","uuid":"00000000-0000-4000-8000-000000000001","sessionId":"s","message":{"role":"user","content":"`
			text := strings.Repeat("x", border-len(head)-shift) + "🦅é\u2028end"
			src := Source{Path: filepath.Join(t.TempDir(), "s"), Format: ClaudeCode, Layout: Lines}
			if err := os.WriteFile(src.Path, []byte(head+text+"\"}}\n"+head+"second\"}}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			l := newLibrary()
			if err := l.read(t, src, Options{}); err != nil {
				t.Fatal(err)
			}
			if got := l.texts(); len(got) != 1 || got[0] != text {
				t.Fatalf("border %d, shift %d: the text is not what was written", border, shift)
			}
		}
	}
}

// More lines of a reply that was yielded amend it, in a later run and in a later batch.
func TestF05_ReplyAmendedByALaterRun(t *testing.T) {
	lines := strings.SplitAfter(lineSources(t)["claude/main.jsonl"], "\n")
	path := filepath.Join(t.TempDir(), "s.jsonl")
	src := Source{Path: path, Format: ClaudeCode, Layout: Lines}
	const reply = "msg_0000000000000000000000m1"
	l := newLibrary()
	for i, want := range []int{3: 1, 4: 2, 5: 3, 6: 3, 7: 4} { // lines read, blocks of the reply
		if want == 0 {
			continue
		}
		if err := os.WriteFile(path, []byte(strings.Join(lines[:i+1], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		var amended []string
		for b, err := range Read(context.Background(), src, stored(t, l.cursor), Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range b.Messages {
				if m.Amends {
					amended = append(amended, m.ID)
				}
			}
			l.apply(b)
		}
		equal(t, fmt.Sprintf("blocks after line %d", i+1), len(l.messages[reply].Blocks), want)
		if i > 3 && i != 6 {
			equal(t, fmt.Sprintf("amended by line %d", i+1), amended, []string{reply})
		}
	}
	equal(t, "usage", l.messages[reply].Usage, Usage{Input: 7, Output: 90, CacheRead: 100, CacheWrite: 20})
}

// What was yielded is the caller's, who may add to it: a later batch of the same reading changes
// nothing of it, and takes nothing from it.
func TestYieldedIsTheCallers(t *testing.T) {
	src := find(t, "testdata/claude/main.jsonl")
	var kept []Message
	var was []string
	for b, err := range Read(context.Background(), src, Cursor{}, Options{batch: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range b.Messages {
			m.Blocks = append(m.Blocks, Block{Kind: Text, Text: "added by the caller"})
			kept = append(kept, m)
			was = append(was, fmt.Sprintf("%v", m))
		}
	}
	for i, m := range kept {
		equal(t, "message", fmt.Sprintf("%v", m), was[i])
	}
}

func TestUnchangedYieldsNothing(t *testing.T) {
	for name := range goldenSources {
		src := find(t, filepath.Join("testdata", name))
		l := mustRead(t, src)
		for range Read(context.Background(), src, stored(t, l.cursor), Options{}) {
			t.Errorf("%s: a batch or an error of an unchanged source", name)
		}
	}
}

// A document that changed is read whole, and its messages may replace what was stored.
func TestChangedDocument(t *testing.T) {
	space := strings.Repeat(" ", 2*identity)
	doc := `[{"id":"c","title":"T","mapping":{"m1":` + space + `{"id":"m1","message":{"id":"m1","author":{"role":"user"},"content":{"parts":["one"]}}}` + space + `}}]`
	src := write(t, "c.json", doc)
	l := mustRead(t, src)
	doc = strings.Replace(doc, `"one"`, `"two"`, 1) // the same size
	if err := os.WriteFile(src.Path, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(src.Path, later, later); err != nil {
		t.Fatal(err)
	}
	if err := l.read(t, src, Options{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "texts", l.texts(), []string{"two"})
	equal(t, "restarts", l.restarts, 1)
}

func TestStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name := range goldenSources {
		src := find(t, filepath.Join("testdata", name))
		var last error
		for _, err := range Read(ctx, src, Cursor{}, Options{}) {
			last = err
		}
		if last == nil {
			t.Errorf("%s: no error of a context that has ended", name)
		}
	}
}
