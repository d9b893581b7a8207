package importer

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/sessions"
)

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

func TestReindexRestoresTheIndex(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	newCorpus(10).write(t, f.dir, 100, 20)
	r := f.run(Options{})
	before := content(t, f.store)
	for key, err := range f.store.ScanKeys(ctx, kv.Session, kv.Prefix(f.store, "idx", "ext")) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.store.Delete(ctx, kv.Session, key); err != nil {
			t.Fatal(err)
		}
	}
	faults, err := Check(ctx, f.store)
	if err != nil {
		t.Fatal(err)
	}
	if want := r.Formats[0].Messages.New; len(faults) != want {
		t.Errorf("Check found %d faults in an index of %d that was emptied", len(faults), want)
	}
	if err := Reindex(ctx, f.store); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(before, content(t, f.store)) {
		t.Error("Reindex made another index")
	}
}
