package analysis

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

func analyzer(tb testing.TB, language string) *Analyzer {
	tb.Helper()
	a, err := New(language)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// terms writes tokens as words, with parts in parentheses behind the whole, pairs
// and single characters as they are, and the last of a run after a +.
func terms(tokens []Token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch t.Kind {
		case Part:
			b.WriteString("(" + t.Term + ")")
		case Tail:
			b.WriteString("+" + t.Term)
		default:
			b.WriteString(t.Term)
		}
	}
	return b.String()
}

func TestTokens(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{" \t\n.,;!", ""},
		{"The deployment failed.", "the deployment failed"},
		{"don't 'quoted' rock'n'roll users' it’s", "don't quoted rock'n'roll users it's"},
		{"1,000 3.14 10:30", "1,000 3.14 10:30 (10) (30)"},
		{"a=b foo&bar 50% @nasa #tag $HOME --flag", "a b foo bar 50 nasa tag home flag"},

		// identifiers
		{"resolve_dirs", "resolve_dirs (resolve) (dirs)"},
		{"__init__ _private _ ___", "__init__ (init) _private (private)"},
		{"getUserById", "getuserbyid (get) (user) (by) (id)"},
		{"HTTPServer2", "httpserver2 (http) (server2) (server)"},
		{"parseHTMLResponse", "parsehtmlresponse (parse) (html) (response)"},
		{"O'Reilly DON'T “DON'T” 7'7 a'1", "o'reilly (o) (reilly) don't don't 7 7 a 1"},
		{"URLs HTTP Word iPhone", "urls http word iphone (i) (phone)"},
		{"MAX_HTTPRetries", "max_httpretries (max) (httpretries) (http) (retries)"},
		{"E0382 sha256 utf8 x86_64 3f2504e0", "e0382 (0382) sha256 (sha) (256) utf8 (utf) x86_64 (x86) (86) (64) 3f2504e0"},
		{"v1.2.3 go1.26", "v1.2.3 (1.2.3) go1.26 (go) (1.26)"},
		{"C++ C# i++; a+b x+++y F#m issue#12", "c++ (c) c# (c) i++ (i) a b x y f m issue 12"},

		// compounds
		{"kebab-case-name", "kebab-case-name (kebab) (case) (name)"},
		{"src/kv/key.go", "src/kv/key.go (src) (kv) (key.go) (key) (go)"},
		{"/usr/local/bin/", "usr/local/bin (usr) (local) (bin)"},
		{"std::sync::Arc", "std::sync::arc (std) (sync) (arc)"},
		{"kv.KVStorage", "kv.kvstorage (kv) (kvstorage) (kv) (storage)"},
		{"me@example.com", "me@example.com (me) (example) (com)"},
		{"https://example.com/a?b=c", "https example.com/a (example.com) (example) (com) (a) b c"},
		{"end. Start... so--so x- -y", "end start so so x y"},
		{"C/C++", "c/c++ (c) (c++) (c)"},

		// other scripts
		{"Деплой сломался", "деплой сломался"},
		{"نشر الخادم", "نشر الخادم"},
		{"今天讨论了部署方案", "今天 天讨 讨论 论了 了部 部署 署方 方案 +案"},
		{"カタカナ検索テスト", "カタ タカ カナ +ナ 検索 +索 テス スト +ト"},
		{"가나다라 조선", "가나 나다 다라 +라 조선 +선"},
		{"修复ok的bug", "修复 +复 ok 的 bug"},
		{"サーバー", "サー ーバ バー +ー"},
		{"วันนี้", "วั น นนี้"},
		{"Größe.txt naïve_Name", "grösse.txt (grösse) (txt) naïve_name (naïve) (name)"},
		{"“smart” — quotes…", "smart quotes"},
		{"deploy🚀now 🚀", "deploy now"},
		{"zero\u200Bwidth n#\u034F col·lecció", "zero width n# (n) col·lecció"},
		{"\u0ECA “\u0ECA ๏ ๚ ÷", ""},
	} {
		if test.text == "วันนี้" {
			test.want = "วัน นนี้ +นี้" // ว with ั, น, น with ี and ้
		}
		if got := terms(analyzer(t, "").Tokens(test.text)); got != test.want {
			t.Errorf("%q:\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

// Spans are bytes of the original, whatever folding does to the length.
func TestSpans(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string // the original of each token
	}{
		{"The HTTPServer2.", []string{"The", "HTTPServer2", "HTTP", "Server2", "Server"}},
		{"İİ error", []string{"İİ", "error"}},
		{"ȺȺ error", []string{"ȺȺ", "error"}},
		{"ﬁle ＡＢＣ１２３", []string{"ﬁle", "ＡＢＣ１２３", "ＡＢＣ", "１２３"}},
		{"cafe\u0301 x", []string{"cafe\u0301", "x"}},
		{"so\u00ADft_hy\u00ADphen", []string{"so\u00ADft_hy\u00ADphen", "so\u00ADft", "hy\u00ADphen"}},
		{"他们部署", []string{"他们", "们部", "部署", "署"}},
		{"ｶﾞｷﾞ", []string{"ｶﾞｷﾞ", "ｷﾞ"}},
		{"(“C++”)", []string{"C++", "C"}},
	} {
		var got []string
		for _, tok := range analyzer(t, "").Tokens(test.text) {
			got = append(got, test.text[tok.Start:tok.End])
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q:\n got %q\nwant %q", test.text, got, test.want)
		}
	}
}

// The rules of the package comment, each pair one term.
func TestC12_Folding(t *testing.T) {
	for _, same := range [][]string{
		{"café", "cafe\u0301", "CAFÉ", "CAFE\u0301"},
		{"naïve", "nai\u0308ve", "NAÏVE"},
		{"Ångström", "A\u030Angstro\u0308m", "\u212Bngström", "ÅNGSTRÖM"},
		{"file", "ﬁle", "ＦＩＬＥ", "ｆｉｌｅ"},
		{"ABC", "ＡＢＣ", "abc", "ⓐⓑⓒ"},
		{"123", "１２３"},
		{"Straße", "STRASSE", "strasse", "STRAẞE"},
		{"soft", "so\u00ADft", "so\u200Dft", "so\u200Cft", "so\u2060ft", "so\uFE0Fft"},
		{"istanbul", "İstanbul", "ISTANBUL", "ıstanbul", "I\u0307stanbul"},
		{"σας", "ΣΑΣ", "σασ"},
		{"kelvin", "\u212Aelvin"},
		{"sets", "ſetſ"},
		{"ΐ", "Ϊ\u0301", "ι\u0308\u0301"},
		{"カ", "ｶ"},
		{"ガ", "カ\u3099", "ｶﾞ"},
		{"가", "\u1100\u1161"},
		{"user's", "user’s"},
		{"grün_haus", "GRÜN_HAUS", "gru\u0308n_haus"},
	} {
		a := analyzer(t, "")
		want := terms(a.Tokens(same[0]))
		if want == "" {
			t.Errorf("%q gives no term", same[0])
		}
		for _, other := range same[1:] {
			if got := terms(a.Tokens(other)); got != want {
				t.Errorf("%+q gives %q and %+q gives %q", same[0], want, other, got)
			}
		}
	}
	a := analyzer(t, "")
	if e, plain := terms(a.Tokens("é")), terms(a.Tokens("e")); e == plain {
		t.Errorf("é and e are both %q", e)
	}
}

func TestC14_LongTokens(t *testing.T) {
	a := analyzer(t, "")
	long := strings.Repeat("a", 70000)
	if got, want := terms(a.Tokens("hello "+long+" world")), "hello "+long[:MaxTerm]+" world"; got != want {
		t.Errorf("70,000 letters: %.200q", got)
	}
	// 64 is no multiple of two: 31 letters of two bytes fit after the x.
	wide := "x" + strings.Repeat("ж", 300)
	if got, want := terms(a.Tokens(wide)), wide[:63]; got != want {
		t.Errorf("300 letters of two bytes: %q, want %q", got, want)
	}
	// One in 32 letters of base64 is / or +: so long is a word of it.
	rng := rand.New(rand.NewPCG(1, 1))
	raw := make([]byte, 3<<18)
	for i := range raw {
		raw[i] = byte(rng.Uint32())
	}
	tokens := a.Tokens(base64.StdEncoding.EncodeToString(raw))
	if n := len(tokens); n > 1<<20/12 {
		t.Errorf("1 MiB of base64 gives %d tokens", n)
	}
	for _, tok := range tokens {
		if len(tok.Term) > MaxTerm {
			t.Fatalf("a term of %d bytes", len(tok.Term))
		}
	}
}

// A path too long to be one still gives its words; a name with too many parts to
// be one stays whole.
func TestCompoundLimits(t *testing.T) {
	a := analyzer(t, "")
	path := strings.TrimSuffix(strings.Repeat("directory/", 30), "/") // 299 bytes
	got := a.Tokens(path)
	if len(got) != 30 || got[0].Term != "directory" || got[0].Kind != Word {
		t.Errorf("a path of %d bytes: %s", len(path), terms(got))
	}
	snake := strings.TrimSuffix(strings.Repeat("ab_", 40), "_") // 40 parts in 119 bytes
	if got := a.Tokens(snake); len(got) != 1 || got[0].Term != snake[:MaxTerm] {
		t.Errorf("an identifier of 40 parts: %s", terms(got))
	}
	if got := a.Tokens("aBcDeFgHiJkLmNoPqRsT"); len(got) != 1 {
		t.Errorf("noise is divided: %s", terms(got))
	}
}

func TestLength(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "one two": 2, "src/kv/key.go": 1, "refresh_token_rotation getUserById": 2, "部署方案": 4, "部": 1,
		"100\t5\t1": 0, "1958, 8:28 and 2026-11-30": 1, "v1.2.3 E0382 3D": 3, "1.2.3 ½ ٣": 0, "80é ６４": 1,
	} {
		if got := Length(analyzer(t, "").Tokens(text)); got != want {
			t.Errorf("Length(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestStem(t *testing.T) {
	a := analyzer(t, "")
	for term, want := range map[string]string{
		"deployment": "deploy", "deploying": "deploy", "deploys": "deploy", "deploy": "deploy", "redeploy": "redeploy",
		"is": "is", "caches": "cach", "user's": "user", "happily": "happili",
		"sha256": "sha256", "src/kv": "src/kv", "naïves": "naïv", "deployment_s": "deployment_s",
	} {
		if got := a.Stem(term); got != want {
			t.Errorf("Stem(%q) = %q, want %q", term, got, want)
		}
	}
	if got := analyzer(t, "german").Stem("häuser"); got != "haus" {
		t.Errorf("german: häuser is %q", got)
	}
	if got := analyzer(t, "russian").Stem("книгами"); got != "книг" {
		t.Errorf("russian: книгами is %q", got)
	}
	if got := analyzer(t, None).Stem("deployments"); got != "deployments" {
		t.Errorf("none: %q", got)
	}
	if _, err := New("klingon"); err == nil {
		t.Error("an unknown language is no error")
	}
}

// TestC17_Stemmers feeds every stemmer what stemmers have failed on.
func TestC17_Stemmers(t *testing.T) {
	odd := []string{"a", "'", "’s", "'''", "'s", "''s", "😘aa😘", "yyyy", "\xff\xfe", "ing", "s", "sss", "ies", "İ", "\u0301", "ß", "eed", "eing", strings.Repeat("ies", 1<<20/3), strings.Repeat("y", 48), strings.Repeat("ж", 24), "\u0E01\u0E31"}
	for _, name := range Languages() {
		a := analyzer(t, name)
		for _, word := range odd {
			checkStem(t, a, word)
		}
	}
}

func checkStem(t *testing.T, a *Analyzer, word string) {
	t.Helper()
	stem := a.Stem(word)
	if stem == "" && word != "" {
		t.Errorf("%.40q has an empty stem", word)
	}
	if utf8.ValidString(word) && !utf8.ValidString(stem) {
		t.Errorf("%.40q has the stem %.40q", word, stem)
	}
	var s stemmer
	if f := a.language.stem; f != nil && len(word) < 100 {
		if got := s.stem(f, word); got == "" && word != "" || utf8.ValidString(word) && !utf8.ValidString(got) {
			t.Errorf("stemmer: %.40q gives %.40q", word, got)
		}
	}
}

// The stemmer that panics leaves the word as it is, and works for the next.
func TestC17_StemmerRecovers(t *testing.T) {
	var s stemmer
	if got := s.stem(nil, "word"); got != "word" {
		t.Errorf("a stemmer that panics gives %q", got)
	}
	if got := s.stem(languages[English].stem, "words"); got != "word" {
		t.Errorf("afterwards words is %q", got)
	}
}

// Words that take each other's place in the memo keep their own stems, for all who
// ask at once.
func TestStemsAreRemembered(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			a := analyzer(t, "")
			for i := range 2 * len(memo{}) {
				word := "wax" + string([]rune{'a' + rune(i%26), 'a' + rune(i/26%26), 'a' + rune(i/676%26), 'a' + rune(i/17576)}) + "q"
				if got := a.Stem(word + "s"); got != word {
					t.Errorf("the stem of %ss is %q", word, got)
					return
				}
			}
		})
	}
	wg.Wait()
}
