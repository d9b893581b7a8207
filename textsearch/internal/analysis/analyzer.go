// Package analysis turns text into the terms that are indexed, looked up and
// marked: one analyzer for documents, queries and highlighting, so that what is
// written one way is found when it is asked for in the same way.
//
// # From text to terms
//
// Text is cut into written words. Runs of ASCII are cut by a loop over bytes
// (ascii.go); a stretch between ASCII spaces that holds anything else is put in
// NFKC, cut by the word boundaries of UAX #29 and folded (unicode.go). Both join
// words that stand together with one connector between them, - . / : :: or @, to
// a compound: a path, a qualified name, a hyphenated word.
//
// A written word gives one term, itself in folded form, and
//   - a compound also gives its parts, and an identifier the words inside it, by
//     underscores, by case and between letters and digits (compound.go);
//   - a run of Han, Hiragana, Katakana, Hangul, Thai, Lao, Khmer, Myanmar or
//     Bopomofo gives its overlapping pairs of characters instead, and its last
//     character, so that one character is found as the beginning of a pair or as
//     the end of a run (pairs.go). Such runs are split where two of these scripts
//     meet, and where they meet any other.
//
// # Folding
//
// Terms are in NFKC, case folded in full, without default-ignorable characters:
//   - composed and decomposed forms are equal; marks are significant, so é is
//     another letter than e;
//   - ligatures, full-width and half-width forms, circled and superscript
//     characters are the plain ones: ﬁ is fi, Ａ is A, ｶ is カ;
//   - ß and ẞ are ss; final sigma is sigma; ſ is s; the Kelvin sign is k;
//   - I, i, İ and ı are all i, whatever the language, because the text does not
//     tell which language it is in;
//   - soft hyphens, joiners, variation selectors and bidirectional controls are
//     dropped, and join what stands at their sides;
//   - the typographic apostrophe is the plain one.
//
// # Limits
//
// A term longer than MaxTerm bytes is cut there, on the border of a character,
// in documents and in queries alike. See compound.go for what has too many parts
// to be an identifier.
package analysis

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
)

// MaxTerm is the length in bytes at which a term is cut. Words of natural
// language stay well below; what is longer is found by its first 64 bytes.
const MaxTerm = 64

// Kind tells how a term stands in the text.
type Kind uint8

// The kinds.
const (
	Word   Kind = iota // a written word without parts, or a compound whole
	Part               // inside the last Word, as one of its parts
	Pair               // two characters of a script that is indexed in pairs
	Single             // a run of such a script that is one character long
	Tail               // the last character of a longer run
)

// Token is a term where it stands in a text.
type Token struct {
	Term       string // folded, valid UTF-8, 1 to MaxTerm bytes; may share memory with the text
	Start, End int    // its bytes in the text, as they were before folding
	Kind       Kind
}

// Analyzer cuts texts into tokens. It keeps its buffers, so that many texts cost
// little; it is not safe for concurrent use.
type Analyzer struct {
	language *language
	stemmer  stemmer

	text   string
	tokens []Token
	pieces []piece // of the compound at hand
	wide   *wide   // made when it is first needed, which most texts do not
}

// New returns an analyzer for a language by its English name in lower case, as in
// Languages. The empty name is "english", and "none" does not stem and knows no
// stopwords.
func New(name string) (*Analyzer, error) {
	if name == "" {
		name = English
	}
	l, ok := languages[name]
	if !ok {
		return nil, fmt.Errorf("language %q is not one of %q", name, Languages())
	}
	return &Analyzer{language: &l}, nil
}

// wider returns what handles more than ASCII.
func (a *Analyzer) wider() *wide {
	if a.wide == nil {
		a.wide = &wide{fold: cases.Fold()}
	}
	return a.wide
}

// Tokens returns the tokens of a text, in order; parts follow the word that they
// are inside. The slice is overwritten by the next call.
func (a *Analyzer) Tokens(text string) []Token {
	a.text, a.tokens = text, a.tokens[:0]
	a.scan()
	return a.tokens
}

// Length returns how many words a reader counts in tokens: compounds count once,
// and each character of a script without spaces counts. What has no letter, as
// numbers, dates and versions, does not: a table or a list of references says no
// more about its subject in more lines, and must not make a text a long one.
func Length(tokens []Token) int {
	n := 0
	for _, t := range tokens {
		if t.Kind != Part && hasLetter(t.Term) {
			n++
		}
	}
	return n
}

func hasLetter(term string) bool {
	for i := range len(term) {
		switch classes[term[i]] {
		case lower:
			return true
		case wideByte:
			return strings.ContainsFunc(term[i:], unicode.IsLetter)
		}
	}
	return false
}

// IsStop tells whether a term is a stopword of the language.
func (a *Analyzer) IsStop(term string) bool { return a.language.stop[term] }
