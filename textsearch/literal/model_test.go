package literal

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/crabstore/crabstore/textsearch"
)

// letter is a character of a text in the model.
type letter struct {
	start, end int
	folded     []string // code points; of a byte that is not UTF-8 that byte, which equals none
}

// lettersOf cuts a text into characters, with the folding of x/text.
func lettersOf(text string) []letter {
	var letters []letter
	known := map[rune][]string{}
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			letters = append(letters, letter{i, i + 1, []string{text[i : i+1]}})
			continue
		}
		end := i + utf8.RuneLen(r)
		if n := len(letters); r == 0x307 && n > 0 && slices.Contains([]string{"i", "I", "ı"}, text[letters[n-1].start:i]) {
			letters[n-1].end = end
			continue
		}
		if known[r] == nil {
			known[r] = strings.Split(foldByLibrary(r), "")
		}
		letters = append(letters, letter{i, end, known[r]})
	}
	return letters
}

// points returns what letters fold to.
func points(letters []letter) []string {
	var points []string
	for _, l := range letters {
		points = append(points, l.folded...)
	}
	return points
}

// findByModel tries every part of the text.
func findByModel(text, needle string) []textsearch.Span {
	letters, want := lettersOf(text), points(lettersOf(needle))
	if len(want) < 3 {
		return findExactByModel(text, needle)
	}
	var spans []textsearch.Span
	for i := 0; i < len(letters); i++ {
		rest, k := want, i
		for len(rest) > 0 && k < len(letters) && startsWith(rest, letters[k].folded) {
			rest = rest[len(letters[k].folded):]
			k++
		}
		if len(rest) == 0 {
			spans = append(spans, textsearch.Span{Start: letters[i].start, End: letters[k-1].end})
			i = k - 1
		}
	}
	return spans
}

func startsWith(points, first []string) bool {
	return len(points) >= len(first) && slices.Equal(points[:len(first)], first)
}

func findExactByModel(text, needle string) []textsearch.Span {
	var spans []textsearch.Span
	borders := map[int]bool{len(text): true}
	for i := range text {
		borders[i] = true
	}
	for i := 0; i < len(text) && needle != ""; i++ {
		if strings.HasPrefix(text[i:], needle) && borders[i] && borders[i+len(needle)] {
			spans = append(spans, textsearch.Span{Start: i, End: i + len(needle)})
			i += len(needle) - 1
		}
	}
	return spans
}

func trigramsByModel(text string) []string {
	p := points(lettersOf(text))
	seen := map[string]bool{}
	for i := 3; i <= len(p); i++ {
		seen[strings.Join(p[i-3:i], "|")] = true
	}
	var all []string
	for t := range seen {
		all = append(all, t)
	}
	slices.Sort(all)
	return all
}

// unpacked writes a trigram as the model does.
func unpacked(t Trigram) string {
	var parts []string
	for shift := 42; shift >= 0; shift -= 21 {
		r := rune(t >> shift & (1<<21 - 1))
		if r >= 0x110000 {
			parts = append(parts, string([]byte{byte(r - 0x110000)}))
		} else {
			parts = append(parts, string(r))
		}
	}
	return strings.Join(parts, "|")
}

// pieces are what folding has trouble with, and some that it has not.
var pieces = []string{
	"a", "b", "s", "S", "k", "K", "\u212A", "ſ", "ß", "ẞ", "i", "I", "İ", "ı", "\u0307", "i\u0307", "e", "E", "e\u0301", "é", "É", "\u0301",
	"Ⱥ", "ⱥ", "ﬁ", "ﬃ", "f", "σ", "ς", "Σ", "п", "П", "й", "и\u0306", "한", "하\u11AB", "각", "\u1100", "か", "が", "修", "复", "豈", "\uF900", "🚀", "👩\u200d👧",
	"\xff", "\x80", "\xc5", "\xbf", "\xe2\x84", "\xaa", "\xef", "\uFFFD", "\n", " ", "\x00", "error", "ＡＢ", "ŉ", "ᾂ", "µ", "μ", "Å", "\u212B", "Ω", "\u2126", ";", "\u037E",
}

// randomText returns n pieces, of only a few kinds, so that they repeat.
func randomText(rng *rand.Rand, n int) string {
	few := make([]string, 1+rng.IntN(6))
	for i := range few {
		few[i] = pieces[rng.IntN(len(pieces))]
	}
	var text strings.Builder
	for range n {
		text.WriteString(few[rng.IntN(len(few))])
	}
	return text.String()
}

// randomNeedle returns a part of a text, or some of its characters in another order.
func randomNeedle(rng *rand.Rand, text string) string {
	letters := lettersOf(text)
	if len(letters) == 0 {
		return randomText(rng, rng.IntN(5))
	}
	n := 1 + rng.IntN(min(12, len(letters)))
	from := rng.IntN(len(letters) - n + 1)
	needle := text[letters[from].start:letters[from+n-1].end]
	switch rng.IntN(4) {
	case 0:
		needle = strings.ToUpper(needle)
	case 1:
		needle += strings.Join(letters[rng.IntN(len(letters))].folded, "")
	}
	return needle
}

func random(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func checkFind(t *testing.T, text, needle string) {
	t.Helper()
	got, want := slices.Collect(NewMatcher(needle).Find(text)), findByModel(text, needle)
	if !slices.Equal(got, want) {
		t.Fatalf("%+q in %+q (%d bytes) is at %v, want %v", needle, text[:min(len(text), 500)], len(text), got, want)
	}
}

func TestFindIsTheModel(t *testing.T) {
	rng := random(t)
	for range 20000 {
		text := randomText(rng, rng.IntN(60))
		checkFind(t, text, randomNeedle(rng, text))
	}
}

// Long texts are looked through block by block, and some in the slow way.
func TestFindInLongTextsIsTheModel(t *testing.T) {
	rng := random(t)
	for range 8 {
		var text strings.Builder
		for text.Len() < 3*block {
			switch rng.IntN(3) {
			case 0:
				text.WriteString(randomText(rng, rng.IntN(40)))
			case 1:
				text.WriteString(strings.Repeat("x", rng.IntN(block)))
			case 2:
				text.WriteString(strings.Repeat("sis", rng.IntN(300)))
			}
		}
		for range 6 {
			checkFind(t, text.String(), randomNeedle(rng, text.String()))
		}
		checkFind(t, text.String(), strings.Repeat("sis", 100))
		checkFind(t, text.String(), strings.Repeat("x", 50)+"s")
	}
}

func TestTrigramsAreTheModel(t *testing.T) {
	rng := random(t)
	var grams Trigrammer
	for range 5000 {
		text := randomText(rng, rng.IntN(60)) + randomText(rng, rng.IntN(60))
		checkTrigrams(t, &grams, text)
	}
}

func checkTrigrams(t *testing.T, grams *Trigrammer, text string) []Trigram {
	t.Helper()
	all := grams.Append(nil, text)
	for i := 1; i < len(all); i++ {
		if all[i-1] >= all[i] {
			t.Fatalf("trigrams %d and %d of %+q do not ascend", i-1, i, text)
		}
	}
	got := make([]string, len(all))
	for i, trigram := range all {
		got[i] = unpacked(trigram)
	}
	slices.Sort(got)
	if want := trigramsByModel(text); !slices.Equal(got, want) {
		t.Fatalf("trigrams of %+q are %+q, want %+q", text, got, want)
	}
	return all
}

// What a needle is found in has its trigrams.
func checkFilter(t *testing.T, grams *Trigrammer, text, needle string) {
	t.Helper()
	m := NewMatcher(needle)
	all := grams.Append(nil, text)
	for range m.Find(text) {
		for _, trigram := range m.Trigrams() {
			if _, ok := slices.BinarySearch(all, trigram); !ok {
				t.Fatalf("%+q is in %+q, its trigram %+q is not", needle, text, unpacked(trigram))
			}
		}
		break
	}
}
