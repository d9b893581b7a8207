package literal

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

func TestPageByHand(t *testing.T) {
	for _, c := range []struct {
		text        string
		offset, max int
		page        string
		next        int
	}{
		{"", 0, 10, "", -1},
		{"abc", 0, 10, "abc", -1},
		{"abc", 0, 3, "abc", -1},
		{"abc", 0, 2, "ab", 2},
		{"abc", 3, 2, "", -1},
		{"abc", 99, 2, "", -1},
		{"abc", -5, 2, "ab", 2},
		{"abc", 0, 0, "a", 1},
		{"abc", 0, -1, "a", 1},
		{"abc", 1, 1 << 62, "bc", -1},
		{"aéb", 0, 2, "a", 1},
		{"aéb", 2, 2, "é", 3}, // from inside é
		{"🚀🚀", 0, 1, "🚀", 4},
		{"🚀🚀", 7, 3, "🚀", -1},
		{"e\u0301e\u0301", 0, 5, "e\u0301", 3},
		{"e\u0301e\u0301", 0, 2, "e", 1}, // the letter with its accent is longer than the page
		{"a👩\u200d👧b", 0, 8, "a", 1},
		{"ab\r\ncd", 0, 3, "ab", 2},
		{"ab\r\ncd", 0, 4, "ab\r\n", 4},
		{"\xff\xfe\x80", 0, 2, "\xff\xfe", 2},
		{"a\xe2\x84", 0, 2, "a\xe2", 2},
		{"\xe2\x84\xaa", 1, 9, "\u212A", -1},
	} {
		page, next := Page(c.text, c.offset, c.max)
		if page != c.page || next != c.next {
			t.Errorf("Page(%+q, %d, %d) = %+q, %d, want %+q, %d", c.text, c.offset, c.max, page, next, c.page, c.next)
		}
	}
}

// Marks without end make a character that no page holds; pages go on all the same.
func TestPageOfOneEndlessCharacter(t *testing.T) {
	text := "a" + strings.Repeat("\u0301", 5000) + "b"
	checkPages(t, text, 100)
}

func TestPagesAreTheText(t *testing.T) {
	rng := random(t)
	for range 3000 {
		checkPages(t, randomText(rng, rng.IntN(200)), rng.IntN(40))
	}
}

// Where characters as people see them are short, a page is the most of them that fit.
func TestPagesEndBetweenCharacters(t *testing.T) {
	rng := random(t)
	compared := 0
	for range 3000 {
		text, maxBytes := randomText(rng, rng.IntN(300)), 20+rng.IntN(200)
		want, longest := 0, 0
		for shown := graphemes.FromString(text); shown.Next(); {
			longest = max(longest, len(shown.Value()))
			if shown.End() <= maxBytes {
				want = shown.End()
			}
		}
		if longest > 20 {
			continue
		}
		compared++
		if page, _ := Page(text, 0, maxBytes); len(page) != want {
			t.Fatalf("a page of %d of %+q has %d bytes, want %d", maxBytes, text, len(page), want)
		}
	}
	if compared < 1000 {
		t.Errorf("only %d texts were compared", compared)
	}
}

func checkPages(t *testing.T, text string, maxBytes int) {
	t.Helper()
	var all strings.Builder
	for at := 0; at >= 0; {
		page, next := Page(text, at, maxBytes)
		if page == "" && text != "" {
			t.Fatalf("the page at %d of %+q is empty", at, text)
		}
		if len(page) > maxBytes && utf8.RuneCountInString(page) > 1 {
			t.Fatalf("the page at %d of %+q has %d bytes, more than %d", at, text, len(page), maxBytes)
		}
		if next >= 0 && next != at+len(page) {
			t.Fatalf("behind %d bytes at %d comes %d", len(page), at, next)
		}
		if utf8.ValidString(text) && !utf8.ValidString(page) {
			t.Fatalf("the page at %d of %+q splits a code point", at, text)
		}
		all.WriteString(page)
		at = next
	}
	if all.String() != text {
		t.Fatalf("pages of %+q make %+q", text, all.String())
	}
}
