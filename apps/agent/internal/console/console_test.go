package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// to returns a printer into a file, as if it were a terminal of that width, and a
// function that returns what was written.
func to(t *testing.T, width int, styled bool) (*Printer, func() string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	p := New(f, func(string) string { return "" })
	p.width, p.styled = width, styled
	return p, func() string {
		t.Helper()
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

func TestFileIsNoTerminal(t *testing.T) {
	p, _ := to(t, 0, false)
	if p.Terminal() || p.Bold("x") != "x" || p.Width() != 0 {
		t.Error("a file passes for a terminal")
	}
}

// Whatever a transcript holds, it moves no cursor and changes no color.
func TestForeignTextIsHarmless(t *testing.T) {
	for _, s := range []string{
		"\x1b[31mred\x1b[0m", "\x1b]0;title\a", "a\rb", "a\bb", "\u009b2J", "\u202eevil", "\x00", "\xff\xfe", "a\x7f", "\u2066x\u2069",
	} {
		for name, clean := range map[string]string{"Line": Line(s), "Text": Text(s)} {
			if i := strings.IndexFunc(clean, func(r rune) bool {
				return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
			}); i >= 0 || !utf8.ValidString(clean) {
				t.Errorf("%s(%q) = %q", name, s, clean)
			}
		}
	}
	if got := Text("a\r\n\tb"); got != "a\n\tb" {
		t.Errorf("Text took away lines or tabs: %q", got)
	}
	if got := Line("  a\n\n b\t"); got != "a b" {
		t.Errorf("Line: %q", got)
	}
}

func TestMarked(t *testing.T) {
	plain, _ := to(t, 0, false)
	styled, _ := to(t, 80, true)
	for _, c := range []struct {
		text   string
		spans  []Span
		plain  string
		styled string
	}{
		{"a crab walks", []Span{{2, 6}}, "a «crab» walks", "a \x1b[1;4mcrab\x1b[0m walks"},
		{"crab\ncrab", []Span{{0, 4}, {5, 9}}, "«crab» «crab»", "\x1b[1;4mcrab\x1b[0m \x1b[1;4mcrab\x1b[0m"},
		{"İİ error", []Span{{5, 10}}, "İİ «error»", "İİ \x1b[1;4merror\x1b[0m"},
		{"x\x1b[0my", []Span{{0, 1}}, "«x»\uFFFD[0my", "\x1b[1;4mx\x1b[0m\uFFFD[0my"},
		{"short", []Span{{2, 99}, {3, 3}}, "short", "short"},
		{"", nil, "", ""},
	} {
		if got := plain.Marked(c.text, c.spans); got != c.plain {
			t.Errorf("plain %q: %q, want %q", c.text, got, c.plain)
		}
		if got := styled.Marked(c.text, c.spans); got != c.styled {
			t.Errorf("styled %q: %q, want %q", c.text, got, c.styled)
		}
	}
}

func TestIndentFitsTheTerminal(t *testing.T) {
	p, _ := to(t, 24, false)
	for text, want := range map[string]string{
		"one two three four five six":      "  one two three four\n  five six\n",
		"a\n\nb":                           "  a\n\n  b\n",
		"  - three words and more of them": "    - three words and\n    more of them\n",
		"x = 1  // a comment that is long": "  x = 1  // a comment th\n  at is long\n",
		"日本語日本語日本語日本語":                     "  日本語日本語日本語日本\n  語\n",
	} {
		if got := p.Indent("  ", text); got != want {
			t.Errorf("%q:\n%q, want\n%q", text, got, want)
		}
		for line := range strings.Lines(p.Indent("  ", text)) {
			if n := Cells(strings.TrimSuffix(line, "\n")); n > 24 {
				t.Errorf("%q: a line of %d columns", text, n)
			}
		}
	}
	wide, _ := to(t, 0, false)
	if got := wide.Indent("", strings.Repeat("word ", 100)); strings.Count(got, "\n") != 1 {
		t.Error("a line was broken where there is no terminal")
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	table := func() *Table {
		t := &Table{Columns: []Column{{Title: "NAME"}, {Title: "WHAT", Flex: true}, {Title: "SIZE", Right: true}}}
		t.Add("one", strings.Repeat("long ", 10), "7")
		t.Add("twenty", "日本語の長い名前がここに", "1,000")
		return t
	}
	p, written := to(t, 40, false)
	p.Table(table())
	want := "" +
		"NAME    WHAT                        SIZE\n" +
		"one     long long long long long…      7\n" +
		"twenty  日本語の長い名前がここに   1,000\n"
	if got := written(); got != want {
		t.Errorf("at 40 columns\n%s want\n%s", got, want)
	}
	p, written = to(t, 0, false)
	p.Table(table())
	if !strings.Contains(written(), strings.TrimSpace(strings.Repeat("long ", 10))) {
		t.Error("a cell was cut where there is no terminal")
	}
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	for before, want := range map[time.Duration]string{
		0: "just now", 59 * time.Second: "just now", time.Minute: "1m ago", 59*time.Minute + 59*time.Second: "59m ago",
		time.Hour: "1h ago", 23 * time.Hour: "23h ago", 24 * time.Hour: "1d ago", 30 * 24 * time.Hour: "30d ago",
		31 * 24 * time.Hour: "2026-01-29", -time.Hour: "2026-03-01",
	} {
		if got := Ago(now.Add(-before), now); got != want {
			t.Errorf("%v ago: %q, want %q", before, got, want)
		}
	}
	if got := Ago(time.Time{}, now); got != "" {
		t.Errorf("no time is %q", got)
	}
}
