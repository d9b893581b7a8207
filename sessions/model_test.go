package sessions_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
	"pgregory.net/rapid"
)

// modelSession is what a session is, without any index.
type modelSession struct {
	agent, title, summary string
	created, revision     int
	next, boundary        int
	output                int64
	events                []string
	messages              map[int]modelMessage
}

type modelMessage struct {
	text   string
	output int64
}

// model is a history of changes beside a store, and the plainest thing that the
// store could be.
type model struct {
	s        kv.KVStorage
	sessions map[string]*modelSession
	words    int // each message has a word of its own
}

var modelHandles = []string{"a", "ab", "a/b", "b"}

func (m *model) handle(t *rapid.T) (string, *modelSession) {
	h := rapid.SampledFrom(modelHandles).Draw(t, "handle")
	return h, m.sessions[h]
}

// check tells whether a call did what it must on a session that may be absent.
func (m *model) check(t *rapid.T, what string, ms *modelSession, err error) bool {
	if (ms == nil) != (err != nil) {
		t.Fatalf("%s: session there: %v, error %v", what, ms != nil, err)
	}
	return err == nil
}

func (m *model) Create(t *rapid.T) {
	h, ms := m.handle(t)
	created := rapid.IntRange(0, 5).Draw(t, "created")
	agent := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "agent")
	_, err := sessions.Create(t.Context(), m.s, sessions.Meta{Handle: h, Agent: agent, Title: "begun", CreatedAt: at(created)})
	if (ms == nil) != (err == nil) {
		t.Fatalf("create: %v", err)
	}
	if err == nil {
		m.sessions[h] = &modelSession{agent: agent, title: "begun", created: created, revision: 1, messages: map[int]modelMessage{}}
	}
}

func (m *model) message(t *rapid.T) (sessions.Message, modelMessage) {
	m.words++
	text := fmt.Sprintf("w%06dx common", m.words)
	output := rapid.Int64Range(0, 3).Draw(t, "output")
	msg := user(text)
	if rapid.Bool().Draw(t, "assistant") {
		msg.Role, msg.Usage = sessions.Assistant, &sessions.Usage{Output: output}
	} else {
		output = 0
	}
	return msg, modelMessage{text, output}
}

func (m *model) Append(t *rapid.T) {
	h, ms := m.handle(t)
	var msgs []sessions.Message
	var want []modelMessage
	for range rapid.IntRange(1, 4).Draw(t, "n") {
		msg, mm := m.message(t)
		msgs, want = append(msgs, msg), append(want, mm)
	}
	_, err := sessions.Append(t.Context(), m.s, h, msgs...)
	if m.check(t, "append", ms, err) {
		for _, mm := range want {
			ms.messages[ms.next] = mm
			ms.output += mm.output
			ms.next++
		}
		ms.revision++
	}
}

func (m *model) Amend(t *rapid.T) {
	h, ms := m.handle(t)
	msg, mm := m.message(t)
	msg.Index = rapid.IntRange(0, 12).Draw(t, "index")
	_, err := sessions.Amend(t.Context(), m.s, h, msg)
	var was modelMessage
	stored := false
	if ms != nil {
		was, stored = ms.messages[msg.Index]
	}
	if stored != (err == nil) {
		t.Fatalf("amend: %v", err)
	}
	if stored {
		ms.messages[msg.Index] = mm
		ms.output += mm.output - was.output
		ms.revision++
	}
}

func (m *model) Truncate(t *rapid.T) {
	h, ms := m.handle(t)
	from := rapid.IntRange(-1, 12).Draw(t, "from")
	_, err := sessions.Truncate(t.Context(), m.s, h, from)
	if !m.check(t, "truncate", ms, err) {
		return
	}
	gone := 0
	for i, mm := range ms.messages {
		if i >= from {
			delete(ms.messages, i)
			ms.output -= mm.output
			gone++
		}
	}
	if gone > 0 || from < ms.boundary {
		ms.revision++
	}
	if from < ms.boundary {
		ms.boundary, ms.summary = 0, ""
	}
}

func (m *model) Compact(t *rapid.T) {
	h, ms := m.handle(t)
	keep := rapid.IntRange(0, 5).Draw(t, "keep")
	m.words++
	summary := fmt.Sprintf("summary w%06dx", m.words)
	_, err := sessions.Compact(t.Context(), m.s, h, sessions.Compaction{Summary: summary, Keep: keep})
	if !m.check(t, "compact", ms, err) {
		return
	}
	live := ms.live()
	ms.revision++
	ms.summary = summary
	switch {
	case len(live) == 0 || keep == 0:
		ms.boundary = ms.next
	case keep < len(live):
		ms.boundary = live[len(live)-keep]
	default:
		ms.boundary = live[0]
	}
}

// live are the indices from the boundary on.
func (ms *modelSession) live() []int {
	var live []int
	for _, i := range slices.Sorted(maps.Keys(ms.messages)) {
		if i >= ms.boundary {
			live = append(live, i)
		}
	}
	return live
}

func (m *model) Events(t *rapid.T) {
	h, ms := m.handle(t)
	m.words++
	name := fmt.Sprint("e", m.words)
	_, err := sessions.AppendEvents(t.Context(), m.s, h, sessions.Event{Type: name}, sessions.Event{Type: name + "'"})
	if m.check(t, "events", ms, err) {
		ms.events = append(ms.events, name, name+"'")
		ms.revision++
	}
}

func (m *model) Update(t *rapid.T) {
	h, ms := m.handle(t)
	m.words++
	title := rapid.SampledFrom([]string{"", fmt.Sprintf("title w%06dx", m.words)}).Draw(t, "title")
	agent := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "agent")
	created := rapid.IntRange(0, 5).Draw(t, "created")
	_, err := sessions.UpdateMeta(t.Context(), m.s, h, func(meta *sessions.Meta) error {
		meta.Title, meta.Agent, meta.CreatedAt = title, agent, at(created)
		return nil
	})
	if m.check(t, "update", ms, err) {
		ms.title, ms.agent, ms.created = title, agent, created
		ms.revision++
	}
}

func (m *model) Delete(t *rapid.T) {
	h, ms := m.handle(t)
	if m.check(t, "delete", ms, sessions.Delete(t.Context(), m.s, h)) {
		delete(m.sessions, h)
	}
}

func (m *model) DeleteByAgent(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "rarely") > 0 {
		t.Skip("kept for the other changes")
	}
	want := 0
	for h, ms := range m.sessions {
		if ms.agent == "x" {
			delete(m.sessions, h)
			want++
		}
	}
	if n, err := sessions.DeleteByAgent(t.Context(), m.s, "x"); err != nil || n != want {
		t.Fatalf("deleted %d, %v, want %d", n, err, want)
	}
}

func (m *model) Reindex(t *rapid.T) {
	if n, err := sessions.ReindexAll(t.Context(), m.s, nil); err != nil || n != len(m.sessions) {
		t.Fatalf("reindexed %d, %v, want %d", n, err, len(m.sessions))
	}
}

// Check compares the store with the model, and with itself.
func (m *model) Check(t *rapid.T) {
	for _, h := range modelHandles {
		if ms := m.sessions[h]; ms != nil {
			m.compare(t, h, ms)
		} else if _, err := sessions.Load(t.Context(), m.s, h); err == nil {
			t.Fatalf("%s is there", h)
		}
	}
	faults, err := sessions.Check(t.Context(), m.s, "")
	if err != nil || len(faults) > 0 {
		t.Fatalf("faults: %v, %v", faults, err)
	}
	m.compareList(t)
	m.compareSearch(t)
}

func (m *model) compare(t *rapid.T, h string, ms *modelSession) {
	meta, err := sessions.Load(t.Context(), m.s, h)
	got := fmt.Sprint(err, meta.Agent, meta.Title, meta.Summary, meta.Messages, meta.NextIndex, meta.Boundary, meta.LastSeq, meta.Revision, meta.Usage.Output)
	want := fmt.Sprint(nil, ms.agent, ms.title, ms.summary, len(ms.messages), ms.next, ms.boundary, len(ms.events), ms.revision, ms.output)
	if got != want {
		t.Fatalf("meta of %s: %s, want %s", h, got, want)
	}
	var messages, wanted, live, wantedLive, events []string
	for msg, err := range sessions.Messages(t.Context(), m.s, h, sessions.Range{}) {
		messages = append(messages, fmt.Sprint(msg.Index, textOf(msg), err))
	}
	for _, i := range slices.Sorted(maps.Keys(ms.messages)) {
		wanted = append(wanted, fmt.Sprint(i, ms.messages[i].text, nil))
	}
	c, err := sessions.LoadContext(t.Context(), m.s, h)
	for _, msg := range c.Messages {
		live = append(live, fmt.Sprint(msg.Index))
	}
	for _, i := range ms.live() {
		wantedLive = append(wantedLive, fmt.Sprint(i))
	}
	for e, err := range sessions.Events(t.Context(), m.s, h, 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e.Type)
	}
	if !slices.Equal(messages, wanted) || !slices.Equal(events, ms.events) || !slices.Equal(live, wantedLive) || err != nil {
		t.Fatalf("%s: messages %q, want %q; live %v, want %v; events %v, want %v; %v", h, messages, wanted, live, wantedLive, events, ms.events, err)
	}
	if ms.boundary > 0 && c.Summary != ms.summary || ms.boundary == 0 && c.Summary != "" {
		t.Fatalf("%s: the context's summary is %q, want %q", h, c.Summary, ms.summary)
	}
}

func (m *model) compareList(t *rapid.T) {
	byNewest := func(a, b string) int {
		if d := m.sessions[b].created - m.sessions[a].created; d != 0 {
			return d
		}
		return strings.Compare(string(kv.AppendPart(nil, b)), string(kv.AppendPart(nil, a)))
	}
	want := slices.SortedFunc(maps.Keys(m.sessions), byNewest)
	page, err := sessions.List(t.Context(), m.s, sessions.Filter{})
	if err != nil || !slices.Equal(handles(page.Sessions), want) {
		t.Fatalf("list: %v, %v, want %v", handles(page.Sessions), err, want)
	}
}

// compareSearch looks for the words of one session, each of which is in it alone,
// and for the word that all messages have.
func (m *model) compareSearch(t *rapid.T) {
	want := map[string]bool{}
	for h, ms := range m.sessions {
		if len(ms.messages) > 0 {
			want[h] = true
		}
		words := append(strings.Fields(ms.title), strings.Fields(ms.summary)...)
		for _, mm := range ms.messages {
			words = append(words, strings.Fields(mm.text)[0])
			break
		}
		for _, word := range words {
			if strings.HasPrefix(word, "w0") {
				m.findOne(t, word, h)
			}
		}
	}
	r, err := sessions.Search(t.Context(), m.s, sessions.Query{Text: "common", Limit: 20})
	got := map[string]bool{}
	for _, hit := range r.Hits {
		got[hit.Session.Handle] = true
	}
	if err != nil || !maps.Equal(got, want) {
		t.Fatalf("search finds %v, %v, want %v", got, err, want)
	}
}

func (m *model) findOne(t *rapid.T, word, handle string) {
	r, err := sessions.Search(t.Context(), m.s, sessions.Query{Text: `"` + word + `"`})
	if err != nil || len(r.Hits) != 1 || r.Hits[0].Session.Handle != handle {
		t.Fatalf("%s of %s finds %v, %v", word, handle, found(r.Hits), err)
	}
}

// TestHistories makes random histories beside the model. A failure prints the
// history and the seed that repeats it.
func TestHistories(t *testing.T) {
	for name, open := range map[string]func() kv.KVStorage{
		"atomic": func() kv.KVStorage { return memkv.New() },
		"plain":  func() kv.KVStorage { return plain{memkv.New()} },
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := &model{s: open(), sessions: map[string]*modelSession{}}
				t.Repeat(map[string]func(*rapid.T){
					"": m.Check, "create": m.Create, "append": m.Append, "append again": m.Append, "amend": m.Amend,
					"truncate": m.Truncate, "compact": m.Compact, "events": m.Events, "update": m.Update,
					"delete": m.Delete, "delete by agent": m.DeleteByAgent, "reindex": m.Reindex,
				})
			})
		})
	}
}
