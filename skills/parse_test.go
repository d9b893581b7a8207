package skills

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// file makes a SKILL.md of the lines of its front matter.
func file(lines ...string) string {
	return "---\n" + strings.Join(lines, "\n") + "\n---\nBody\n"
}

// wantParsed parses and compares what the file says, without what Parse tells of
// the file itself.
func wantParsed(t *testing.T, body string, want Summary) Summary {
	t.Helper()
	got, err := Parse([]byte(body), "dir/folder/SKILL.md")
	if err != nil {
		t.Errorf("%.300q: %v", body, err)
		return got
	}
	bare := got
	bare.Source, bare.Size, bare.SHA256, bare.Warnings = "", 0, "", nil
	if !reflect.DeepEqual(bare, want) {
		t.Errorf("%.300q:\ngot  %.600s\nwant %.600s", body, fmt.Sprintf("%+v", bare), fmt.Sprintf("%+v", want))
	}
	return got
}

// wantFault wants a file to be refused in a line, for a reason that says so.
func wantFault(t *testing.T, body string, line int, reason string) {
	t.Helper()
	got, err := Parse([]byte(body), "dir/folder/SKILL.md")
	var fault *Fault
	if !errors.As(err, &fault) || !errors.Is(err, ErrInvalid) {
		t.Errorf("%.300q: got %.600s, %v; want a fault", body, fmt.Sprintf("%+v", got), err)
		return
	}
	if fault.Source != "dir/folder/SKILL.md" || fault.Line != line || !strings.Contains(fault.Reason, reason) {
		t.Errorf("%.200q: %v; want line %d: …%s…", body, fault, line, reason)
	}
}

func hasWarning(s Summary, text string) bool {
	return slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, text) })
}

func wantWarning(t *testing.T, s Summary, text string) {
	t.Helper()
	if !hasWarning(s, text) {
		t.Errorf("%s: warnings %q, want one with %q", s.Name, s.Warnings, text)
	}
}

func TestParse(t *testing.T) {
	body := `---
name: folder
description: >
  Reviews a change.
  Thoroughly.
when_to_use: "before a merge"
license: Apache-2.0
compatibility: git 2.40
allowed-tools: Read Grep, Bash(git diff *)
disallowed-tools: [Write, "Edit"]
tools:
  - web
disable-model-invocation: true
user-invocable: false
keywords: [review, diff]
metadata:
  author: someone
  version: 1.0
  people: [{name: a}, {name: b}]
argument-hint: [pull request]
model: opus
---
Body
`
	got := wantParsed(t, body, Summary{
		Name: "folder", Description: "Reviews a change. Thoroughly.", WhenToUse: "before a merge",
		License: "Apache-2.0", Compatibility: "git 2.40",
		AllowedTools: []string{"Read", "Grep", "Bash(git diff *)"}, DisallowedTools: []string{"Write", "Edit"}, Tools: []string{"web"},
		DisableModelInvocation: true, DisableUserInvocation: true,
		Keywords: []string{"review", "diff"},
		Metadata: map[string]any{"author": "someone", "version": "1.0", "people": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}},
		Extra:    map[string]any{"argument-hint": []any{"pull request"}, "model": "opus"},
	})
	// sha256sum of the file
	if got.Source != "dir/folder/SKILL.md" || got.Size != int64(len(body)) || len(got.SHA256) != 64 || len(got.Warnings) != 0 {
		t.Errorf("got %+v", got)
	}
	bare := wantParsed(t, "---\nname: folder\n---\n", Summary{Name: "folder"})
	wantWarning(t, bare, "no description")
}

// TestE01_ByteOrderMarks reads what editors and Windows shells put before the text.
func TestE01_ByteOrderMarks(t *testing.T) {
	text := "---\nname: folder\ndescription: A test é 😀\nallowed-tools: Read\n---\nBody"
	want := Summary{Name: "folder", Description: "A test é 😀", AllowedTools: []string{"Read"}}
	wantParsed(t, text, want)
	wantParsed(t, "\xEF\xBB\xBF"+text, want)
	wantParsed(t, strings.Replace(text, "Body", "\uFEFFBody", 1), want)
	wantWarning(t, wantParsed(t, "\n \t\r\n"+text, want), "blank lines before")
	wantWarning(t, wantParsed(t, "\xEF\xBB\xBF\n"+text, want), "blank lines before")

	var little, big []byte
	for _, u := range utf16.Encode([]rune(text)) {
		little = append(little, byte(u), byte(u>>8))
		big = append(big, byte(u>>8), byte(u))
	}
	wantWarning(t, wantParsed(t, "\xFF\xFE"+string(little), want), "UTF-16")
	wantWarning(t, wantParsed(t, "\xFE\xFF"+string(big), want), "UTF-16")
	wantWarning(t, wantParsed(t, string(little), want), "UTF-16")
	wantWarning(t, wantParsed(t, string(big), want), "UTF-16")
	wantParsed(t, "\xFF\xFE"+string(little)+"B", want) // half a unit at the end
	wantParsed(t, "\xFF\xFE"+string(little)+"\x3d\xd8", want)

	wantParsed(t, "---\nname: folder\n... \nBody\n---\n", Summary{Name: "folder"})

	wantFault(t, "", 1, "empty")
	wantFault(t, "\xEF\xBB\xBF", 1, "empty")
	wantFault(t, "\xFF\xFE", 1, "empty")
	wantFault(t, "\xFF\xFE\x00\x00-\x00\x00\x00", 1, "does not begin with front matter") // UTF-32
	wantFault(t, "# A skill\n", 1, "does not begin with front matter")
	wantFault(t, "\n\n-- -\nallowed-tools: Read\n---\n", 3, "does not begin with front matter")
	wantFault(t, "----\nname: folder\n----\n", 1, "does not begin with front matter")
	wantFault(t, "\n---\nname: folder\nBody", 2, "has no end")
}

// TestE02_LineEnds reads the same file with every kind of line end.
func TestE02_LineEnds(t *testing.T) {
	text := "---  \nname: folder\ndescription: \"T\"\ncompatibility: |\n  one\n  two\nallowed-tools:\n- Read\n---\t\nBody\n"
	want := Summary{Name: "folder", Description: "T", Compatibility: "one\ntwo", AllowedTools: []string{"Read"}}
	wantParsed(t, text, want)
	wantParsed(t, strings.ReplaceAll(text, "\n", "\r\n"), want)
	wantParsed(t, strings.ReplaceAll(text, "\n", "\r"), want)
	mixed := ""
	for i, line := range strings.SplitAfter(text, "\n") {
		mixed += strings.ReplaceAll(line, "\n", []string{"\n", "\r\n", "\r"}[i%3])
	}
	wantParsed(t, mixed, want)
	wantParsed(t, "---\r\nname: folder\r\ndescription: \"a\\rb\\r\\n\"\r\n---\r\n", Summary{Name: "folder", Description: "ab"})
	// Repairing works on lines too.
	wantParsed(t, "---\r\nname: folder\r\ndescription: Use when: asked\r\nallowed-tools: Read\r\n---\r\n",
		Summary{Name: "folder", Description: "Use when: asked", AllowedTools: []string{"Read"}})
	wantFault(t, "---\r\nname: folder\r\nallowed-tools: [Read\r\n---\r\n", 3, "allowed-tools")
}

// TestE03_ValuesThatAreNotYAML reads texts with a meaning in YAML that their
// authors did not mean.
func TestE03_ValuesThatAreNotYAML(t *testing.T) {
	read := []string{"Read"}
	for value, want := range map[string]string{
		"Does a thing. Use when: you need it. NOT for: others.": "Does a thing. Use when: you need it. NOT for: others.",
		"Ends in a colon:":                       "Ends in a colon:",
		"It's: a quote":                          "It's: a quote",
		"[WIP] does a thing":                     "[WIP] does a thing",
		"`code` first":                           "`code` first",
		"@someone wrote it":                      "@someone wrote it",
		"%d things":                              "%d things",
		"*bold* text":                            "*bold* text",
		"{name} is filled in":                    "{name} is filled in",
		"\"Quoted\" and: more":                   "\"Quoted\" and: more",
		"\"left open":                            "\"left open",
		"- a dash: first":                        "- a dash: first",
		"a: b\n  c: d\n\n  e: f":                 "a: b c: d\ne: f",
		"Use when: a line\n  goes on":            "Use when: a line goes on",
		"a separator\u2028inside: the line":      "a separator inside: the line",
		"Use when: \"it\" 'is' # not a comment":  "Use when: \"it\" 'is' # not a comment",
		"tabs: \tinside\tit":                     "tabs: \tinside\tit",
		"colons: without end: x: y: z: [a, {b: ": "colons: without end: x: y: z: [a, {b:",
	} {
		got := wantParsed(t, file("name: folder", "description: "+value, "allowed-tools: Read", "license: MIT"),
			Summary{Name: "folder", Description: want, AllowedTools: read, License: "MIT"})
		wantWarning(t, got, "description is not YAML")
		// Whatever is at fault, it is not the restriction behind or before it.
		wantParsed(t, file("allowed-tools: Read", "description: "+value, "name: folder", "license: MIT"),
			Summary{Name: "folder", Description: want, AllowedTools: read, License: "MIT"})
	}
	got := wantParsed(t, file("name: folder", "description: d", "argument-hint: [file] [format]", "disable-model-invocation: yes"),
		Summary{Name: "folder", Description: "d", DisableModelInvocation: true, Extra: map[string]any{"argument-hint": "[file] [format]"}})
	wantWarning(t, got, "argument-hint is not YAML")
}

// TestE03_NoRestrictionIsLost has damage at, or around, what limits a skill.
func TestE03_NoRestrictionIsLost(t *testing.T) {
	bad := "description: Use when: asked"
	// At the restriction itself: the file is at fault, in that line.
	wantFault(t, file("name: folder", "allowed-tools: [Read, Write"), 3, "put the value of allowed-tools in quotes")
	wantFault(t, file("name: folder", "disallowed-tools: [Bash, Write", "license: MIT"), 3, "disallowed-tools")
	wantFault(t, file("name: folder", "disallowed_tools: *"), 3, "disallowed_tools")
	wantFault(t, file("name: folder", bad, "allowed-tools: Bash(a: b)"), 4, "allowed-tools")
	wantFault(t, file("name: folder", "allowed-tools: Bash(git, Write"), 3, "parenthesis")
	wantFault(t, file("name: folder", "disallowed-tools: Bash), Write"), 3, "parenthesis")
	wantFault(t, file("name: folder", "allowed-tools: {Read: true}"), 3, "neither a word nor a list")
	wantFault(t, file("name: folder", "disallowed-tools: [[Write]]"), 3, "list within a list")
	// A quotation mark left open takes in the restriction behind it, and is YAML.
	wantFault(t, file("name: folder", `description: "left open`, "allowed-tools: Read", `license: MIT"`), 4, "as part of another value")
	wantFault(t, file("name: folder", `description: "left open`, `'allowed-tools': Read`, `license: MIT"`), 4, "as part of another value")
	wantFault(t, file("name: folder", `description: 'left open`, "Disallowed_Tools : Write", `license: MIT'`), 4, "as part of another value")
	// After a repair the lines have the numbers that they had.
	wantFault(t, file("name: folder", bad, "  and told", "", "tools: [[a]]"), 6, "list within a list")
	// What a repair would take in is not repaired.
	wantFault(t, file("name: folder", bad, "  allowed-tools: Read"), 3, "not YAML")
	wantFault(t, file("name: folder", bad, "  'allowed-tools': Read"), 3, "not YAML")
	wantFault(t, file("name: folder", bad, "? allowed-tools", ": Read"), 3, "not YAML")
	wantFault(t, file("name: folder", bad, "!!str allowed-tools: Read"), 3, "not YAML")
	wantFault(t, file("  name: folder", "  "+bad, "  allowed-tools: Read"), 2, "does not begin with a line")
	wantFault(t, file("name: folder", bad, "metadata:", "\tallowed-tools: Read"), 5, "not YAML")
	wantFault(t, file("name: folder", bad, "license: |", "  x", " y"), 6, "not YAML")
	// However it is spelled, it is the same field.
	for _, key := range []string{"allowed-tools", "allowed_tools", "allowedTools", "Allowed-Tools", "ALLOWED-TOOLS", "allowed tools", `"allowed-tools"`, "'allowed-tools'", "allowed-tools "} {
		wantParsed(t, file("name: folder", bad, key+": Read"), Summary{Name: "folder", Description: "Use when: asked", AllowedTools: []string{"Read"}})
		wantParsed(t, file("name: folder", "description: d", key+": Read"), Summary{Name: "folder", Description: "d", AllowedTools: []string{"Read"}})
		wantFault(t, file("name: folder", "allowed-tools: Read", key+": Read Write"), 4, "is there twice, first in line 3")
	}
	for _, key := range []string{"disable-model-invocation", "disable_model_invocation", "disableModelInvocation"} {
		wantParsed(t, file("name: folder", "description: d", key+": true"), Summary{Name: "folder", Description: "d", DisableModelInvocation: true})
	}
	for _, key := range []string{"user-invocable", "user_invocable", "userInvocable", "user-invokable"} {
		wantParsed(t, file("name: folder", "description: d", key+": no"), Summary{Name: "folder", Description: "d", DisableUserInvocation: true})
	}
	// A list of nothing is not no list.
	wantParsed(t, file("name: folder", "description: d", "allowed-tools:"), Summary{Name: "folder", Description: "d", AllowedTools: []string{}})
	wantParsed(t, file("name: folder", "description: d", "allowed-tools: []"), Summary{Name: "folder", Description: "d", AllowedTools: []string{}})
	// What is neither true nor false limits.
	for _, value := range []string{"", "maybe", "[true]", "{a: b}", "tru", "~"} {
		got := wantParsed(t, file("name: folder", "description: d", "disable-model-invocation: "+value, "user-invocable: "+value),
			Summary{Name: "folder", Description: "d", DisableModelInvocation: true, DisableUserInvocation: true})
		wantWarning(t, got, "disable-model-invocation is neither")
		wantWarning(t, got, "user-invocable is neither")
	}
	for _, value := range []string{"false", "No", "OFF", `"false"`, "0"} {
		wantParsed(t, file("name: folder", "description: d", "disable-model-invocation: "+value), Summary{Name: "folder", Description: "d"})
	}
	for _, value := range []string{"true", "Yes", "ON", `"true"`, "1"} {
		wantParsed(t, file("name: folder", "description: d", "user-invocable: "+value), Summary{Name: "folder", Description: "d"})
	}
}

// TestE05_WrittenTextStays has values of which YAML makes something else.
func TestE05_WrittenTextStays(t *testing.T) {
	for _, name := range []string{"no", "on", "off", "Yes", "1.0", "007", "0x10", "0o7", "2024-01-01", "null", "true", "1e3", "1_000", ".inf0"} {
		if strings.HasPrefix(name, ".") {
			continue
		}
		wantParsed(t, file("name: "+name, "description: "+name, "license: "+name, "keywords: ["+name+", off]", "metadata: {version: "+name+"}", "x: "+name),
			Summary{Name: name, Description: name, License: name, Keywords: []string{name, "off"}, Metadata: map[string]any{"version": name}, Extra: map[string]any{"x": name}})
	}
	wantFault(t, file("name: ~"), 2, `holds '~'`)
	wantParsed(t, file("name: folder", "description: ~", "on: off"), Summary{Name: "folder", Description: "~", Extra: map[string]any{"on": "off"}})
}

// TestE05_ScalarsAndLists has one where the other is expected.
func TestE05_ScalarsAndLists(t *testing.T) {
	base := []string{"name: folder", "description: d"}
	with := func(lines ...string) string { return file(append(slices.Clone(base), lines...)...) }
	wantParsed(t, with("tools: read_file"), Summary{Name: "folder", Description: "d", Tools: []string{"read_file"}})
	wantParsed(t, with("keywords: one word"), Summary{Name: "folder", Description: "d", Keywords: []string{"one word"}})
	wantParsed(t, with("keywords: one, two ,"), Summary{Name: "folder", Description: "d", Keywords: []string{"one", "two"}})
	wantParsed(t, with("allowed-tools: [\"Read, Write\", 'Bash(a, b)']"), Summary{Name: "folder", Description: "d", AllowedTools: []string{"Read", "Write", "Bash(a, b)"}})
	wantParsed(t, with("allowed-tools: >", "  Read", "  Bash(git (x) add:*),Write"), Summary{Name: "folder", Description: "d", AllowedTools: []string{"Read", "Bash(git (x) add:*)", "Write"}})
	wantWarning(t, wantParsed(t, with("compatibility: [linux, mac]"), Summary{Name: "folder", Description: "d", Compatibility: "linux, mac"}), "compatibility is a list")
	wantWarning(t, wantParsed(t, with("license: {spdx: MIT}"), Summary{Name: "folder", Description: "d", Extra: map[string]any{"license": map[string]any{"spdx": "MIT"}}}), "license is no text")
	wantWarning(t, wantParsed(t, with("metadata: text"), Summary{Name: "folder", Description: "d", Extra: map[string]any{"metadata": "text"}}), "metadata is not made of lines")
	wantParsed(t, with("metadata:"), Summary{Name: "folder", Description: "d"})
	wantFault(t, file("name: [a]"), 2, "the name is not a text")
	wantFault(t, file("name: {a: b}"), 2, "the name is not a text")
	wantFault(t, with("keywords: [[a]]"), 4, "list within a list")
	wantFault(t, file("- name: folder"), 2, "of the form key: value")
	wantFault(t, file("just a text"), 2, "of the form key: value")
	wantParsed(t, "---\n# nothing\n\n---\n", Summary{Name: "folder"})
	wantParsed(t, "---\n---\n", Summary{Name: "folder"})
}

// TestE05_Duplicates has keys twice, and merge keys.
func TestE05_Duplicates(t *testing.T) {
	wantFault(t, file("name: folder", "name: other"), 3, "name is there twice, first in line 2")
	wantFault(t, file("name: folder", "license: a", "description: Use when: asked", "license: b"), 5, "license is there twice, first in line 3")
	wantFault(t, file("name: folder", "metadata:", "  a: 1", "  a: 2"), 5, "a is there twice")
	wantFault(t, file("name: folder", "x: [{a: 1, a: 2}]"), 3, "a is there twice")
	wantFault(t, file("base: &b {allowed-tools: Write}", "name: folder", "<<: *b"), 4, "merge keys")
	wantFault(t, file("name: folder", "metadata:", "  <<: {a: b}"), 4, "merge keys")
	wantFault(t, file("name: folder", "? [a, b]", ": c"), 3, "a key is not a word")
	wantFault(t, file("name: folder", "metadata: {[a]: b}"), 3, "a key is not a word")
	wantParsed(t, file("name: folder", `"<<": text`), Summary{Name: "folder", Extra: map[string]any{"<<": "text"}})
}

// TestE05_Aliases has them do what they are for, and no more.
func TestE05_Aliases(t *testing.T) {
	wantParsed(t, file("name: folder", "description: &d text", "when-to-use: *d", "base: &t [Read]", "allowed-tools: *t", "user-invocable: &no false", "disable-model-invocation: *no"),
		Summary{Name: "folder", Description: "text", WhenToUse: "text", AllowedTools: []string{"Read"}, DisableUserInvocation: true, Extra: map[string]any{"base": []any{"Read"}}})
	wantFault(t, file("name: folder", "allowed-tools: *nobody"), 3, "unknown anchor")
	wantFault(t, file("name: folder", "x: &x [*x]"), 3, "nested deeper than 32")
	wantFault(t, file("name: folder", "x: "+strings.Repeat("[", 40)+strings.Repeat("]", 40)), 3, "nested deeper than 32")
	wantFault(t, file("name: folder", "tools: "+strings.Repeat("[", 50_000)), 3, "not YAML")

	bomb := []string{"name: folder", "x0: &x0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]"}
	for i := 1; i < 9; i++ {
		bomb = append(bomb, fmt.Sprintf("x%d: &x%d [%s*x%d]", i, i, strings.Repeat(fmt.Sprintf("*x%d,", i-1), 8), i-1))
	}
	long := file("name: folder", "a: &a "+strings.Repeat("x", 200<<10), "x: [*a,*a,*a,*a,*a,*a,*a,*a]")
	for _, body := range []string{file(bomb...), long} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse([]byte(body), "x/SKILL.md")
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "expand to more than") {
			t.Errorf("%.80q…: %v, want a fault of its aliases", body, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
			t.Errorf("%.80q… took %d bytes", body, took)
		}
	}
	wantFault(t, file("name: folder", "x: "+strings.Repeat("x", maxHeader)), 1, "the front matter has")
	wantFault(t, file("name: folder")+strings.Repeat("x", MaxSize), 0, "more than")
}

// TestE07_Names has names that would lead elsewhere.
func TestE07_Names(t *testing.T) {
	for _, name := range []string{
		"../evil", "/etc/x", "a/../../b", "..", ".", `""`, "' '", `"a\\b"`, `a\b`, `C:\x`, "C:x", `"a\0b"`, "%2e%2e/x", "a%2Fb", "a/b", "~", "~root",
		".hidden", "hidden.", "-rf", "rf-", "a..b", "a  b", "a\u200bb", "a\u202eb", "a\u00a0b", "😀", "a*b", "a|b", "a&b", "$HOME", `"a\nb"`, `"a\tb"`,
		strings.Repeat("x", MaxName+1), strings.Repeat("é", MaxName+1), "／etc", "a∕b", "con:",
	} {
		wantFault(t, file("name: "+name, "description: d"), 2, "name ")
	}
	wantFault(t, file("name: a\x00b"), 2, "control characters")
	wantFault(t, file("description: d", "name: a\x1bb"), 3, "control characters")
	for _, name := range []string{"a", "7", "pdf-tools", "a1-b2", strings.Repeat("x", MaxName)} {
		if got := wantParsed(t, file("name: "+name, "description: d"), Summary{Name: name, Description: "d"}); hasWarning(got, "outside the specification") {
			t.Errorf("%q: %q", name, got.Warnings)
		}
	}
	for _, name := range []string{"Skill Development", "my_skill", "v1.2", "a--b", "PDF", "技能", "навык", "e\u0301te\u0301", strings.Repeat("é", MaxName)} {
		got := wantParsed(t, file("name: "+name, "description: d"), Summary{Name: name, Description: "d"})
		wantWarning(t, got, "outside the specification")
	}
	got := wantParsed(t, file("name: other", "description: d"), Summary{Name: "other", Description: "d"})
	wantWarning(t, got, "is not that of the folder")
}

func TestNameOfTheFolder(t *testing.T) {
	for source, want := range map[string]string{
		"team/pdf/SKILL.md": "pdf", "/pdf/SKILL.md": "pdf", `C:\skills\pdf\SKILL.md`: "pdf", "pdf/skill.md": "pdf",
		"SKILL.md": "", "/SKILL.md": "", "pdf/README.md": "", "": "", "../SKILL.md": "", "a b\u200b/SKILL.md": "",
	} {
		for _, body := range []string{file("description: d"), file("name:", "description: d")} {
			got, err := Parse([]byte(body), source)
			if got.Name != want || (err == nil) != (want != "") {
				t.Errorf("%q: %q, %v; want %q", source, got.Name, err, want)
			}
		}
	}
}

func TestNoName(t *testing.T) {
	_, err := Parse([]byte(file("description: d")), "SKILL.md")
	if err == nil || !strings.Contains(err.Error(), "SKILL.md:2: the file states no name") {
		t.Errorf("got %v", err)
	}
}

func TestWarnsOfWhatTheSpecificationForbids(t *testing.T) {
	for chars, want := range map[int]bool{maxDescription: false, maxDescription + 1: true} {
		got, err := Parse([]byte(file("name: a", "description: "+strings.Repeat("é", chars))), "a/SKILL.md")
		if err != nil || hasWarning(got, "the description has") != want {
			t.Errorf("description of %d: %q, %v", chars, got.Warnings, err)
		}
		got, err = Parse([]byte(file("name: a", "description: d", "compatibility: "+strings.Repeat("é", chars-maxDescription+maxCompatibility))), "a/SKILL.md")
		if err != nil || hasWarning(got, "compatibility has") != want {
			t.Errorf("compatibility: %q, %v", got.Warnings, err)
		}
	}
}

// TestD16_BytesThatAreNotText has them in the front matter and in the body.
func TestD16_BytesThatAreNotText(t *testing.T) {
	got := wantParsed(t, file("name: folder", "description: cut \xed\xa0\xbd here", "x: \xff"), Summary{Name: "folder", Description: "cut \uFFFD here", Extra: map[string]any{"x": "\uFFFD"}})
	wantWarning(t, got, "not UTF-8")
	wantWarning(t, wantParsed(t, file("name: folder")+"\xff", Summary{Name: "folder"}), "not UTF-8")
	wantFault(t, file("name: fol\xffder"), 2, "name")
	// Where it may have been a restriction it is a fault.
	wantFault(t, file("name: folder", "disallowed-tools: Ba\xffsh"), 3, "something that is not text")
	wantFault(t, file("name: folder", "disallowed-tools: [Read, Ba\u200bsh]"), 3, "something that is not text")
	wantFault(t, file("name: folder", "allowed-t\xffools: Read"), 3, "something that is not text")
	wantFault(t, file("name: folder", "allowed-\u00adtools: Read"), 3, "something that is not text")
}
