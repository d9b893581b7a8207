package literal

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

var update = flag.Bool("update", false, "write fold.txt anew")

const foldHeader = `# Every code point that does not fold to itself, but for Hangul syllables, and what it folds to.
# NFD(casefold(NFD(x))) of Unicode %s, full case folding, except that İ and ı fold to i.
# Written by go test -run TestFoldTable -update. What is stored in indexes depends on it.
`

// TestFoldTable compares the folding that is kept with that of x/text, while both
// are of one version of Unicode. To follow a newer one changes the stored index.
func TestFoldTable(t *testing.T) {
	sameUnicode(t)
	var want strings.Builder
	fmt.Fprintf(&want, foldHeader, norm.Version)
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) || isHangul(r) {
			continue
		}
		if folded := foldByLibrary(r); folded != string(r) {
			want.WriteString(strings.Trim(strings.ReplaceAll(fmt.Sprintf("%04X %04X", r, []rune(folded)), "[", ""), "]") + "\n")
		}
	}
	if *update {
		if err := os.WriteFile("fold.txt", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if foldText != want.String() {
		t.Error("fold.txt is not what this version of Unicode gives")
	}
}

func sameUnicode(t *testing.T) {
	t.Helper()
	if !*update && !strings.Contains(foldText, "of Unicode "+norm.Version+",") {
		t.Skipf("x/text is of Unicode %s and fold.txt is not", norm.Version)
	}
}

func foldByLibrary(r rune) string {
	if r == 'İ' || r == 'ı' {
		return "i"
	}
	return norm.NFD.String(cases.Fold().String(norm.NFD.String(string(r))))
}

// TestFold looks at the table as it is read, Hangul and all.
func TestFold(t *testing.T) {
	sameUnicode(t)
	var out [maxFold]rune
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		n := folding().fold(r, &out)
		if got, want := string(out[:n]), foldByLibrary(r); got != want {
			t.Fatalf("%U folds to %U, want %U", r, []rune(got), []rune(want))
		}
	}
}

func TestFoldByHand(t *testing.T) {
	for _, c := range []struct{ text, folded string }{
		{"Iiİı", "iiii"},
		{"I\u0307i\u0307ı\u0307İ\u0307", "iiii\u0307"},
		{"J\u0307", "j\u0307"},
		{"ßẞſ", "sssss"},
		{"\u212A\u212B", "ka\u030A"},
		{"Ⱥⱥ", "ⱥⱥ"},
		{"Éé", "e\u0301e\u0301"},
		{"ﬁﬄ", "fiffl"},
		{"ΣΑΣς", "σασσ"},
		{"ᾂ", "α\u0313\u0300ι"},
		{"한가", "\u1112\u1161\u11AB\u1100\u1161"},
		{"ＡＢ１\u00AD½", "ａｂ１\u00AD½"},
		{"修复 🚀\x00", "修复 🚀\x00"},
	} {
		if got := string(folding().foldAll(c.text)); got != c.folded {
			t.Errorf("%q folds to %+q, want %+q", c.text, got, c.folded)
		}
	}
	// A surrogate in UTF-8 is no UTF-8, nor is a character cut short.
	got := folding().foldAll("\xffA\xed\xa0\x80\xe2\x84")
	want := []rune{0x1100FF, 'a', 0x1100ED, 0x1100A0, 0x110080, 0x1100E2, 0x110084}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("bad bytes fold to %X, want %X", got, want)
	}
}
