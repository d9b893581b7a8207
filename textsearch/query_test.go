package textsearch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/textsearch"
)

func TestC05_QueriesAreData(t *testing.T) {
	s := indexed(t, docs{"d": "nasa tag a b foo bar why 50 deploy not x near y", "other": "nothing of it"})
	for query, want := range map[string]string{
		"@nasa": "d", "#tag": "d", "a=b": "d", "foo&bar": "d", "why?": "d", "50%": "d", "x\\y": "d", "* deploy": "d",
		"NEAR(": "d", "NOT x": "d", "🚀 deploy": "d", "\"deploy": "d", "deploy\"": "d", "\"deploy\" \"": "d", "deploy*\"": "d", "(deploy OR": "d", "foo:bar": "d", "-deploy": "d", "deploy^2~": "d", "[deploy TO]": "d",
		"\"": "", "(": "", "*": "", "**": "", "\"\"": "", "\"*\"": "", "-": "", "🚀": "", "": "", " \t\n": "", "\x00": "", "\xff\xfe": "", "\xffdeploy\xfe": "d",
		"“deploy foo”": "d", "“deploy nothing”": "",
	} {
		got := keys(find(t, s, query))
		if want == "" && len(got) > 0 || want != "" && !slices.Equal(got, []string{want}) {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	// AND and the like are words; here they are stopwords that stand alone.
	wantKeys(t, s, "AND")
	wantKeys(t, s, "NOT", "d")
}

// Ten thousand queries of any bytes, and of pieces of what queries are made of, are no
// errors, and what they find is in order.
func TestC05_TenThousandQueries(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	_, s := everyPart(t)
	pieces := []string{"deployed", "common", "w7", "often", "de", "*", `"`, "“", " ", "\t", "\x00", "\xff", "(", "NOT", "-", "/", "_", "部", "署", "é", "e\u0301", "🚀", "ß", "İ", strings.Repeat("a", 300)}
	for range 10_000 {
		var q strings.Builder
		for range rng.IntN(12) {
			if rng.IntN(3) == 0 {
				q.WriteByte(byte(rng.IntN(256)))
			} else {
				q.WriteString(pieces[rng.IntN(len(pieces))])
			}
		}
		search(t, s, textsearch.Query{Text: q.String(), Limit: rng.IntN(20) - 1, Count: rng.IntN(2) == 0})
	}
}

func TestC07_Stopwords(t *testing.T) {
	s := indexed(t, docs{"who": "The Who", "deploy": "deploy the server", "plain": "deploy a server", "none": "apples"})
	for query, want := range map[string][]string{
		"the":                {"deploy", "who"},
		"The THE the":        {"deploy", "who"},
		"the who":            {"deploy", "who"},
		"to be or not to be": nil,
		"will the it":        {"deploy", "who"},
		"the deploy":         {"deploy", "plain"},
		"\"the\"":            {"deploy", "who"},
		"a*":                 {"none", "plain"},
	} {
		wantKeys(t, s, query, want...)
	}
	wantFirst(t, s, "the who", "who")
	with, without := find(t, s, "the deploy"), find(t, s, "deploy")
	if fmt.Sprint(with) != fmt.Sprint(without) {
		t.Errorf("the deploy finds %v, deploy %v", with, without)
	}
}

func TestC08_Identifiers(t *testing.T) {
	text := "call refresh_token_rotation and getUserById, parseHTMLResponse, HTTPServer2, kebab-case-name, __init__"
	s := indexed(t, docs{
		"exact":     text,
		"scattered": strings.Repeat("token refresh rotation by user id get name of case kebab server html parse response http init ", 3),
		"other":     "nothing like it",
	})
	for _, query := range []string{"token", "rotation", "user", "user by id", "html", "getUserById", "init", "server2", "refresh", "name", "getuserbyid", "GETUSERBYID"} {
		if !slices.Contains(keys(find(t, s, query)), "exact") {
			t.Errorf("%q does not find the document", query)
		}
	}
	for _, query := range []string{"refresh_token_rotation", "getUserById", "parseHTMLResponse", "HTTPServer2", "kebab-case-name", "__init__"} {
		wantFirst(t, s, query, "exact")
	}
	// Parts that are repeated in a short document count less than the whole in a
	// long one, and a stopword among them counts nothing.
	loud := indexed(t, docs{
		"exact": "getUserById " + strings.Repeat("is called with one more word ", 3),
		"loud":  strings.Repeat("get user id ", 10), "stop": "by and by",
	})
	wantFirst(t, loud, "getUserById", "exact")
	wantKeys(t, loud, "getUserById", "exact", "loud")

	code := indexed(t, docs{"a": "edit src/kv/key.go, v1.2.3 of C++ and C#", "b": "error E0382 in resolve_dirs, HTTPServer"})
	for query, want := range map[string]string{
		"src/kv/key.go": "a", "key.go": "a", "kv": "a", "v1.2.3": "a", "1.2.3": "a", "C++": "a", "c#": "a",
		"E0382": "b", "e0382": "b", "resolve_dirs": "b", "dirs": "b", "HTTPServer": "b", "server": "b",
	} {
		wantKeys(t, code, query, want)
	}
}

func TestC10_ScriptsWithoutSpaces(t *testing.T) {
	s := indexed(t, docs{
		"zh": "今天讨论了部署方案", "ja": "カタカナ検索テスト", "ko": "가나다라 조선역사", "mixed": "修复ok的bug",
		"ru": "Деплой после деплоя", "ar": "نشر الخادم", "th": "สวัสดีชาวโลก",
	})
	for query, want := range map[string]string{
		"部署": "zh", "方案": "zh", "部": "zh", "案": "zh", "部署方案": "zh", "今": "zh",
		"検索": "ja", "テスト": "ja", "カナ": "ja", "ト": "ja", "ﾃｽﾄ": "ja",
		"다라": "ko", "역사": "ko", "조선": "ko", "라": "ko",
		"ok": "mixed", "bug": "mixed", "修复": "mixed", "的": "mixed",
		"деплоя": "ru", "ДЕПЛОЙ": "ru", "الخادم": "ar", "نشر": "ar", "ชาว": "th", "โลก": "th",
	} {
		wantKeys(t, s, query, want)
	}
	wantKeys(t, s, "署部")
	wantKeys(t, s, "епло")
}

func TestC12_ComposedAndDecomposed(t *testing.T) {
	nfc, nfd := "caf\u00e9 na\u00efve \u00c5ngstr\u00f6m", "cafe\u0301 nai\u0308ve A\u030angstro\u0308m"
	s := indexed(t, docs{"nfc": nfc, "nfd": nfd, "other": "ﬁle ＡＢＣ１２３ so\u00ADft STRASSE"})
	for _, text := range []string{nfc, nfd} {
		for _, word := range strings.Fields(text) {
			wantKeys(t, s, word, "nfc", "nfd")
			wantKeys(t, s, strings.ToUpper(word), "nfc", "nfd")
		}
	}
	for _, query := range []string{"file", "abc123", "soft", "so\u200Dft", "Straße"} {
		wantKeys(t, s, query, "other")
	}
}

func TestC14_LongTokens(t *testing.T) {
	long := strings.Repeat("a", 70000)
	name := strings.Repeat("identifier", 30)
	s := indexed(t, docs{"long": "hello " + long + " world", "name": name, "wide": strings.Repeat("ж", 5000) + " end"})
	for query, want := range map[string]string{
		"hello": "long", "world": "long", long[:20] + "*": "long", long: "long", long[:64]: "long", name: "name", name[:20] + "*": "name",
		strings.Repeat("ж", 5000): "wide", strings.Repeat("ж", 9) + "*": "wide", "end": "wide",
	} {
		wantKeys(t, s, query, want)
	}
	wantKeys(t, s, long[:20])
}

func TestC19_Prefixes(t *testing.T) {
	s := indexed(t, docs{"succeeded": "deployment succeeded", "deploys": "he deploys", "redeploy": "redeploy"})
	for query, want := range map[string][]string{
		"deployment": {"deploys", "succeeded"},
		"deploying":  {"deploys", "succeeded"},
		"deployme*":  {"succeeded"},
		"deploym*":   {"succeeded"},
		"deploy*":    {"deploys", "succeeded"},
		"DEPLOY*":    {"deploys", "succeeded"},
		"deploys*":   {"deploys"},
		"deploying*": nil,
		"succeede*":  {"succeeded"},
		"deploy *":   {"deploys", "succeeded"},
		"*deploy*":   {"deploys", "succeeded"}, // emphasis: a word
		"*deploym*":  nil,
		"deploym*x":  nil, // a product: two words
		"ment*":      nil,
	} {
		wantKeys(t, s, query, want...)
	}
	wantFirst(t, s, "deployment", "succeeded")
}

// A word and a stem of the same letters are no family where the stemmer makes them
// none: the stem of dimensional is dimension, and that of dimension is dimens.
func TestStemsOfStems(t *testing.T) {
	s := indexed(t, docs{"a": "one dimension", "b": "dimensional", "c": "dimensions"})
	wantKeys(t, s, "dimension", "a", "c")
	wantKeys(t, s, "dimensional", "b")
}

func TestExactFormRanksFirst(t *testing.T) {
	s := indexed(t, docs{"a": "deploy today", "b": "deployed today", "c": "deploying today"})
	for query, first := range map[string]string{"deploy": "a", "deployed": "b", "DEPLOYING": "c"} {
		wantFirst(t, s, query, first)
	}
}

// Of the words with a prefix, the one that is the prefix itself counts more, also
// where keys escape it.
func TestPrefixItselfRanksFirst(t *testing.T) {
	s := indexed(t, docs{"a": "src/key.go", "b": "src/key"})
	wantFirst(t, s, "src/key*", "b")
}

// A query of any length is read in time that grows with it, not with its square.
func TestManyQuotes(t *testing.T) {
	s := indexed(t, docs{"a": "apples"})
	wantKeys(t, s, strings.Repeat("\"x\" ", 200_000)+`"apples"`)
	wantKeys(t, s, strings.Repeat("\"\" ", 200_000)+"apples", "a")
}

func TestQuotedRuns(t *testing.T) {
	s := indexed(t, docs{"both": "red green", "red": "red blue", "green": "green blue", "blue": "blue", "ident": "getUserById", "parts": "get user by id"})
	for query, want := range map[string][]string{
		`"red green"`:         {"both"},
		`"green red"`:         {"both"},
		`"red" "green"`:       {"both"},
		`"red" blue`:          {"both", "red"},
		`"red green" blue`:    {"both"},
		`"red missing"`:       nil,
		`red "blue`:           {"blue", "both", "green", "red"},
		`"the red"`:           {"both", "red"},
		`red "red"`:           {"both", "red"},
		`"getUserById"`:       {"ident"},
		`getUserById`:         {"ident", "parts"},
		`"gre* red"`:          {"both"},
		`"red greens"`:        {"both"},
		"\"red\" \"missing\"": nil,
		`"red missing" blue`:  {"blue", "both", "green", "red"},
	} {
		wantKeys(t, s, query, want...)
	}
	for query, want := range map[string]bool{`"red missing" blue`: true, `"red missing"`: false, `"red green" blue`: false, `"missing" the`: false} {
		if r := search(t, s, textsearch.Query{Text: query}); r.Relaxed != want {
			t.Errorf("%s is relaxed: %t", query, r.Relaxed)
		}
	}
}

func TestWordsOfAHit(t *testing.T) {
	s := indexed(t, docs{"a": "the Servers deployed", "b": "server HTTPServer", "c": "部署"})
	for _, test := range []struct{ query, key, want string }{
		{"Deploying the server", "a", "[Deploying server]"},
		{"Deploying the server", "b", "[server]"},
		{"HTTPServer serv*", "b", "[HTTPServer serv]"},
		{"部署方案", "c", "[部署]"},
		{"server SERVER", "b", "[server]"},
	} {
		for _, h := range find(t, s, test.query) {
			if h.Key == test.key && fmt.Sprint(h.Words) != test.want {
				t.Errorf("%q: %s has %q, want %s", test.query, h.Key, h.Words, test.want)
			}
		}
	}
}

// A word that a query repeats counts as often.
func TestRepeatedWords(t *testing.T) {
	s := indexed(t, docs{"a": "apple pear", "b": "pear fig"})
	once, twice := find(t, s, "apple"), find(t, s, "apple APPLE")
	if got, want := twice[0].Score, 2*once[0].Score; got != want {
		t.Errorf("twice scores %v, want %v", got, want)
	}
}

func TestPartial(t *testing.T) {
	s := memkv.New()
	var words []string
	for i := range textsearch.MaxExpansions + 1 {
		words = append(words, fmt.Sprintf("pre%c%c%cq", 'a'+i/676, 'a'+i/26%26, 'a'+i%26)) // no stem but itself
	}
	put(t, s, "most", strings.Join(words[:textsearch.MaxExpansions], " "))
	if r := search(t, s, textsearch.Query{Text: "pre*", Count: true}); r.Partial || r.Total != 1 {
		t.Errorf("at the limit: %+v", r)
	}
	put(t, s, "last", words[textsearch.MaxExpansions])
	if r := search(t, s, textsearch.Query{Text: "pre*", Count: true}); !r.Partial || r.Total != 1 || r.Hits[0].Key != "most" {
		t.Errorf("beyond the limit: %+v", r)
	}
	if r := search(t, s, textsearch.Query{Text: strings.Join(words[:textsearch.MaxWords], " ")}); r.Partial {
		t.Error("MaxWords words are partial")
	}
	r := search(t, s, textsearch.Query{Text: strings.Join(words[len(words)-textsearch.MaxWords-1:], " "), Count: true})
	if !r.Partial || r.Total != 1 {
		t.Errorf("one more is not: %+v", r)
	}
	// One character stands for all the pairs that begin with it.
	var han strings.Builder
	for i := range textsearch.MaxExpansions + 10 {
		fmt.Fprintf(&han, "部%c ", rune(0x4E00+i))
	}
	put(t, s, "han", han.String())
	put(t, s, "han2", "部\u9FA0")
	if r := search(t, s, textsearch.Query{Text: "部", Count: true}); r.Partial || r.Total != 2 {
		t.Errorf("one character: %+v", r)
	}
}

func TestC16_PagesNeitherRepeatNorSkip(t *testing.T) {
	s := memkv.New()
	var want []string
	for i := range 30 {
		key := fmt.Sprintf("%c/%02d", 'a'+i%3, i)
		put(t, s, key, "the same text")
		want = append(want, key)
	}
	slices.Sort(want)
	all := find(t, s, "text")
	if got := keys(all); !slices.Equal(got, want) {
		t.Fatalf("order %q, want %q", got, want)
	}
	for range 25 {
		if got := pages(t, s, 7, nil); !slices.Equal(got, want) {
			t.Fatalf("pages of 7: %q", got)
		}
	}
	for n := 1; n <= 31; n++ {
		got := keys(search(t, s, textsearch.Query{Text: "text", Limit: n}).Hits)
		if !slices.Equal(got, want[:min(n, 30)]) {
			t.Errorf("limit %d: %q", n, got)
		}
	}
	if got := len(search(t, s, textsearch.Query{Text: "text"}).Hits); got != textsearch.DefaultLimit {
		t.Errorf("%d hits without a limit", got)
	}

	// Documents that come in between move every score.
	n := 0
	got := pages(t, s, 7, func() { put(t, s, fmt.Sprintf("z%d", n), "another, longer text than those"); n++ })
	if !slices.Equal(got[:30], want) {
		t.Errorf("with insertions: %q", got)
	}
}

// The page behind a document that is gone begins where it was.
func TestC16_CursorOfADroppedDocument(t *testing.T) {
	s := indexed(t, docs{"a": "word word", "b": "word x", "c": "word x", "d": "word x y z"})
	at := find(t, s, "word")[1].Cursor()
	drop(t, s, "b")
	r := search(t, s, textsearch.Query{Text: "word", After: at})
	if got := keys(r.Hits); !slices.Equal(got, []string{"c", "d"}) || r.Total != 3 || r.Hits[0].Rank != 2 {
		t.Errorf("behind b: %+v", r)
	}
	for _, c := range []textsearch.Cursor{{Key: "gone", Rank: 99}, {Key: "gone", Rank: -1}, {}} {
		r := search(t, s, textsearch.Query{Text: "word", After: &c})
		if want := map[bool]int{true: 0, false: 3}[c.Rank == 99]; len(r.Hits) != want {
			t.Errorf("behind %+v: %+v", c, r)
		}
	}
}

// pages collects the hits page by page, calling between after each.
func pages(t *testing.T, s *memkv.Store, size int, between func()) []string {
	t.Helper()
	var got []string
	q := textsearch.Query{Text: "text", Limit: size}
	for {
		r := search(t, s, q)
		if len(r.Hits) == 0 {
			return got
		}
		for i, h := range r.Hits {
			if between == nil && h.Rank != len(got)+i+1 {
				t.Fatalf("%s has the rank %d behind %d hits", h.Key, h.Rank, len(got)+i)
			}
		}
		got = append(got, keys(r.Hits)...)
		q.After = r.Hits[len(r.Hits)-1].Cursor()
		if between != nil && len(got) < 60 {
			between()
			q.After.Rank = 0 // the key is enough
		}
		if len(got) > 200 {
			t.Fatal("the pages do not end")
		}
	}
}

// FuzzSearch asks anything of an index of anything: never an error, and every word
// of a hit is one of the query.
func FuzzSearch(f *testing.F) {
	for _, seed := range [][2]string{
		{"deploy the server", "deploying*"}, {"部署方案", "部"}, {"getUserById src/kv/key.go", "\"user\" KEY*"}, {"a", "*"}, {"x\xff", "\"\""}, {"ﷺ", "“ﷺ”"}, {"C++", "c++*"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, query string) {
		if len(text) > 1<<12 || len(query) > 1<<12 {
			t.Skip("long enough")
		}
		s := indexed(t, docs{"d": text, "e": "deploy 部署"})
		for _, h := range find(t, s, query) {
			for _, w := range h.Words {
				if !strings.Contains(query, w) || w == "" {
					t.Fatalf("%q has the word %q", query, w)
				}
			}
			if spans := textsearch.Highlight(text, query); h.Key == "d" && len(spans) == 0 {
				t.Fatalf("%q finds %q and marks nothing", query, text)
			}
		}
		// A text is found by itself, unless it has more words than a query may.
		if r := search(t, s, textsearch.Query{Text: strings.NewReplacer("\"", " ", "“", " ", "”", " ", "„", " ", "*", " ").Replace(text), Limit: -1}); !r.Partial && len(find(t, s, text)) > 0 && !slices.Contains(keys(r.Hits), "d") {
			t.Fatalf("%q does not find itself", text)
		}
		drop(t, s, "d")
		wantSound(t, s, nil)
		wantFresh(t, s, docs{"e": "deploy 部署"})
	})
}

// FuzzSnippet cuts anything anywhere.
func FuzzSnippet(f *testing.F) {
	f.Add("the quick brown fox", "fox", 8)
	f.Add("今天讨论了部署方案", "部署", 10)
	f.Add("👩‍👩‍👧‍👦 family e\u0301", "family", 9)
	f.Add("x", "x", 0)
	f.Fuzz(func(t *testing.T, text, query string, limit int) {
		spans := textsearch.Highlight(text, query)
		for i, s := range spans {
			if s.Start >= s.End || s.End > len(text) || i > 0 && s.Start <= spans[i-1].End {
				t.Fatalf("spans %v of %q", spans, text)
			}
		}
		w := textsearch.Snippet(text, spans, limit)
		if len(w.Text) > max(limit, 0) {
			t.Fatalf("%d bytes, not %d", len(w.Text), limit)
		}
		if text[w.Start:w.Start+len(w.Text)] != w.Text {
			t.Fatalf("the window is not at %d", w.Start)
		}
		if utf8.ValidString(text) && !utf8.ValidString(w.Text) {
			t.Fatalf("%q is cut inside a character: %q", text, w.Text)
		}
		for _, s := range w.Spans {
			if s.Start < 0 || s.Start >= s.End || s.End > len(w.Text) {
				t.Fatalf("span %v in %q", s, w.Text)
			}
		}
	})
}
