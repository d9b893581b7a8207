package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crabstore/crabstore/apps/agent/internal/transcripts"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
)

// fixture is a folder of transcripts and a store.
type fixture struct {
	*testing.T
	dir   string
	store kv.KVStorage
}

func newFixture(t *testing.T) *fixture {
	return &fixture{t, t.TempDir(), memkv.New()}
}

// put writes a file of lines as given, with or without a newline at the end.
func (f *fixture) put(name, content string) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		f.Fatal(err)
	}
}

// add appends to a file.
func (f *fixture) add(name, content string) {
	f.Helper()
	was, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		f.Fatal(err)
	}
	f.put(name, string(was)+content)
}

func (f *fixture) run(opts Options) *Report {
	f.Helper()
	r, err := Run(context.Background(), f.store, walk(f, f.dir), opts)
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// claude returns a line of a Claude Code transcript, of a user or, with a reply's
// ID, of the assistant.
func claude(session, uuid, reply, text string, more ...string) string {
	message := object{"role": "user", "content": text}
	kind := "user"
	if reply != "" {
		kind = "assistant"
		message = object{"id": reply, "role": "assistant", "model": "m", "content": []object{{"type": "text", "text": text}}}
	}
	l := object{"type": kind, "sessionId": session, "uuid": uuid, "isSidechain": false, "version": "2.1.0",
		"cwd": "/src", "timestamp": "2026-01-05T08:00:00.000Z", "message": message}
	for i := 0; i+1 < len(more); i += 2 {
		l[more[i]] = more[i+1]
	}
	b, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

// id returns a UUID, of which a message's ID is made as it is.
func id(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) }

func handle(session string) string { return handleOf(transcripts.ClaudeCode, session) }

// texts returns what is stored of a session, a string a message.
func (f *fixture) texts(session string) []string {
	f.Helper()
	var out []string
	for m, err := range sessions.Messages(context.Background(), f.store, handle(session), sessions.Range{}) {
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		if err != nil {
			f.Fatal(err)
		}
		var parts []string
		for _, b := range m.Blocks {
			parts = append(parts, b.Text)
		}
		out = append(out, strings.Join(parts, "|"))
	}
	return out
}

func (f *fixture) wantTexts(session string, want ...string) {
	f.Helper()
	if got := f.texts(session); !slices.Equal(got, want) {
		f.Errorf("session %s has %q, want %q", session, got, want)
	}
}

// wantMessages compares the counts of all formats together.
func (f *fixture) wantMessages(r *Report, want Counts) {
	f.Helper()
	var got Counts
	for _, format := range r.Formats {
		got.add(format.Messages)
	}
	if got != want {
		f.Errorf("messages: %+v, want %+v", got, want)
	}
	f.wantSound()
}

func (f *fixture) wantSound() {
	f.Helper()
	faults, err := sessions.Check(context.Background(), f.store, "")
	if err != nil {
		f.Fatal(err)
	}
	for _, fault := range faults {
		f.Error("check:", fault)
	}
	for what, err := range Check(context.Background(), f.store) {
		f.Error("check:", what, err)
	}
}

func TestSecondRunAddsNothing(t *testing.T) {
	f := newFixture(t)
	f.put("a.jsonl", claude("s1", id(1), "", "hello")+claude("s1", id(2), "m1", "hi"))
	f.wantMessages(f.run(Options{}), Counts{New: 2})
	before := content(t, f.store)
	f.wantMessages(f.run(Options{}), Counts{Unchanged: 2})
	if after := content(t, f.store); !maps.Equal(before, after) {
		t.Error("the second run changed the store")
	}
	f.wantTexts("s1", "hello", "hi")
}

// content returns all that is in a store.
func content(t testing.TB, s kv.KVStorage) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, col := range kv.Columns() {
		for e, err := range s.Scan(context.Background(), col, nil) {
			if err != nil {
				t.Fatal(err)
			}
			all[string(rune(col))+string(e.Key)] = string(e.Value)
		}
	}
	return all
}

// A line that is still being written is read when it is whole: not lost, not twice.
func TestF01_HalfLastLine(t *testing.T) {
	f := newFixture(t)
	second := claude("s1", id(2), "", "zweite Zeile mit Ümlaut")
	cut := strings.Index(second, "Ü") + 1 // inside the character
	f.put("a.jsonl", claude("s1", id(1), "", "first")+second[:cut])
	r := f.run(Options{})
	f.wantMessages(r, Counts{New: 1})
	if len(r.Unfinished) != 1 || r.Partial() {
		t.Errorf("unfinished %v, partial %v; want one file, and nothing lost", r.Unfinished, r.Partial())
	}
	f.add("a.jsonl", second[cut:])
	f.wantMessages(f.run(Options{}), Counts{New: 1})
	f.wantMessages(f.run(Options{}), Counts{Unchanged: 2})
	f.wantTexts("s1", "first", "zweite Zeile mit Ümlaut")
}

func TestF01_TruncatedAndReplaced(t *testing.T) {
	f := newFixture(t)
	f.put("a.jsonl", claude("s1", id(1), "", "one")+claude("s1", id(2), "", "two")+claude("s1", id(3), "", "three"))
	f.wantMessages(f.run(Options{}), Counts{New: 3})

	f.put("a.jsonl", claude("s1", id(1), "", "one")+claude("s1", id(2), "", "two"))
	f.wantMessages(f.run(Options{}), Counts{Unchanged: 2})
	f.wantTexts("s1", "one", "two", "three") // what was stored stays

	f.put("a.jsonl", claude("s1", id(1), "", "one, put better")+claude("s2", id(9), "", "another session"))
	f.wantMessages(f.run(Options{}), Counts{New: 1, Updated: 1})
	f.wantTexts("s1", "one, put better", "two", "three")
	f.wantTexts("s2", "another session")
}

// A reply in several lines is one message, also when they come in several runs.
func TestF05_GrowingReplyIsAmended(t *testing.T) {
	f := newFixture(t)
	f.put("a.jsonl", claude("s1", id(1), "", "question")+claude("s1", id(2), "m1", "part one"))
	f.wantMessages(f.run(Options{}), Counts{New: 2})
	f.add("a.jsonl", claude("s1", id(3), "m1", "part two")+claude("s1", id(4), "", "thanks"))
	f.wantMessages(f.run(Options{}), Counts{New: 1, Updated: 1})
	f.wantTexts("s1", "question", "part one|part two", "thanks")
	found, err := sessions.Search(context.Background(), f.store, sessions.Query{Text: `"part two"`})
	if err != nil || len(found.Hits) != 1 || found.Hits[0].Best != 1 {
		t.Errorf("search found %+v, %v; want message 1", found.Hits, err)
	}
}

// A fork has its parent's messages under their IDs: they are stored once, whichever
// file is come to first, and the fork says where it left.
func TestF05_ForkAddsNothingTwice(t *testing.T) {
	f := newFixture(t)
	parent := claude("s1", id(1), "", "common question") + claude("s1", id(2), "m1", "common answer")
	fork := claude("s2", id(1), "", "common question") + claude("s2", id(2), "m1", "common answer")
	var forked strings.Builder
	for line := range strings.Lines(fork) {
		var l object
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		l["forkedFrom"] = object{"sessionId": "s1", "messageUuid": l["uuid"]}
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		forked.WriteString(string(b) + "\n")
	}
	f.put("a-fork.jsonl", forked.String()+claude("s2", id(4), "", "another way", "parentUuid", id(2)))
	f.put("b-parent.jsonl", parent+claude("s1", id(3), "", "the old way"))
	r := f.run(Options{})
	f.wantMessages(r, Counts{New: 4, Unchanged: 2})
	f.wantTexts("s1", "common question", "common answer", "the old way")
	f.wantTexts("s2", "another way")
	m, err := sessions.Load(context.Background(), f.store, handle("s2"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (sessions.Parent{Handle: handle("s1"), Kind: sessions.Fork, Index: 1}); m.Parent == nil || *m.Parent != want {
		t.Errorf("the fork's parent is %+v, want %+v", m.Parent, want)
	}
	f.wantMessages(f.run(Options{}), Counts{Unchanged: 6})
}

// A file that was moved is read anew, and found to be known. What it has more than
// what was stored is taken.
func TestMovedFile(t *testing.T) {
	f := newFixture(t)
	f.put("a.jsonl", claude("s1", id(1), "", "hello")+claude("s1", id(2), "m1", "half"))
	f.run(Options{})
	if err := os.Rename(filepath.Join(f.dir, "a.jsonl"), filepath.Join(f.dir, "b.jsonl")); err != nil {
		t.Fatal(err)
	}
	f.add("b.jsonl", claude("s1", id(3), "m1", "whole"))
	f.wantMessages(f.run(Options{}), Counts{Updated: 1, Unchanged: 1})
	f.wantTexts("s1", "hello", "half|whole")
}

func TestDeletedSessionStaysDeleted(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.put("a.jsonl", claude("s1", id(1), "", "secret"))
	f.put("b.jsonl", claude("s2", id(2), "", "other"))
	f.run(Options{})
	err := sessions.Update(ctx, f.store, func(b *sessions.Batch) error {
		return errors.Join(Forget(ctx, b, handle("s1")), b.Delete(ctx, handle("s1")))
	})
	if err != nil {
		t.Fatal(err)
	}
	for key := range content(t, f.store) {
		if strings.Contains(key, id(1)) {
			t.Errorf("the key %q of the deleted session is left", key)
		}
	}
	want := []Deleted{{handle("s1"), "claude-code", "s1"}}
	if r := f.run(Options{}); !slices.Equal(r.LeftOut, want) {
		t.Errorf("left out: %v, want %v", r.LeftOut, want)
	}
	f.add("a.jsonl", claude("s1", id(3), "", "more of it"))
	f.put("copy.jsonl", claude("s1", id(1), "", "secret"))
	r := f.run(Options{})
	f.wantMessages(r, Counts{Unchanged: 1, LeftOut: 2})
	f.wantTexts("s1")

	f.wantMessages(f.run(Options{Force: true}), Counts{New: 2, Unchanged: 2})
	f.wantTexts("s1", "secret", "more of it")
	f.wantTexts("s2", "other")
	r = f.run(Options{})
	f.wantMessages(r, Counts{Unchanged: 4})
	if len(r.LeftOut) != 0 {
		t.Errorf("left out: %v after it was brought back", r.LeftOut)
	}
}

// Deleting without Forget, as another program may, leaves entries of the index that
// lead nowhere. They mislead no later import.
func TestDeletedBehindTheIndex(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	one, two, three := claude("s1", id(1), "", "one"), claude("s1", id(2), "", "two"), claude("s1", id(3), "", "three")
	f.put("a.jsonl", one+two+three)
	f.run(Options{})
	if err := sessions.Delete(ctx, f.store, handle("s1")); err != nil {
		t.Fatal(err)
	}
	f.put("a.jsonl", two+three+one)
	f.wantMessages(f.run(Options{Force: true}), Counts{New: 3})
	f.wantTexts("s1", "two", "three", "one")

	f.put("a.jsonl", "")
	if err := sessions.Delete(ctx, f.store, handle("s1")); err != nil {
		t.Fatal(err)
	}
	if err := Reindex(ctx, f.store); err != nil {
		t.Fatal(err)
	}
	for key := range content(t, f.store) {
		if strings.Contains(key, "idx/ext") {
			t.Errorf("Reindex left %q", key)
		}
	}
}

func TestTruncatedMessagesStayAway(t *testing.T) {
	f := newFixture(t)
	f.put("a.jsonl", claude("s1", id(1), "", "one")+claude("s1", id(2), "m1", "two"))
	f.run(Options{})
	if _, err := sessions.Truncate(context.Background(), f.store, handle("s1"), 1); err != nil {
		t.Fatal(err)
	}
	f.add("a.jsonl", claude("s1", id(3), "m1", "more of two")+claude("s1", id(4), "", "three"))
	f.wantMessages(f.run(Options{}), Counts{New: 1, LeftOut: 1})
	f.wantTexts("s1", "one", "three")
}

// A session in which nothing is said is none, until something is.
func TestSessionWithoutMessagesWaits(t *testing.T) {
	f := newFixture(t)
	f.put("a.jsonl", `{"type":"custom-title","sessionId":"s1","customTitle":"A title ahead of its session"}`+"\n")
	f.run(Options{})
	if got := f.texts("s1"); got != nil {
		t.Errorf("a session of %q", got)
	}
	f.add("a.jsonl", claude("s1", id(1), "", "hello"))
	f.run(Options{})
	m, err := sessions.Load(context.Background(), f.store, handle("s1"))
	if err != nil || m.Title != "A title ahead of its session" {
		t.Errorf("title %q, %v", m.Title, err)
	}
	if m.Extra[ExtraOpening] != "hello" || m.CreatedBy != CreatedBy || m.Agent != "claude-code" {
		t.Errorf("meta: %+v", m)
	}
	if want := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC); !m.CreatedAt.Equal(want) {
		t.Errorf("it began %v, want %v", m.CreatedAt, want)
	}
}

func TestF03_DamagedLineIsReported(t *testing.T) {
	f := newFixture(t)
	f.put("a.jsonl", claude("s1", id(1), "", "one")+`{"type":"user","mess`+"\n"+claude("s1", id(2), "", "two"))
	f.put("notes.md", "# no session\n")
	f.put("empty.jsonl", "")
	r := f.run(Options{})
	f.wantMessages(r, Counts{New: 2})
	if !r.Partial() || r.SkippedTotal != 1 || r.Skipped[0].Line != 2 || !strings.HasSuffix(r.Skipped[0].Path, "a.jsonl") {
		t.Errorf("skipped: %+v, want line 2", r.Skipped)
	}
	if r.Empty != 1 || len(r.NotSessions) != 1 {
		t.Errorf("%d empty files and %v, want 1 and notes.md", r.Empty, r.NotSessions)
	}
	if r := f.run(Options{}); r.Partial() {
		t.Error("the line was reported again by a run that did not read it")
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	f := newFixture(t)
	newCorpus(7).write(t, f.dir, 200, 40)
	plan := f.run(Options{DryRun: true, chunk: 20})
	if n := len(content(t, f.store)); n != 0 {
		t.Fatalf("a dry run wrote %d keys", n)
	}
	done := f.run(Options{})
	if !slices.Equal(plan.Formats, done.Formats) {
		t.Errorf("planned %+v, did %+v", plan.Formats, done.Formats)
	}
	again := f.run(Options{DryRun: true})
	if again.Changed() {
		t.Errorf("a dry run after it would change %+v", again.Formats)
	}
}

// An interrupted run has stored what it says, and the next one does the rest.
func TestInterrupted(t *testing.T) {
	f := newFixture(t)
	newCorpus(8).write(t, f.dir, 600, 200)
	ctx, stop := context.WithCancel(context.Background())
	r, err := Run(ctx, f.store, walk(t, f.dir), Options{chunk: 50, Progress: func(Progress) { stop() }})
	if err != nil || !r.Interrupted {
		t.Fatalf("interrupted %v, %v", r.Interrupted, err)
	}
	stored := 0
	for key := range content(t, f.store) {
		if strings.Contains(key, "/msg/") && key[0] == byte(kv.Session) {
			stored++
		}
	}
	if n := r.Formats[0].Messages.New; n != stored || n == 0 || n >= 600 {
		t.Errorf("says that %d of 600 were stored, and %d are", n, stored)
	}
	f.run(Options{})
	whole := &fixture{t, f.dir, memkv.New()}
	whole.run(Options{})
	wantSame(t, f.store, whole.store)
}

// wantSame compares the sessions of two stores: messages by ID, in their order.
func wantSame(t *testing.T, got, want kv.KVStorage) {
	t.Helper()
	g, w := outline(t, got), outline(t, want)
	for handle, messages := range w {
		if !slices.Equal(g[handle], messages) {
			t.Errorf("session %s has %d messages and not the %d of an import at one go, or others", handle, len(g[handle]), len(messages))
		}
	}
	if len(g) != len(w) {
		t.Errorf("%d sessions, want %d", len(g), len(w))
	}
}

// outline returns the messages of every session, as their IDs and a hash of what
// they say.
func outline(t *testing.T, s kv.KVStorage) map[string][]string {
	t.Helper()
	ctx := context.Background()
	all := map[string][]string{}
	page, err := sessions.List(ctx, s, sessions.Filter{Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, meta := range page.Sessions {
		for m, err := range sessions.Messages(ctx, s, meta.Handle, sessions.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			for _, b := range m.Blocks {
				fmt.Fprintf(&said, "%s %q %s %q\n", b.Type, b.Text, b.Name, b.Input)
			}
			all[meta.Handle] = append(all[meta.Handle], m.ID+" "+said.String())
		}
	}
	return all
}

// dying is a store of five methods, so that a transaction is its single writes,
// which can do so many writes and then none.
type dying struct {
	kv.KVStorage
	mu   sync.Mutex
	left int
}

var errDead = errors.New("no more writes")

func (d *dying) write() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left--; d.left < 0 {
		return errDead
	}
	return nil
}

func (d *dying) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	if err := d.write(); err != nil {
		return err
	}
	return d.KVStorage.Put(ctx, col, key, value)
}

func (d *dying) Delete(ctx context.Context, col kv.Column, key []byte) (bool, error) {
	if err := d.write(); err != nil {
		return false, err
	}
	return d.KVStorage.Delete(ctx, col, key)
}

// C22: on a store without transactions an import can be cut short between any two
// writes. The next one comes to the same end, and a third finds nothing to do.
func TestC22_CutShortWithoutTransactions(t *testing.T) {
	dir := t.TempDir()
	newCorpus(9).write(t, dir, 40, 5)
	whole := &fixture{t, dir, memkv.New()}
	whole.run(Options{})
	found := walk(t, dir)
	step := 41
	if testing.Short() {
		step = 211
	}
	for n, cut := 0, true; cut; n += step {
		f := &fixture{t, dir, memkv.New()}
		_, err := Run(context.Background(), &dying{KVStorage: f.store, left: n}, found, Options{chunk: 6})
		if cut = err != nil; cut && !errors.Is(err, errDead) {
			t.Fatalf("cut short after %d writes: %v", n, err)
		}
		f.store = &dying{KVStorage: f.store, left: 1 << 30}
		f.run(Options{chunk: 6})
		wantSame(t, f.store, whole.store)
		f.wantSound()
		again := f.run(Options{})
		if again.Formats[0].Sources.Read > 0 || again.Changed() {
			t.Errorf("after %d writes: a third run did %+v", n, again.Formats)
		}
		if t.Failed() {
			t.Fatalf("cut short after %d writes", n)
		}
	}
}

func TestReindexRestoresTheIndex(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	newCorpus(10).write(t, f.dir, 100, 20)
	f.run(Options{})
	before := content(t, f.store)
	for key, err := range f.store.ScanKeys(ctx, kv.Session, kv.Prefix(f.store, "idx", "ext")) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.store.Delete(ctx, kv.Session, key); err != nil {
			t.Fatal(err)
		}
	}
	faults := 0
	for range Check(ctx, f.store) {
		faults++
	}
	if faults == 0 {
		t.Error("Check found nothing wrong with an index that was emptied")
	}
	if err := Reindex(ctx, f.store); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(before, content(t, f.store)) {
		t.Error("Reindex made another index")
	}
}
