package literal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/crabstore/crabstore/textsearch"
)

var seeds = []struct{ text, needle string }{
	{"", ""}, {"İİ error here", "error"}, {"ȺȺ", "ⱥⱥ"}, {"10 \u212Aelvin", "kelvin"}, {"Straße", "STRASSE"}, {"aßta", "sta"},
	{"cafe\u0301", "CAFÉ"}, {"i\u0307i\u0307", "iii"}, {"한국어", "한"}, {"修复ok的bug", "ok的"}, {"\xffab\xe2\x84", "\xffAB"}, {"\u0307\u0307i", "\u0307i"},
	{"👩\u200d👧 \r\n", "👧"}, {"\xed\xa0\x80abc", "\x80abc"}, {"豈\uF900", "豈豈"}, {strings.Repeat("sſ", 50), "sssss"}, {"ŉab", "\u02BCna"},
}

func FuzzFind(f *testing.F) {
	for _, s := range seeds {
		f.Add(s.text, s.needle)
	}
	f.Fuzz(func(t *testing.T, text, needle string) {
		checkFind(t, text, needle)
		if utf8.ValidString(text) && utf8.ValidString(needle) && needle != "" && !strings.Contains(text+needle, "\u0307") &&
			strings.Contains(text, needle) && len(find(text, needle)) == 0 {
			t.Fatalf("%+q is not found in %+q, which holds it", needle, text)
		}
	})
}

func FuzzTrigrams(f *testing.F) {
	for _, s := range seeds {
		f.Add(s.text, s.needle)
	}
	f.Fuzz(func(t *testing.T, text, needle string) {
		var grams Trigrammer
		checkTrigrams(t, &grams, text)
		checkFilter(t, &grams, text, needle)
		checkFilter(t, &grams, text+needle+text, needle)
	})
}

func FuzzPage(f *testing.F) {
	for i, s := range seeds {
		f.Add(s.text, i, 2*i)
	}
	f.Fuzz(func(t *testing.T, text string, offset, maxBytes int) {
		checkPages(t, text, maxBytes%100)
		page, next := Page(text, offset, maxBytes)
		if next >= 0 && (page == "" || text[next-len(page):next] != page) {
			t.Fatalf("the page at %d of %+q is %+q, the next at %d", offset, text, page, next)
		}
	})
}

func FuzzPreview(f *testing.F) {
	for i, s := range seeds {
		f.Add(s.text, s.needle, 3*i)
	}
	f.Fuzz(func(t *testing.T, text, needle string, maxBytes int) {
		checkPreview(t, text, find(text, needle), maxBytes%1000)
	})
}

// checkPreview checks that a window is what it says: short, in UTF-8, and a part of
// the text, in which the spans are parts of matches, as they are displayed.
func checkPreview(t *testing.T, text string, matches []textsearch.Span, maxBytes int) {
	t.Helper()
	w := Preview(text, matches, maxBytes)
	if !utf8.ValidString(w.Text) || len(w.Text) > max(maxBytes, 0) {
		t.Fatalf("preview of %+q to %d bytes: %+q", text, maxBytes, w.Text)
	}
	shown, spans := Display(text, matches)
	before, _ := Display(text[:w.Start], nil)
	if !strings.HasPrefix(shown[len(before):], w.Text) {
		t.Fatalf("preview of %+q: %+q is not at %d", text, w.Text, w.Start)
	}
	left := 0
	for _, s := range w.Spans {
		whole := textsearch.Span{Start: s.Start + len(before), End: s.End + len(before)}
		for left < len(spans) && spans[left].End < whole.End {
			left++
		}
		if s.Start >= s.End || s.End > len(w.Text) || left == len(spans) || whole.Start < spans[left].Start {
			t.Fatalf("preview of %+q: %+v holds no match at %v", text, w, s)
		}
	}
}
