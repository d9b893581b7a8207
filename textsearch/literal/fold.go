package literal

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// foldText lists every character that folds to something other than itself, but
// for Hangul. It is kept, rather than computed from the Unicode tables of the day,
// because indexes that are stored depend on it. A test compares the two.
//
//go:embed fold.txt
var foldText string

const (
	// badByte plus a byte is what one that is not UTF-8 folds to: above all code
	// points, and within the 21 bits that a trigram has for each.
	badByte = utf8.MaxRune + 1

	// maxFold is how many code points one character folds to at most.
	maxFold = 4

	// maxUnit is how many bytes there are for each of these at most: those of a
	// dotless i with a dot.
	maxUnit = 4

	dotAbove  = 0x307
	dotlessI  = 'ı'
	lastTable = 0x2FFFF // nothing above has a fold
)

// folds is what fold.txt says, by code point.
type folds struct {
	pages [lastTable>>8 + 1]uint8 // which of the cells; the first are empty
	cells [][256]uint32           // 0, a code point, or many and where in runes
	runes []rune
}

// many marks a cell that stands for several code points: their number in the low
// three bits, and above these where they begin.
const many = 1 << 31

// folding returns the table, which is made once and never changes.
var folding = sync.OnceValue(func() *folds {
	t := &folds{cells: make([][256]uint32, 1)}
	for line := range strings.Lines(foldText) {
		if !strings.HasPrefix(line, "#") {
			t.add(line)
		}
	}
	return t
})

// add adds a line of fold.txt: a code point and what it folds to, in hex.
func (t *folds) add(line string) {
	var codes [1 + maxFold]rune
	n := 0
	for field := range strings.FieldsSeq(line) {
		code, _ := strconv.ParseUint(field, 16, 32) // the file is our own, and tested
		codes[n] = rune(code)
		n++
	}
	page := &t.pages[codes[0]>>8]
	if *page == 0 {
		*page = uint8(len(t.cells))
		t.cells = append(t.cells, [256]uint32{})
	}
	cell := &t.cells[*page][codes[0]&0xFF]
	if n == 2 {
		*cell = uint32(codes[1])
		return
	}
	*cell = many | uint32(len(t.runes))<<3 | uint32(n-1)
	t.runes = append(t.runes, codes[1:n]...)
}

// cell returns what the table has for r; 0 when r folds to itself.
func (t *folds) cell(r rune) uint32 {
	if r > lastTable {
		return 0
	}
	return t.cells[t.pages[r>>8]][r&0xFF]
}

// fold writes what a code point folds to and returns how many that are.
func (t *folds) fold(r rune, out *[maxFold]rune) int {
	if isHangul(r) {
		return decomposeHangul(r, out)
	}
	cell := t.cell(r)
	switch {
	case cell == 0:
		out[0] = r
	case cell < many:
		out[0] = rune(cell)
	default:
		at := cell &^ many >> 3
		return copy(out[:], t.runes[at:at+cell&7])
	}
	return 1
}

// character folds the character that begins at text[i]. It returns how many code
// points that gives and how many bytes it takes.
func (t *folds) character(text string, i int, out *[maxFold]rune) (n, size int) {
	if c := text[i]; c < utf8.RuneSelf {
		out[0] = rune(lower(c))
		if out[0] == 'i' && isDot(text[i+1:]) {
			return 1, 3
		}
		return 1, 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	if r == utf8.RuneError && size == 1 {
		out[0] = badByte + rune(text[i])
		return 1, 1
	}
	n = t.fold(r, out)
	if r == dotlessI && isDot(text[i+size:]) {
		size += 2
	}
	return n, size
}

// foldAll returns what a text folds to.
func (t *folds) foldAll(text string) []rune {
	folded := make([]rune, 0, len(text))
	var out [maxFold]rune
	for i := 0; i < len(text); {
		n, size := t.character(text, i, &out)
		folded = append(folded, out[:n]...)
		i += size
	}
	return folded
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// isDot tells whether a text begins with U+0307.
func isDot(text string) bool { return len(text) >= 2 && text[0] == 0xCC && text[1] == 0x87 }

// width is how many bytes a folded code point takes in a text.
func width(r rune) int {
	if r >= badByte {
		return 1
	}
	return utf8.RuneLen(r)
}

const (
	hangulFirst = 0xAC00
	hangulLast  = 0xD7A3
)

func isHangul(r rune) bool { return r >= hangulFirst && r <= hangulLast }

// isJamo tells whether a syllable may begin with r in its decomposition.
func isJamo(r rune) bool { return r >= 0x1100 && r <= 0x1112 }

// decomposeHangul takes a syllable apart, as section 3.12 of the Unicode standard
// has it.
func decomposeHangul(r rune, out *[maxFold]rune) int {
	const leading, vowel, trailing, vowels, trailings = 0x1100, 0x1161, 0x11A7, 21, 28
	r -= hangulFirst
	out[0] = leading + r/(vowels*trailings)
	out[1] = vowel + r%(vowels*trailings)/trailings
	if r %= trailings; r == 0 {
		return 2
	}
	out[2] = trailing + r
	return 3
}

// runeBorder returns the last border of a code point, or of a byte that is none, at
// or before i.
func runeBorder(text string, i int) int {
	if i <= 0 {
		return 0
	}
	if i >= len(text) {
		return len(text)
	}
	if utf8.RuneStart(text[i]) {
		return i
	}
	for start := i - 1; start >= max(0, i-utf8.UTFMax+1); start-- {
		if utf8.RuneStart(text[start]) {
			if _, size := utf8.DecodeRuneInString(text[start:]); start+size > i {
				return start
			}
			break
		}
	}
	return i
}

// border returns the last border of a character at or before i, which an i and its
// dot have none between.
func border(text string, i int) int {
	i = runeBorder(text, i)
	if i == 0 || !isDot(text[i:]) {
		return i
	}
	before := runeBorder(text, i-1)
	switch text[before:i] {
	case "i", "I", string(dotlessI):
		return before
	}
	return i
}
