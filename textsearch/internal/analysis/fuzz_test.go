package analysis

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzTokens checks what every text must give: terms that are valid, bounded and
// folded, at spans inside the text and on its characters' borders, the same again
// from the text of a term, and no more tokens than the text can have.
func FuzzTokens(f *testing.F) {
	for _, seed := range []string{
		"", "a", "HTTPServer2 src/kv/key.go v1.2.3 C++", "今天讨论了部署方案", "カタカナ検索テスト", "cafe\u0301 ﬁ ＡＢＣ", "İİ error",
		"\xff\xfe", "\x00", "a\u0301\u0301", "ｶﾞ", "so\u00ADft", "____", "a::b:::c", "a.b.1.2,3", "😘aa😘", "วันนี้", "\u0300", "ﷺ ½ …", "x\u200By", "ー", "aー", "a'", "''", "1'2", "a\xe4\xb8",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := analyzer(t, "")
		tokens := a.Tokens(text)
		if len(tokens) > 8*len(text) {
			t.Fatalf("%d tokens of %d bytes", len(tokens), len(text))
		}
		word, valid := 0, utf8.ValidString(text)
		for i, tok := range tokens {
			checkToken(t, a, text, valid, tok)
			if tok.Kind != Part {
				if word > tok.Start {
					t.Fatalf("token %d, %+v, begins before the word in front of it", i, tok)
				}
				word = tok.Start
			} else if i == 0 || tok.Start < word {
				t.Fatalf("part %+v is not inside its word", tok)
			}
		}
		// A word is the same beside other than ASCII.
		got, want := terms(a.Tokens("“"+text)), terms(a.Tokens("\""+text))
		if got != want {
			t.Fatalf("%q is %s, and beside a curved quotation mark %s", text, want, got)
		}
	})
}

func checkToken(t *testing.T, a *Analyzer, text string, valid bool, tok Token) {
	t.Helper()
	switch {
	case tok.Term == "" || len(tok.Term) > MaxTerm || !utf8.ValidString(tok.Term):
		t.Fatalf("term %q", tok.Term)
	case strings.ContainsFunc(tok.Term, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		t.Fatalf("term %q holds a control character, whose escape keys have no room for", tok.Term)
	case tok.Start < 0 || tok.Start >= tok.End || tok.End > len(text):
		t.Fatalf("span %d:%d of %d bytes", tok.Start, tok.End, len(text))
	case valid && !utf8.ValidString(text[tok.Start:tok.End]):
		t.Fatalf("span %d:%d splits a character of %q", tok.Start, tok.End, text)
	}
	checkStem(t, a, tok.Term)
}

// FuzzStem runs every stemmer on any word.
func FuzzStem(f *testing.F) {
	for _, seed := range []string{"", "a", "'", "’s", "'''", "😘aa😘", "yyyy", "\xff\xfe", "ing", "s", "İ", "\u0301", "deployment"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, name := range Languages() {
			checkStem(t, analyzer(t, name), word)
		}
	})
}
