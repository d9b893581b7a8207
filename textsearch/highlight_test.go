package textsearch_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/textsearch"
)

// marked writes text with its matches in brackets.
func marked(text string, spans []textsearch.Span) string {
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.Start] + "[" + text[s.Start:s.End] + "]")
		at = s.End
	}
	return b.String() + text[at:]
}

func TestHighlight(t *testing.T) {
	for _, test := range []struct{ query, want string }{
		{"deploy", "The [deployment] was [Deploying]; redeploy"},
		{"deploy*", "[deploys] and [deployment], not redeploy"},
		{"the server", "the [server]"},
		{"the", "[The] Who"},
		{"server", "an HTTP[Server]2 and http_[server]"},
		{"HTTPServer2", "an [HTTPServer2], a [Server] and a [http]"},
		{"get user", "[getUser]ById"},
		{"user id", "get[User]By[Id]"},
		{"client3 server", "HTTP[Server]2[Client3]"},
		{"key.go", "src/kv/[key.go] or [key] [go]"},
		{"c++", "in [C++] or [C]"},
		{"部署方案", "讨论了[部署方案]和[部署]"},
		{"部", "了[部]署和全[部]"},
		{"ガ", "a [ｶﾞ]ｷﾞ"},
		{"cafe\u0301", "a [café] and a [CAFE\u0301]"},
		{"error", "İİ [error] ȺȺ [ERROR]"},
		{"file", "a [ﬁle]"},
		{"strasse", "die [Straße]"},
		{"soft", "so\u00ADft"},
		{"", "nothing"},
		{"*", "nothing*"},
	} {
		text := strings.NewReplacer("[", "", "]", "").Replace(test.want)
		if test.query == "soft" {
			test.want = "[" + text + "]"
		}
		if got := marked(text, textsearch.Highlight(text, test.query)); got != test.want {
			t.Errorf("%q: %s, want %s", test.query, got, test.want)
		}
	}
}

func TestHighlighterLanguage(t *testing.T) {
	h, err := textsearch.NewHighlighter("haus", textsearch.Settings{Language: "german"})
	if err != nil {
		t.Fatal(err)
	}
	if got := marked("die Häuser", h.Spans("die Häuser")); got != "die [Häuser]" {
		t.Error(got)
	}
	if _, err := textsearch.NewHighlighter("x", textsearch.Settings{Language: "klingon"}); !errors.Is(err, textsearch.ErrSettings) {
		t.Errorf("klingon: %v", err)
	}
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("before ", 100) + "the match is here and a match there " + strings.Repeat("after ", 100)
	for _, test := range []struct {
		name, text, query string
		limit             int
		want              string // marked
		before, after     bool
	}{
		{"all of it", "a match", "match", 100, "a [match]", false, false},
		{"no match", "one two three four", "x", 9, "one two", false, true},
		{"densest", "match " + strings.Repeat("x ", 50) + "match match", "match", 20, "x x x x [match] [match]", true, false},
		{"in the middle", long, "match", 60, "before the [match] is here and a [match] there after after after", true, true},
		{"characters", strings.Repeat("部", 20), "x", 10, "部部部", false, true},
		{"clusters", "e\u0301e\u0301e\u0301e\u0301", "x", 4, "e\u0301", false, true},
		{"families", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "x", 30, "👩‍👩‍👧‍👦", false, true},
		{"white space alone is cut off", "  match" + strings.Repeat(" ", 30), "match", 7, "[match]", false, false},
		{"a match longer than the window", strings.Repeat("a", 40) + " b", strings.Repeat("a", 40), 10, "[aaaaaaaaaa]", false, true},
		{"nothing", "match", "match", 0, "", false, true},
		{"less", "match", "match", -1, "", false, true},
	} {
		w := textsearch.Snippet(test.text, textsearch.Highlight(test.text, test.query), test.limit)
		if got := marked(w.Text, w.Spans); strings.TrimSpace(got) != test.want || w.Before != test.before || w.After != test.after {
			t.Errorf("%s: %q, %t, %t; want %q, %t, %t", test.name, got, w.Before, w.After, test.want, test.before, test.after)
		}
		if len(w.Text) > max(test.limit, 0) || test.text[w.Start:w.Start+len(w.Text)] != w.Text {
			t.Errorf("%s: %q is not at %d", test.name, w.Text, w.Start)
		}
	}
}

// Whatever the limit, a window holds as many matches as any other of its length.
func TestSnippetHoldsTheMost(t *testing.T) {
	text := "a match, then " + strings.Repeat("word ", 30) + "(match,match)" + strings.Repeat("word ", 4) + "(match) " + strings.Repeat("word ", 30)
	spans := textsearch.Highlight(text, "match")
	for limit := 12; limit < len(text); limit++ {
		most := 0
		for i := range spans {
			last := slices.IndexFunc(spans, func(s textsearch.Span) bool { return s.End > spans[i].Start+limit })
			if last < 0 {
				last = len(spans)
			}
			most = max(most, last-i)
		}
		whole := 0
		for _, s := range textsearch.Snippet(text, spans, limit).Spans {
			if s.End-s.Start == len("match") {
				whole++
			}
		}
		if whole < most {
			t.Errorf("limit %d: %d matches, want %d", limit, whole, most)
		}
	}
}
