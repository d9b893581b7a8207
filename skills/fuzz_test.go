package skills

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/crabstore/crabstore/kv"
)

// restricted finds a restriction as a person who looks at a file does: a line that
// begins with its name.
var restricted = regexp.MustCompile(`(?m)^(allowed-tools|disallowed-tools|tools|user-invocable):(?:\s|$)`)

// fatal is what both kinds of test end with.
type fatal interface{ Fatalf(string, ...any) }

// checkParsed wants that whatever is accepted can be stored and read back, holds
// no damaged text, and has every restriction that is plainly in the file.
func checkParsed(t fatal, body []byte) {
	s, err := Parse(body, "folder/SKILL.md")
	if err != nil {
		var fault *Fault
		if !errors.As(err, &fault) || fault.Source == "" || fault.Reason == "" || fault.Line < 0 {
			t.Fatalf("%#v", err)
		}
		return
	}
	if _, err := checkName(s.Name); err != nil {
		t.Fatalf("%v", err)
	}
	data, err := kv.Marshal(s)
	if err != nil {
		t.Fatalf("%v", err)
	}
	back, err := decodeSummary(kv.Entry{Value: data})
	if err != nil || !reflect.DeepEqual(s, back) {
		t.Fatalf("%v: stored %+v\nread %+v", err, s, back)
	}
	for _, text := range append([]string{s.Description, s.License, s.WhenToUse}, s.Keywords...) {
		if !utf8.ValidString(text) || strings.Contains(text, "\r") {
			t.Fatalf("text %q", text)
		}
	}
	h, err := findHeader(body)
	if err != nil {
		t.Fatalf("%v", err)
	}
	has := map[string]bool{
		"allowed-tools": s.AllowedTools != nil, "disallowed-tools": s.DisallowedTools != nil, "tools": s.Tools != nil,
		"user-invocable": s.DisableUserInvocation, // the tests below have it false or unreadable
	}
	for _, m := range restricted.FindAllStringSubmatch(h.text, -1) {
		if !has[m[1]] && (m[1] != "user-invocable" || !strings.Contains(h.text, "true")) {
			t.Fatalf("%s is in %q and not in %+v", m[1], h.text, s)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, body := range []string{
		"", "---\n---\n", "\xEF\xBB\xBF" + file("name: a", "description: Use when: asked", "allowed-tools: Read"),
		file("name: a", "description: \"open", "allowed-tools: Read", "x: \""), file("name: [a]", "tools: &a [*a]", "<<: {}"),
		"\xFF\xFE-\x00-\x00-\x00\n\x00", strings.ReplaceAll(file("name: a", "metadata:", "  - a: |", "     b", "user-invocable: true"), "\n", "\r\n"),
		file("name: a", "disallowed-tools: Bash(a b), 'c'", "description: >-", "  x", "keywords: [off, 007]"),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if strings.Contains(string(body), "user-invocable") && !strings.Contains(string(body), "true") {
			return // it may be another word for true
		}
		checkParsed(t, body)
	})
}

// TestRandomHeaders makes front matter of lines that go wrong together.
func TestRandomHeaders(t *testing.T) {
	line := rapid.SampledFrom([]string{
		"allowed-tools: Read", "disallowed-tools: [Write]", "tools:", "user-invocable: false", "user-invocable: perhaps", "allowed-tools: [a", "'tools': b",
		"description: Use when: asked", `description: "open`, "description: 'open", "description: |", "description: >-", "  indented", "  more: indented",
		"\ttab", "- item", `closed"`, "closed'", "x: [", "x: {", "]", "}", "# comment", "", "x: &a [1]", "y: *a", "z: !!str", "? a", ": b", "license: it's", "--- #",
		`"`, "'", "  'allowed-tools': x", "x: y # z", "keywords: a: b", "metadata:", "  a: b: c", "%TAG ! x", "text", "x: \"\\", "x: '''",
	})
	rapid.Check(t, func(r *rapid.T) {
		checkParsed(r, []byte(file(rapid.SliceOfN(line, 1, 8).Draw(r, "lines")...)))
	})
}
