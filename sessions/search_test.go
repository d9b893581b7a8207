package sessions_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
	"github.com/crabstore/crabstore/textsearch"
)

func find(t testing.TB, s kv.KVStorage, q sessions.Query) []sessions.Hit {
	t.Helper()
	return must[sessions.Results](t)(sessions.Search(t.Context(), s, q)).Hits
}

func found(hits []sessions.Hit) []string {
	var list []string
	for _, h := range hits {
		list = append(list, h.Session.Handle)
	}
	return list
}

// fill makes a session of the messages.
func fill(t testing.TB, s kv.KVStorage, m sessions.Meta, msgs ...sessions.Message) {
	t.Helper()
	mustAppend(t, s, mustCreate(t, s, m).Handle, msgs...)
}

// marked is a snippet with its spans in brackets.
func marked(text string, spans []sessions.Span) string {
	for i := len(spans) - 1; i >= 0; i-- {
		p := spans[i]
		text = text[:p.Start] + "[" + text[p.Start:p.End] + "]" + text[p.End:]
	}
	return text
}

func TestSearchShowsTheMessagesAroundTheBest(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.KVStorage) {
		fill(t, s, sessions.Meta{Handle: "h", Title: "Storage of crabs", Agent: "coder", CreatedBy: "ann", CreatedAt: at(0)},
			user("hello"), assistant("hi, what is it?"), user("the crabs escaped from storage"),
			assistant("let me look", "ls"), result("ls", "no crabs here"), assistant("they are gone"))
		fill(t, s, sessions.Meta{Handle: "other"}, user("nothing of the kind"))
		hits := find(t, s, sessions.Query{Text: "crab escape"})
		if len(hits) != 1 {
			t.Fatalf("hits: %+v", hits)
		}
		h := hits[0]
		if h.Session.Handle != "h" || h.Session.Agent != "coder" || h.Best != 2 || h.Score <= 0 {
			t.Errorf("hit: %+v", h)
		}
		if got := marked(h.Session.Title, h.Title); got != "Storage of [crabs]" {
			t.Errorf("title: %s", got)
		}
		var window []string
		for _, it := range h.Window {
			window = append(window, fmt.Sprintf("%d %s: %s", it.Index, it.Role, marked(it.Snippet, it.Spans)))
			if it.At.IsZero() || it.Before || it.After {
				t.Errorf("item: %+v", it)
			}
		}
		wantEqual(t, "window", window, []string{
			"0 user: hello",
			"1 assistant: hi, what is it?",
			"2 user: the [crabs] [escaped] from storage",
			"3 assistant: let me look\nrun_ls",
			"4 tool: no [crabs] here",
		})
	})
}

func TestSearchWindowIsFullAtBothEnds(t *testing.T) {
	s := memkv.New()
	var msgs []sessions.Message
	for i := range 8 {
		msgs = append(msgs, user(fmt.Sprint("needle", i)), sessions.Message{Role: sessions.System}) // which shows nothing
	}
	fill(t, s, sessions.Meta{Handle: "h", Title: "haystack"}, msgs...)
	for _, c := range []struct {
		text   string
		window int
		want   string
	}{
		{"needle4", 0, "4 6 8 10 12"}, {"needle4", 1, "8"}, {"needle4", 2, "8 10"}, {"needle4", 4, "6 8 10 12"},
		{"needle0", 3, "0 2 4"}, {"needle1", 5, "0 2 4 6 8"}, {"needle7", 4, "8 10 12 14"},
		{"needle4", 99, "0 2 4 6 8 10 12 14"},
		{"haystack", 3, "0 2 4"},
	} {
		hits := find(t, s, sessions.Query{Text: c.text, Window: c.window})
		var got []string
		for _, it := range hits[0].Window {
			got = append(got, fmt.Sprint(it.Index))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s, %d: got %v, want %s", c.text, c.window, got, c.want)
		}
	}
	if h := find(t, s, sessions.Query{Text: "haystack"})[0]; h.Best != -1 || marked("haystack", h.Title) != "[haystack]" {
		t.Errorf("a hit by title alone: %+v", h)
	}
}

func TestSearchFindsOnlyWhatIsSaid(t *testing.T) {
	s := memkv.New()
	block := func(b sessions.Block) []sessions.Block { return []sessions.Block{b} }
	fill(t, s, sessions.Meta{Handle: "h"},
		user("userword"), assistant("assistantword"),
		sessions.Message{Role: sessions.User, Blocks: []sessions.Block{
			{Type: sessions.Text, Text: "injectedword", Injected: true}, {Type: sessions.Text, Text: "besideword"}}},
		sessions.Message{Role: sessions.Assistant, Blocks: block(sessions.Block{Type: sessions.Thinking, Text: "reasonword"})},
		sessions.Message{Role: sessions.Assistant, Blocks: []sessions.Block{
			{Type: sessions.Text, Text: "callingword"},
			{Type: sessions.ToolUse, ID: "idword", Name: "functionword", Input: []byte(`{"argumentword":1}`)}}},
		result("idword", "resultword"),
		sessions.Message{Role: sessions.User, Blocks: block(sessions.Block{Type: sessions.ToolResult, ID: "x", Text: "userresultword"})},
		sessions.Message{Role: sessions.User, Blocks: block(sessions.Block{Type: sessions.Image, MIME: "image/imageword", Data: []byte("dataword")})},
		said(sessions.System, "systemword"))
	for word, want := range map[string]int{
		"userword": 0, "assistantword": 1, "besideword": 2, "callingword": 4, "functionword": 4,
		"injectedword": -1, "reasonword": -1, "idword": -1, "argumentword": -1, "resultword": -1,
		"userresultword": -1, "imageword": -1, "dataword": -1, "systemword": -1,
	} {
		hits := find(t, s, sessions.Query{Text: word})
		switch {
		case want < 0 && len(hits) > 0:
			t.Errorf("%s is found at %d", word, hits[0].Best)
		case want >= 0 && (len(hits) != 1 || hits[0].Best != want):
			t.Errorf("%s: %+v", word, hits)
		}
	}
	for _, it := range find(t, s, sessions.Query{Text: "besideword", Window: 16})[0].Window {
		if strings.Contains(it.Snippet, "injectedword") || strings.Contains(it.Snippet, "reasonword") {
			t.Errorf("shown: %+v", it)
		}
	}
}

// Texts of one length differ by their weights alone, and scores by nothing else.
func TestSearchWeights(t *testing.T) {
	s := memkv.New()
	calls := sessions.Message{Role: sessions.Assistant, Blocks: []sessions.Block{{Type: sessions.ToolUse, ID: "1", Name: "needle"}}}
	fill(t, s, sessions.Meta{Handle: "assistant"}, assistant("needle"))
	fill(t, s, sessions.Meta{Handle: "call"}, calls)
	fill(t, s, sessions.Meta{Handle: "user"}, user("needle"))
	fill(t, s, sessions.Meta{Handle: "title", Title: "needle"})
	fill(t, s, sessions.Meta{Handle: "summary", Summary: "needle"})
	fill(t, s, sessions.Meta{Handle: "both", Title: "needle"}, user("needle"))
	hits := find(t, s, sessions.Query{Text: "needle"})
	wantEqual(t, "order", found(hits), []string{"both", "summary", "title", "user", "call", "assistant"})
	unit := hits[5].Score
	for i, want := range []float64{3.5, 3, 2, 1.5, 1.3, 1} {
		if got := hits[i].Score / unit; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s weighs %v, want %v", hits[i].Session.Handle, got, want)
		}
	}
}

func TestSearchNarrowedDown(t *testing.T) {
	s := memkv.New()
	say := func(text string, second int) sessions.Message {
		m := user(text)
		m.At = at(second)
		return m
	}
	fill(t, s, sessions.Meta{Handle: "1", Agent: "a", CreatedBy: "x", CreatedAt: at(0), Title: "word"}, say("word", 1), say("word word", 20))
	fill(t, s, sessions.Meta{Handle: "2", Agent: "b", CreatedBy: "x", CreatedAt: at(10)}, say("word", 11))
	fill(t, s, sessions.Meta{Handle: "3", Agent: "b", CreatedBy: "y", CreatedAt: at(30)}, say("word", 31))
	fill(t, s, sessions.Meta{Handle: "4", Agent: "b", CreatedBy: "y", CreatedAt: at(0)}, say("nothing", 1), say("word", 59))
	fill(t, s, sessions.Meta{Handle: "5", Agent: "c", CreatedAt: at(40), Title: "a longer title that has the word"})
	fill(t, s, sessions.Meta{Handle: "6", Agent: "c", CreatedAt: at(50)}, say("word at length, as long as any", 50), say("word", 51), say("a word", 52))
	for _, c := range []struct {
		q    sessions.Query
		want string
	}{
		{sessions.Query{}, "1 2 3 4 5 6"},
		{sessions.Query{Agent: "b"}, "2 3 4"},
		{sessions.Query{By: "x"}, "1 2"},
		{sessions.Query{Agent: "b", By: "x"}, "2"},
		{sessions.Query{Handle: "3"}, "3"},
		{sessions.Query{Handle: "none"}, ""},
		{sessions.Query{Since: at(31)}, "3 4 5 6"},
		{sessions.Query{Since: at(41)}, "4 6"},
		{sessions.Query{Agent: "c", Until: at(40)}, ""},
		{sessions.Query{Agent: "c", Until: at(41)}, "5"},
		{sessions.Query{Until: at(11)}, "1"},
		{sessions.Query{Until: at(12)}, "1 2"},
		{sessions.Query{Since: at(5), Until: at(25)}, "1 2"},
	} {
		c.q.Text = "word"
		got := found(find(t, s, c.q))
		slices.Sort(got)
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.q, got, c.want)
		}
	}
	if h := find(t, s, sessions.Query{Text: "word", Until: at(11)})[0]; h.Best != 0 {
		t.Errorf("the best of the time is message %d, want 0", h.Best)
	}
	if h := find(t, s, sessions.Query{Text: "word", Agent: "c", Since: at(45)})[0]; h.Best != 1 {
		t.Errorf("the best of the time is message %d, want 1", h.Best)
	}
}

// What is left out does not use up the candidates.
func TestSearchFindsTheOneOfManyThatIsWanted(t *testing.T) {
	s := memkv.New()
	for i := range 300 {
		fill(t, s, sessions.Meta{Handle: fmt.Sprintf("many%03d", i), Agent: "many", CreatedAt: at(1)}, user("word"))
	}
	fill(t, s, sessions.Meta{Handle: "one", Agent: "one", CreatedAt: at(1)}, user("word and a lot of other things that make it rank last"))
	wantEqual(t, "hits", found(find(t, s, sessions.Query{Text: "word", Agent: "one"})), []string{"one"})
}

func TestC16_FewerHitsAreTheFirstOfMore(t *testing.T) {
	s := memkv.New()
	for i := range 30 {
		fill(t, s, sessions.Meta{Handle: fmt.Sprintf("s%02d", i), Title: "same"}, user("same text"), assistant("same text"))
	}
	all := found(find(t, s, sessions.Query{Text: "same", Limit: 99}))
	if len(all) != 20 || all[0] != "s00" || all[19] != "s19" {
		t.Errorf("hits: %v", all)
	}
	for n := 1; n <= 20; n++ {
		wantEqual(t, fmt.Sprint("limit ", n), found(find(t, s, sessions.Query{Text: "same", Limit: n})), all[:n])
	}
}

// One that is first by its title and its message together is first for every
// limit, though neither is among the best texts.
func TestC16_TheFirstHitIsTheSameForEveryLimit(t *testing.T) {
	s := memkv.New()
	for i := range 30 {
		fill(t, s, sessions.Meta{Handle: fmt.Sprintf("s%02d", i)}, user("needle pin bodkin awl"))
	}
	fill(t, s, sessions.Meta{Handle: "z", Title: "needle one two three four five six seven"}, user("needle one two three four"))
	for n := 1; n <= 20; n++ {
		if got := found(find(t, s, sessions.Query{Text: "needle", Limit: n})); len(got) != n || got[0] != "z" {
			t.Errorf("limit %d: %v", n, got)
		}
	}
}

func TestC22_AHitWhoseContentIsGoneIsPassedOver(t *testing.T) {
	ctx, s := t.Context(), memkv.New()
	fill(t, s, sessions.Meta{Handle: "a"}, user("word word word"), user("word"))
	fill(t, s, sessions.Meta{Handle: "b"}, user("word"))
	for _, key := range []string{"nowhere/msg/000000000000", "a/msg/000000000007", "a/msg/x", "a", "a/b/c/d", "%"} {
		if err := textsearch.Put(ctx, s, sessions.TextIndex, key, "word", 9); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range [][]byte{kv.Key(s, "session", "a", "msg", "000000000000"), kv.Key(s, "session", "b", "meta")} {
		if _, err := s.Delete(ctx, kv.Session, key); err != nil {
			t.Fatal(err)
		}
	}
	hits := find(t, s, sessions.Query{Text: "word"})
	if len(hits) != 1 || hits[0].Session.Handle != "a" || hits[0].Best != 1 {
		t.Errorf("hits: %+v", hits)
	}
	if _, err := sessions.ReindexAll(ctx, s, nil); err != nil {
		t.Fatal(err)
	}
	if again := find(t, s, sessions.Query{Text: "word"}); len(again) != 1 || again[0].Best != 1 {
		t.Errorf("after Reindex: %+v", again)
	}
	wantSound(t, s)
}

func TestSearchSnippets(t *testing.T) {
	s := memkv.New()
	long := strings.Repeat("é and so on ", 400) + "the needle is here" + strings.Repeat(" and on it goes ü", 400)
	fill(t, s, sessions.Meta{Handle: "h"}, assistant(long), user(long), result("x", strings.Repeat("ü", 9000)))
	for _, it := range find(t, s, sessions.Query{Text: "needle"})[0].Window {
		if len(it.Snippet) > 1024 || len(it.Snippet) < 900 || !utf8.ValidString(it.Snippet) || !it.After {
			t.Errorf("message %d: %d bytes, %+v", it.Index, len(it.Snippet), it)
		}
		if it.Index == 1 && (!strings.Contains(marked(it.Snippet, it.Spans), "the [needle] is") || !it.Before) {
			t.Errorf("the best: %s", marked(it.Snippet, it.Spans))
		}
	}
}

func TestSearchIsNeverASyntaxError(t *testing.T) {
	s := memkv.New()
	fill(t, s, sessions.Meta{Handle: "h"}, user("plain words 🚀"))
	for _, text := range []string{"", " ", "*", "\"", "(", "AND", "\x00", "\xff", "🚀", "a=b OR", "-"} {
		find(t, s, sessions.Query{Text: text})
	}
	wantEqual(t, "hits", found(find(t, s, sessions.Query{Text: "((words\""})), []string{"h"})
}

// ranked is a store with its own numbers, which its transactions have too.
type ranked struct {
	kv.KVStorage
	ranking sessions.Ranking
}

func (r ranked) Unwrap() kv.KVStorage             { return r.KVStorage }
func (r ranked) SessionRanking() sessions.Ranking { return r.ranking }

func TestSearchAsksTheStoreForItsNumbers(t *testing.T) {
	s := ranked{memkv.New(), sessions.Ranking{Assistant: 4, Hits: 2, Window: 1, Snippet: 9}}
	fill(t, s, sessions.Meta{Handle: "1"}, user("needle"))
	fill(t, s, sessions.Meta{Handle: "2"}, assistant("needle"), user("what a long text"))
	fill(t, s, sessions.Meta{Handle: "3"}, user("needle"))
	hits := find(t, s, sessions.Query{Text: "needle what", Limit: 20, Window: 20})
	wantEqual(t, "hits", found(hits), []string{"2", "1"})
	if w := hits[0].Window; len(w) != 1 || len(w[0].Snippet) > 9 {
		t.Errorf("window: %+v", w)
	}
	wantSound(t, s)
}

func TestSubagentsAreFound(t *testing.T) {
	s := memkv.New()
	fill(t, s, sessions.Meta{Handle: "sub", Parent: &sessions.Parent{Handle: "main", Kind: sessions.Subagent}}, user("needle"))
	wantEqual(t, "hits", found(find(t, s, sessions.Query{Text: "needle"})), []string{"sub"})
}

func BenchmarkSearch100k(b *testing.B) {
	s := memkv.New()
	v := newVocabulary(1)
	for i := range 500 {
		m := mustCreate(b, s, sessions.Meta{Agent: "bench", Title: v.text(6), CreatedAt: time.Unix(int64(i), 0)})
		mustAppend(b, s, m.Handle, v.conversation(200)...)
	}
	rare := v.text(3)
	fill(b, s, sessions.Meta{Agent: "bench"}, user("zebrafish"))
	for name, text := range map[string]string{"rare": "zebrafish", "three words": rare, "common": v.text(1)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				find(b, s, sessions.Query{Text: text})
			}
		})
	}
}

func BenchmarkListPage(b *testing.B) {
	s := memkv.New()
	for i := range 10_000 {
		mustCreate(b, s, sessions.Meta{Agent: fmt.Sprint(i % 5), CreatedBy: fmt.Sprint(i % 2), CreatedAt: time.Unix(int64(i), 0)})
	}
	for b.Loop() {
		page := must[sessions.Page](b)(sessions.List(b.Context(), s, sessions.Filter{}))
		if len(page.Sessions) != sessions.DefaultPage {
			b.Fatal(len(page.Sessions))
		}
	}
}
