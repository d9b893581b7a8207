package transcripts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// userLine is a line of Claude Code in which a user says something.
func userLine(id int, content string) string {
	return fmt.Sprintf(`{"type":"user","uuid":"00000000-0000-4000-8000-%012d","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"%s"}}`, id, content)
}

func numbered(from, to int) (lines, texts []string) {
	for i := from; i <= to; i++ {
		texts = append(texts, fmt.Sprintf("m%d", i))
		lines = append(lines, userLine(i, texts[len(texts)-1]))
	}
	return lines, texts
}

// A damaged line costs itself, and is told.
func TestF03_DamagedLines(t *testing.T) {
	before, said := numbered(1, 5)
	after, saidAfter := numbered(6, 10)
	half := `{"type":"user","mess`
	for _, c := range []struct {
		what, damage string
		also         []string // said on the damaged line
		skips        []string // how the reasons begin; the line is 6
		offsets      []int    // of the skips within the line
	}{
		{"half a record", half, nil, []string{"damaged record: "}, []int{0}},
		{"blank", "", nil, nil, nil},
		{"spaces", "  \t\r", nil, nil, nil},
		{"null", "null", nil, []string{"not a JSON object"}, []int{0}},
		{"array", "[]", nil, []string{"not a JSON object"}, []int{0}},
		{"number", "42", nil, []string{"not a JSON object"}, []int{0}},
		{"two numbers", "4 2", nil, []string{"not a JSON object", "not a JSON object"}, []int{0, 2}},
		{"NULs", "\x00\x00\x00", nil, []string{"3 NUL bytes"}, []int{0}},
		{"NULs, then a record", "\x00\x00" + userLine(90, "after the hole"), []string{"after the hole"}, []string{"2 NUL bytes"}, []int{0}},
		{"NUL within a record", strings.Replace(userLine(90, "x"), "s", "\x00", 1), nil, []string{"damaged record: "}, []int{0}},
		{"two records", userLine(90, "one") + userLine(91, "two"), []string{"one", "two"}, nil, nil},
		{"two records, spaced", " " + userLine(90, "one") + "\t" + userLine(91, "two") + " ", []string{"one", "two"}, nil, nil},
		{"a record, then half of one", userLine(90, "one") + half, []string{"one"}, []string{"damaged record: "}, []int{len(userLine(90, "one"))}},
		{"half a record, then a whole one", half + userLine(90, "whole"), []string{"whole"}, []string{"damaged record, followed by a whole one: "}, []int{0}},
		{"half a record with nested ones, then two whole ones", userLine(90, "lost")[:150] + userLine(91, "whole") + userLine(92, "too"),
			[]string{"whole", "too"}, []string{"damaged record, followed by a whole one: "}, []int{0}},
		{"half a record with many nested ones, then a whole one", `{"type":"x","a":[` + strings.Repeat(`{"b":1},`, 100) + `{"c":"cut` + userLine(91, "whole"),
			[]string{"whole"}, []string{"damaged record, followed by a whole one: "}, []int{0}},
		{"half after a colon, then a whole one", `{"type":"user","message":` + userLine(91, "whole"), []string{"whole"}, []string{"damaged record, followed by a whole one: "}, []int{0}},
		{"the end of a record", `er","message":{"content":"x"}}`, nil, []string{"damaged record: "}, []int{0}},
		{"control character", strings.Replace(userLine(90, "a-b"), "-", "\x01", 1), nil, []string{"damaged record: "}, []int{0}},
		{"deep", strings.Repeat(`{"a":`, 200_000), nil, []string{"damaged record: "}, []int{0}},
		{"many beginnings", strings.Repeat(`{"a`, 50_000), nil, []string{"damaged record: "}, []int{0}},
		{"byte-order mark", "\xEF\xBB\xBF" + userLine(90, "marked"), []string{"marked"}, nil, nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			lines := append(append(append([]string{}, before...), c.damage), after...)
			src := write(t, "s.jsonl", strings.Join(lines, "\n")+"\n")
			l := mustRead(t, src)
			want := append(append(append([]string{}, said...), c.also...), saidAfter...)
			equal(t, "texts", l.texts(), want)
			equal(t, "number of skips", len(l.skips), len(c.skips))
			for i, s := range l.skips {
				if !strings.HasPrefix(s.Reason, c.skips[i]) {
					t.Errorf("reason %q, want %q…", s.Reason, c.skips[i])
				}
				equal(t, "line", s.Line, 6)
				equal(t, "offset", s.Offset, len(strings.Join(before, "\n"))+1+c.offsets[i])
				equal(t, "path", s.Path, src.Path)
			}
		})
	}
}

func TestF04_TypesOfAnotherVersion(t *testing.T) {
	l := mustRead(t, write(t, "r.jsonl", `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s1"}}
{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"},{"type":"hologram"}]}}
{"timestamp":"2026-01-01T00:00:02Z","type":"event_msg","payload":{"type":"brand_new_event","message":"x"}}
{"timestamp":"2026-01-01T00:00:03Z","type":"turn_context","payload":{"model":"m"}}
{"timestamp":"2026-01-01T00:00:04Z","type":"compacted","payload":{"message":"s"}}
{"timestamp":"2026-01-01T00:00:05Z","type":"world_state","payload":{}}
{"timestamp":"2026-01-01T00:00:06Z","type":"brand_new_type","payload":{}}
{"timestamp":"2026-01-01T00:00:07Z","type":"brand_new_type"}
{"timestamp":1767225608.25,"type":"response_item","payload":{"type":"brand_new_item"},"extra":[1]}
{"timestamp":1767225609.25,"type":"response_item","payload":{"type":"message","role":"user","content":"said as a string"},"extra":[1]}
`))
	equal(t, "texts", l.texts(), []string{"hello", "said as a string"})
	equal(t, "unknown", l.unknown, map[string]int{"brand_new_type": 1, "event_msg/brand_new_event": 1,
		"content/hologram": 1, "response_item/brand_new_item": 1, "response_item/brand_new_type": 1})
	equal(t, "time", stamp(l.all()[2].At), "2026-01-01T00:00:09.25Z")
	equal(t, "skips", len(l.skips), 0)

	l = mustRead(t, write(t, "c.jsonl", `{"type":"summary","summary":"T","leafUuid":"x"}
{"type":"file-history-snapshot","messageId":"m","snapshot":{},"isSnapshotUpdate":false}
{"type":"queued_command","sessionId":"s","uuid":"q","prompt":"queued"}
{"type":"novelty","sessionId":"s","uuid":"n"}
{"type":"user","sessionId":"s","uuid":"u","isSidechain":true,"parentUuid":null,"message":{"content":"aside"}}
{"type":"user","sessionId":7,"uuid":{},"timestamp":[],"isSidechain":"no","isMeta":1,"message":{"content":"every other field is of another kind"}}
{"type":"user","sessionId":"s","uuid":"w","message":"not an object"}
`))
	equal(t, "texts", l.texts(), []string{"queued", "aside", "every other field is of another kind"})
	equal(t, "unknown", l.unknown, map[string]int{"novelty": 1})
}

// A file of which nothing is understood is a failure, loud at every run.
func TestF04_NothingUnderstood(t *testing.T) {
	src := write(t, "r.jsonl", strings.Repeat(`{"timestamp":"2027-01-01T00:00:00Z","type":"next_generation","payload":{"x":1}}`+"\n", 1000))
	l := newLibrary()
	for range 2 {
		err := l.read(t, src, Options{})
		if !errors.Is(err, ErrNotUnderstood) || !strings.Contains(err.Error(), "next_generation") || !strings.Contains(err.Error(), src.Path) {
			t.Errorf("got %v, want ErrNotUnderstood with path and types", err)
		}
		equal(t, "messages", len(l.messages), 0)
	}
	// Damage alone is not understood either.
	src = Source{Path: src.Path, Format: Pi, Layout: Lines}
	if err := os.WriteFile(src.Path, []byte(strings.Repeat("{broken\n", 700)), 0o600); err != nil {
		t.Fatal(err)
	}
	l = newLibrary()
	for range 2 {
		if err := l.read(t, src, Options{}); !errors.Is(err, ErrNotUnderstood) {
			t.Errorf("got %v, want ErrNotUnderstood", err)
		}
	}
	// What comes later may be of a kind that is known.
	if err := os.WriteFile(src.Path, []byte(strings.Repeat("{broken\n", 700)+`{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00Z"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.read(t, src, Options{}); err != nil {
		t.Error(err)
	}
}

func TestF04_UnknownTypesAreBounded(t *testing.T) {
	var w strings.Builder
	w.WriteString(userLine(1, "x") + "\n")
	for i := range 1000 {
		fmt.Fprintf(&w, `{"type":"t%d%s","sessionId":"s","uuid":"u"}`+"\n", i, strings.Repeat("long", 1000))
	}
	l := mustRead(t, write(t, "s.jsonl", w.String()))
	total := 0
	for typ, n := range l.unknown {
		total += n
		if len(typ) > 100 {
			t.Errorf("type of %d bytes", len(typ))
		}
	}
	equal(t, "unknown", total, 1000)
	if len(l.unknown) > unknownTypes+1 {
		t.Errorf("%d types, want at most %d", len(l.unknown), unknownTypes+1)
	}
}

// The reply of F05, with ids that are in many files.
func TestF05_OneReplyOnSeveralLines(t *testing.T) {
	reply := func(uuid, block string, output int) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":%q,"sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"id":"m1","model":"m","content":[%s],"usage":{"input_tokens":1,"output_tokens":%d}}}`+"\n", uuid, block, output)
	}
	lines := reply("u1", `{"type":"thinking","thinking":"hm"}`, 5) + reply("u2", `{"type":"text","text":"hello"}`, 5) +
		reply("u3", `{"type":"tool_use","id":"t","name":"Bash","input":{}}`, 90)
	l := mustRead(t, write(t, "s.jsonl", lines))
	equal(t, "messages", len(l.messages), 1)
	equal(t, "blocks", len(l.all()[0].Blocks), 3)
	equal(t, "usage", l.all()[0].Usage, Usage{Input: 1, Output: 90})

	// The record with the most output has all the usage, wherever it stands.
	shrinking := reply("u1", `{"type":"text","text":"a"}`, 90) + reply("u2", `{"type":"text","text":"b"}`, 5)
	equal(t, "usage", mustRead(t, write(t, "s.jsonl", shrinking)).all()[0].Usage, Usage{Input: 1, Output: 90})

	// The same lines once more in the same file, and in another.
	again := mustRead(t, write(t, "s.jsonl", lines+lines))
	compare(t, again.String(), l.String())
	if err := again.read(t, write(t, "copy.jsonl", lines), Options{}); err != nil {
		t.Fatal(err)
	}
	compare(t, again.String(), l.String())

	// Another file that uses the same ids for something else keeps what it says.
	other := mustRead(t, write(t, "other.jsonl", strings.ReplaceAll(lines, `"hm"`, `"well"`)))
	for id := range other.messages {
		if _, same := l.messages[id]; same {
			t.Errorf("ID %s for two different messages", id)
		}
	}
}

// A resumed session repeats the lines of another under its own id: they keep their message IDs.
func TestF05_ResumeAndForkOverlap(t *testing.T) {
	l := mustRead(t, find(t, "testdata/claude/main.jsonl"))
	before := len(l.order)
	full := len(l.messages["msg_0000000000000000000000m1"].Blocks)
	l.cursor = Cursor{}
	if err := l.read(t, find(t, "testdata/claude/fork.jsonl"), Options{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "new messages", len(l.order)-before, 1)
	equal(t, "blocks of the copied reply", len(l.messages["msg_0000000000000000000000m1"].Blocks), full)

	// A fork may give its copies uuids of their own: what they were copied from is named.
	renamed := strings.Replace(lineSources(t)["claude/fork.jsonl"], `"uuid":"00000000-0000-4000-8000-000000000001"`, `"uuid":"00000000-0000-4000-8000-0000000000ff"`, 1)
	l.cursor = Cursor{}
	if err := l.read(t, write(t, "renamed.jsonl", renamed), Options{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "new messages", len(l.order)-before, 1)

	resumed := strings.ReplaceAll(lineSources(t)["claude/main.jsonl"], "11111111-2222", "77777777-2222")
	l.cursor = Cursor{}
	if err := l.read(t, write(t, "resumed.jsonl", resumed), Options{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "new messages", len(l.order)-before, 1)

	// pi branches into a new file, and rewrites old files with ids.
	v1 := lineSources(t)["pi/v1.jsonl"]
	rewritten := strings.ReplaceAll(v1, `{"type":"message","timestamp"`, `{"type":"message","id":"0000000f","parentId":"0000000e","timestamp"`)
	a, b := mustRead(t, write(t, "a.jsonl", v1)), mustRead(t, write(t, "b.jsonl", rewritten))
	equal(t, "ids", a.order, b.order)
}

func TestF05_OrphansAndCycles(t *testing.T) {
	line := func(uuid, parent string, sidechain bool) string {
		return fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":%q,"isSidechain":%v,"sessionId":"s","message":{"content":"says %s"}}`+"\n", uuid, parent, sidechain, uuid)
	}
	for _, sidechain := range []bool{false, true} {
		l := mustRead(t, write(t, "s.jsonl", line("a", "b", sidechain)+line("b", "a", sidechain)+line("c", "c", sidechain)+line("d", "nowhere", sidechain)))
		equal(t, "texts", l.texts(), []string{"says a", "says b", "says c", "says d"})
	}
	mapping := func(nodes ...string) string {
		return `[{"id":"c","mapping":{` + strings.Join(nodes, ",") + `}}]`
	}
	node := func(id, parent, children string) string {
		return fmt.Sprintf(`%q:{"id":%q,"parent":%q,"children":[%s],"message":{"id":%q,"author":{"role":"user"},"content":{"parts":["says %s"]}}}`, id, id, parent, children, id, id)
	}
	l := mustRead(t, write(t, "c.json", mapping(node("a", "b", `"b","a"`), node("b", "a", `"a"`), node("c", "c", ""), node("d", "nowhere", `"d","a"`))))
	equal(t, "texts", l.texts(), []string{"says d", "says a", "says b", "says c"})
}

func TestF06_LongLines(t *testing.T) {
	const limit = 1 << 20
	at := func(size int) string { // a line of this many bytes
		head, tail := userLine(1, "x"), `"}}`
		head = strings.TrimSuffix(head, `x"}}`)
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	for _, c := range []struct {
		size  int
		skips int
	}{{65_535, 0}, {65_536, 0}, {65_537, 0}, {limit, 0}, {limit + 1, 1}, {5 * limit, 1}} {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			src := write(t, "s.jsonl", userLine(2, "before")+"\n"+at(c.size)+"\n"+userLine(3, "after")+"\n")
			l := newLibrary()
			if err := l.read(t, src, Options{MaxLine: limit}); err != nil {
				t.Fatal(err)
			}
			equal(t, "messages", len(l.messages), 3-c.skips)
			equal(t, "skips", len(l.skips), c.skips)
			for _, s := range l.skips {
				equal(t, "line", s.Line, 2)
				equal(t, "offset", s.Offset, len(userLine(2, "before"))+1)
				equal(t, "reason", s.Reason, fmt.Sprintf("line of %d bytes; the limit is %d", c.size+1, limit))
			}
		})
	}
}

// A line of 20 MiB, an embedded image, is taken by default; its bytes are not kept.
func TestF06_EmbeddedImage(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 20 MiB")
	}
	const size = 15 << 20
	line := `{"type":"user","uuid":"00000000-0000-4000-8000-000000000001","sessionId":"s","message":{"content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` +
		strings.Repeat("AAAA", size/3) + `"}}]}}` + "\n"
	l := mustRead(t, write(t, "s.jsonl", line+userLine(2, "after")+"\n"))
	equal(t, "texts", l.texts(), []string{"look", "after"})
	image := l.all()[0].Blocks[1]
	equal(t, "image", []any{image.MIME, image.Size, image.Data == nil}, []any{"image/png", size, true})
}

// A line without end is passed over in bounded memory, and a last one is left for the next run.
func TestF06_EndlessLine(t *testing.T) {
	const limit = 1 << 20
	endless := io.LimitReader(zeros{}, 256<<20)
	lr := newLineReader(endless, limit, 0, 0)
	l, err := lr.next()
	if err != nil || !l.tooLong || l.size != 256<<20 || l.ended {
		t.Errorf("got %+v, %v", l.size, err)
	}
	if cap(lr.long) > limit {
		t.Errorf("%d bytes held of a line that is skipped", cap(lr.long))
	}
	if _, err := lr.next(); err != io.EOF {
		t.Errorf("got %v, want the end", err)
	}

	src := write(t, "s.jsonl", userLine(1, "before")+"\n"+strings.Repeat("{", 3*limit))
	lib := newLibrary()
	for range 2 {
		lib.unread, lib.skips = 0, nil
		if err := lib.read(t, src, Options{MaxLine: limit}); err != nil {
			t.Fatal(err)
		}
		equal(t, "texts", lib.texts(), []string{"before"})
		equal(t, "unread", lib.unread, 3*limit)
		equal(t, "skips", len(lib.skips), 1)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestF08_NamesInExactCase(t *testing.T) {
	for _, c := range []struct {
		what, line string
		want       []string
	}{
		{"other case", `{"type":"user","Type":"assistant","sessionId":"s","message":{"content":"kept","Content":"not this"}}`, []string{"kept"}},
		{"other case first", `{"Type":"assistant","type":"user","sessionId":"s","message":{"CONTENT":"not this","content":"kept"}}`, []string{"kept"}},
		{"only other case", `{"type":"user","sessionId":"s","Message":{"content":"not this"}}`, nil},
		{"long s", `{"type":"user","ſessionId":"other","sessionId":"s","meſſage":{"content":"not this"},"message":{"content":"kept"}}`, []string{"kept"}},
		{"twice", `{"type":"user","sessionId":"s","message":{"content":"first","content":"last"}}`, []string{"last"}},
		{"NUL in a name", `{"type":"user","sessionId":"s","message\u0000":{"content":"not this"},"message":{"content":"kept\u0000here"}}`, []string{"kept\x00here"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			l := mustRead(t, write(t, "s.jsonl", userLine(1, "x")+"\n"+c.line+"\n"))
			equal(t, "texts", l.texts(), append([]string{"x"}, c.want...))
			for id := range l.sessions {
				equal(t, "session", id, "s")
			}
		})
	}
}

func TestD16_ValidUTF8(t *testing.T) {
	for escaped, want := range map[string]string{
		`\ud83d`:            "\uFFFD",
		`\ude00`:            "\uFFFD",
		`ok \ud83d\ude00`:   "ok 😀",
		`\ude00\ud83d`:      "\uFFFD\uFFFD",
		"\xED\xA0\x80":      "\uFFFD\uFFFD\uFFFD",
		"\xFF":              "\uFFFD",
		"\xC0\x80":          "\uFFFD\uFFFD",
		"cut \xF0\x9F\x98":  "cut \uFFFD\uFFFD\uFFFD", // one for each bad byte, as everywhere in Go
		`nul \u0000 kept`:   "nul \x00 kept",
		`\ud83d\u0041 text`: "\uFFFDA text",
	} {
		line := fmt.Sprintf(`{"type":"assistant","uuid":"u%[1]s","sessionId":"s%[1]s","cwd":"/%[1]s","timestamp":"2026-01-01T00:00:00Z","message":{"id":"m","model":"m%[1]s","content":[{"type":"text","text":"%[1]s"},{"type":"tool_use","id":"t%[1]s","name":"n%[1]s","input":{"k%[1]s":["%[1]s"]}}]}}`, escaped)
		l := mustRead(t, write(t, "s.jsonl", userLine(1, "x")+"\n"+line+"\n"+userLine(2, "y")+"\n")) // mustRead checks all strings
		equal(t, "texts of "+escaped, l.texts(), []string{"x", want, "y"})
		equal(t, "skips", len(l.skips), 0)
	}
	// A tool's output cut in the middle of a character, at 1 MiB.
	output := strings.Repeat("x", 1<<20) + `\ud83d`
	l := mustRead(t, write(t, "s.jsonl", `{"type":"user","uuid":"u","sessionId":"s","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"`+output+`"}]}}`+"\n"))
	if got := l.all()[0].Blocks[0].Text; !strings.HasSuffix(got, "x\uFFFD") || len(got) != 1<<20+3 {
		t.Errorf("got %d bytes", len(got))
	}
}

func TestMessagesWithoutAnyID(t *testing.T) {
	line := `{"type":"user","message":{"content":"Continue"}}` + "\n"
	src := write(t, "s.jsonl", line+line)
	l := mustRead(t, src)
	equal(t, "texts", l.texts(), []string{"Continue", "Continue"})
	// Moved, and grown, it is the same session with the same messages.
	moved := filepath.Join(t.TempDir(), "other-name.jsonl")
	if err := os.WriteFile(moved, []byte(line+line+line), 0o600); err != nil {
		t.Fatal(err)
	}
	l.cursor = Cursor{}
	if err := l.read(t, find(t, moved), Options{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "messages", len(l.messages), 3)
	equal(t, "sessions", len(l.sessions), 1)
}

// A summary of no message in the file is the title of the session that the file begins with, when
// it is the only one, and of none that it goes on with.
func TestLooseSummary(t *testing.T) {
	summary := func(text string) string {
		return fmt.Sprintf(`{"type":"summary","summary":%q,"leafUuid":"elsewhere"}`+"\n", text)
	}
	second := strings.Replace(userLine(2, "y"), `"sessionId":"s"`, `"sessionId":"s2"`, 1) + "\n"
	l := mustRead(t, write(t, "s.jsonl", summary("T")+userLine(1, "x")+"\n"+second))
	equal(t, "titles", []string{l.sessions["s"].Title, l.sessions["s2"].Title}, []string{"T", ""})
	l = mustRead(t, write(t, "s.jsonl", summary("T")+userLine(1, "x")+"\n"+summary("U")))
	equal(t, "title", l.sessions["s"].Title, "")
}

// The limit of a document is that of one record, not of all.
func TestDocumentLimit(t *testing.T) {
	turn := func(size int) string {
		return `{"type":"user","session_id":"s","message":{"content":"` + strings.Repeat("x", size) + `"}}`
	}
	const limit = 128 << 10
	src := write(t, "s.json", "["+strings.Repeat(turn(limit/2)+",", 20)+turn(1)+"]")
	l := newLibrary()
	if err := l.read(t, src, Options{MaxLine: limit}); err != nil {
		t.Fatal(err)
	}
	equal(t, "messages", len(l.messages), 21)
	src = write(t, "s.json", "["+turn(1)+","+turn(4*limit)+","+turn(1)+"]")
	l = newLibrary()
	if err := l.read(t, src, Options{MaxLine: limit}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v, want ErrDamaged that tells the limit", err)
	}
	equal(t, "messages", len(l.messages), 1)
}

func TestIDs(t *testing.T) {
	for id, want := range map[string]bool{
		"0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f": true, "0A1B2C3D-4E5F-4061-8071-2A3B4C5D6E7F": true,
		"msg_01FAAiz1WL3YF9nyoP4beao6": true, "call_AAAAAAAAAAAAAAAA": true,
		"": false, "a": false, "u1": false, "msg_1": false, "msg_001": false, "_": false,
		"0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7": false, "0a1b2c3d+4e5f-4061-8071-2a3b4c5d6e7f": false, "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7g": false,
		"msg_01FAAiz1WL3Y/../nyoP4beao6": false, "[trimmed for fixture]": false,
	} {
		equal(t, id, isGlobalID(id), want)
	}
}

// A head that ends within the first message is enough.
func TestSniffPartOfALine(t *testing.T) {
	format, layout, _ := sniff([]byte(`{"parentUuid":null,"isSidechain":false,"message":{"content":"zzz`))
	equal(t, "found", []any{format, layout}, []any{ClaudeCode, Lines})
}
