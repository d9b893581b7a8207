package literal

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/textsearch"
)

func find(text, needle string) []textsearch.Span {
	return slices.Collect(NewMatcher(needle).Find(text))
}

// found returns the parts of a text that a needle matches, in bars.
func found(text, needle string) string {
	var parts strings.Builder
	for span := range NewMatcher(needle).Find(text) {
		parts.WriteString("|" + text[span.Start:span.End] + "|")
	}
	return parts.String()
}

func TestC13_OffsetsSurviveFolding(t *testing.T) {
	for _, c := range []struct {
		text, needle string
		start, end   int
	}{
		{"İİ error here", "error", 5, 10},
		{"İİ ERROR here", "error", 5, 10},
		{"ȺȺ error here", "ERROR", 5, 10},
		{"ⱥⱥ error here", "error", 7, 12}, // lower case is a byte longer
		{"ȺȺ error here", "ⱥⱥ E", 0, 6},
		{"in İstanbul", "istanbul", 3, 12},
		{"in istanbul", "İSTANBUL", 3, 11},
		{"in I\u0307stanbul", "istanbul", 3, 13},
		{"in ısparta", "ISPARTA", 3, 11},
		{"in ISPARTA", "ısparta", 3, 10},
		{"10 \u212Aelvin", "kelvin", 3, 11},
		{"10 kelvin", "\u212AELVIN", 3, 9},
	} {
		want := []textsearch.Span{{Start: c.start, End: c.end}}
		if got := find(c.text, c.needle); !slices.Equal(got, want) {
			t.Errorf("%q in %q is at %v, want %v", c.needle, c.text, got, want)
		}
	}
}

// Folding has no locale: all that is an i somewhere is one everywhere.
func TestC13_LocaleDoesNotCount(t *testing.T) {
	for _, needle := range []string{"title", "TITLE", "tıtle", "TİTLE", "ti\u0307tle"} {
		for _, locale := range []string{"C", "tr_TR.UTF-8"} {
			t.Setenv("LC_ALL", locale)
			if got := found("TITLE title tıtle TİTLE", needle); got != "|TITLE||title||tıtle||TİTLE|" {
				t.Errorf("%q in %s: %s", needle, locale, got)
			}
		}
	}
}

func TestC20_NeedlesOfAnyLength(t *testing.T) {
	archive := []string{"quick check says ok to proceed", "the quick brown fox", "今天修复了", "line a\nb line", "OK"}
	for _, c := range []struct {
		needle string
		want   []int // which of the archive
	}{
		{"ok", []int{0}},
		{"OK", []int{4}},
		{"k", []int{0, 1}},
		{"", nil},
		{"修复", []int{2}},
		{"quick ok", nil},
		{"a\nb", []int{3}},
		{"the quick brown fox", []int{1}},
		{"The Quick Brown Fox", []int{1}},
		{"the quick brown fox ", nil},
	} {
		var got []int
		for i, text := range archive {
			if find(text, c.needle) != nil {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q is found in %v, want %v", c.needle, got, c.want)
		}
	}
}

// A match that two pages share is found in the text, where its bytes say.
func TestC20_NeedleAcrossPages(t *testing.T) {
	text := "ȺȺ the quick brown fox"
	first, next := Page(text, 0, 12)
	second, _ := Page(text, next, 12)
	if first != "ȺȺ the qui" || second != "ck brown fox" {
		t.Fatalf("pages %q, %q", first, second)
	}
	span := find(text, "QUICK")[0]
	if span != (textsearch.Span{Start: 9, End: 14}) || first[span.Start:]+second[:span.End-next] != "quick" {
		t.Errorf("at %v", span)
	}
}

func TestFindByHand(t *testing.T) {
	for _, c := range []struct{ text, needle, want string }{
		{"aaaaaaa", "aaa", "|aaa||aaa|"},
		{"STRASSE Straße straſſe", "strasse", "|STRASSE||Straße||straſſe|"},
		{"STRASSE Straße", "STRAẞE", "|STRASSE||Straße|"},
		{"aßta assta", "sta", "|sta|"}, // not inside ß
		{"Maß mass", "mas", "|mas|"},
		{"café cafe\u0301 CAFÉ cafe", "café", "|café||cafe\u0301||CAFÉ|"},
		{"café cafe\u0301", "cafe", "|cafe|"}, // the accent is a character of its own there
		{"file ﬁle", "FIL", "|fil||ﬁl|"},
		{"ＡＢＣ abc", "abc", "|abc|"},
		{"한국어 \u1112\u1161\u11AB국어", "한국", "|한국||\u1112\u1161\u11AB국|"},
		{"각", "가", ""}, // not inside a syllable
		{"ΟΔΟΣ οδος", "οδοσ", "|ΟΔΟΣ||οδος|"},
		{"Привет ПРИВЕТ привет", "привет", "|Привет||ПРИВЕТ||привет|"},
		{"Москва́й МОСКВА́Й", "а́й", "|а́й||А́Й|"},
		{"taxi\u0307 taxi", "taxi", "|taxi\u0307||taxi|"},
		{"i\u0307b", "\u0307bc", ""},
		{"a\xffbc \xffBC \xfebc", "\xffbc", "|\xffbc||\xffBC|"},
		{"abſ ab\xc5 AB\xc5", "ab\xc5", "|ab\xc5||AB\xc5|"}, // not half a ſ
		{"ſab \xbfab", "\xbfab", "|\xbfab|"},
		{"\xe2\x84\xaaab \xe2\x84ab", "\xe2\x84a", "|\xe2\x84a|"},
		{"ſ \xbf", "\xbf", "|\xbf|"},
		{"ſ \xc5 ", "\xc5", "|\xc5|"},
		{"\uFFFDab \xffab", "\uFFFDab", "|\uFFFDab|"},
		{"🚀🚀🚀 go", "🚀🚀🚀", "|🚀🚀🚀|"},
		{"a\x00b", "A\x00B", "|a\x00b|"},
		{"short", "shorter", ""},
		{"", "abc", ""},
		{"\u2126hm ωHM Ωhm", "ohm", ""},
		{"\u2126hm ωHM Ωhm", "ωhm", "|\u2126hm||ωHM||Ωhm|"},
		{"\uF900車輪 豈車輪", "豈車輪", "|\uF900車輪||豈車輪|"},
	} {
		if got := found(c.text, c.needle); got != c.want {
			t.Errorf("%+q in %+q: %+q, want %+q", c.needle, c.text, got, c.want)
		}
	}
}

// Where the slow way begins, it begins with a whole character: a byte of one is no
// byte that is not UTF-8.
func TestFindNearIrregularCharacters(t *testing.T) {
	for pad := range 40 {
		text := "xx¿sss" + strings.Repeat("x", pad) + "ß"
		if got := found(text, "\xbfsss"); got != "" {
			t.Errorf("in %q is found %q", text, got)
		}
		if got := found(text, "¿SSS"); got != "|¿sss|" {
			t.Errorf("in %q is found %q", text, got)
		}
	}
}

func TestBorder(t *testing.T) {
	text := "aé\xe2\x84i\u0307ı\u0307\u0307e\u0307🚀"
	want := []int{0, 1, 1, 3, 4, 5, 5, 5, 8, 8, 8, 8, 12, 12, 14, 15, 15, 17, 17, 17, 17, 21}
	for i, at := range want {
		if got := border(text, i); got != at {
			t.Errorf("before %d is a border at %d, want %d", i, got, at)
		}
	}
}

// Composed and decomposed are the same, both ways; what is found is as it stood.
func TestC12_ComposedOrNot(t *testing.T) {
	const composed, decomposed = "caf\u00E9 na\u00EFve \u00C5ngstr\u00F6m", "cafe\u0301 nai\u0308ve A\u030Angstro\u0308m"
	for _, text := range []string{composed, decomposed} {
		for _, needle := range []string{composed, decomposed, "\u212Bngstr\u00F6m", "NAÏVE"} {
			if find(text, needle) == nil {
				t.Errorf("%+q is not found in %+q", needle, text)
			}
		}
		if got := found(text, strings.ToUpper(composed)); got != "|"+text+"|" {
			t.Errorf("in %+q is found %+q", text, got)
		}
	}
}

func TestMatcherIsSharedByGoroutines(t *testing.T) {
	text := strings.Repeat("Straße é error ſ ", 200)
	m := NewMatcher("strasse é")
	want := findByModel(text, "strasse é")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got := slices.Collect(m.Find(text)); !slices.Equal(got, want) {
				t.Errorf("%d matches, want %d", len(got), len(want))
			}
		})
	}
	group.Wait()
}

func TestMatcherStopsEarly(t *testing.T) {
	for _, needle := range []string{"aaa", "a"} {
		n := 0
		for range NewMatcher(needle).Find(strings.Repeat("a", 100)) {
			if n++; n == 2 {
				break
			}
		}
		if n != 2 {
			t.Errorf("%d matches", n)
		}
	}
}

// Texts and needles that are made to be slow are not: the work is bounded by the
// length of the text, whatever that of the needle.
func TestFindIsLinear(t *testing.T) {
	const size = 1 << 20
	for _, c := range []struct{ name, text, needle string }{
		{"one letter", strings.Repeat("a", size), strings.Repeat("a", size/2) + "b"},
		{"long s", strings.Repeat("sſ", size/3), strings.Repeat("s", size/8) + "b"},
		{"inside characters", strings.Repeat("ß", size/2), "b" + strings.Repeat("s", size/8)},
		{"odd", "s" + strings.Repeat("ß", size/2), strings.Repeat("s", 1001)},
		{"dots", strings.Repeat("\u0307", size/2), strings.Repeat("i", 1000)},
	} {
		s := search{m: NewMatcher(c.needle), text: c.text, stream: stream{m: NewMatcher(c.needle)}}
		for {
			if _, ok := s.next(); !ok {
				break
			}
		}
		if limit := maxWork*size + freeWork + len(c.needle) + candidateWork; s.work > limit {
			t.Errorf("%s: candidates took %d steps", c.name, s.work)
		}
		if s.stream.read > 3*size {
			t.Errorf("%s: %d code points were streamed", c.name, s.stream.read)
		}
	}
}
