package transcripts

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// firstSchema and secondSchema are the tables of opencode.db, without the columns that hold
// nothing we read.
const (
	firstSchema = `
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL,
	title text NOT NULL, version text NOT NULL, agent text, model text, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);`
	secondSchema = `
CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, fork_session_id text, slug text NOT NULL, directory text NOT NULL,
	title text, version text NOT NULL, agent text, model text, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);`
)

// openTest opens a database to be written by a test.
func openTest(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%v: %s", err, s)
		}
	}
}

func TestOpenCodeDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "anything.db")
	db := openTest(t, path)
	exec(t, db, firstSchema,
		`INSERT INTO session VALUES ('ses_1', 'p', NULL, 's', '/src/moor', 'Moor', '1.2.0', NULL, NULL, 1767225600000, 1767225600000)`,
		`INSERT INTO message VALUES ('msg_1', 'ses_1', 1767225601000, 1767225601000, '{"role":"user","time":{"created":1767225601000}}')`,
		`INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', 1767225601000, 1767225601000, '{"type":"text","text":"Find grouse."}')`,
		`INSERT INTO message VALUES ('msg_2', 'ses_1', 1767225602000, 1767225602000, '{"role":"assistant","parentID":"msg_1","modelID":"m","time":{"created":1767225602000},"tokens":{"input":1,"output":2,"reasoning":0,"cache":{"read":3,"write":4}}}')`,
		`INSERT INTO part VALUES ('prt_3', 'msg_2', 'ses_1', 1767225602000, 1767225602000, '{"type":"tool","callID":"c","tool":"bash","state":{"status":"running","input":{"command":"flush"}}}')`,
		`INSERT INTO part VALUES ('prt_2', 'msg_2', 'ses_1', 1767225602000, 1767225602000, '{"type":"text","text":"Looking."}')`,
		`INSERT INTO message VALUES ('msg_0', 'ses_1', 1767225609000, 1767225602000, '{"role": broken')`)
	src := find(t, path)
	equal(t, "source", src, Source{Path: path, Format: OpenCode, Layout: Database})
	l := mustRead(t, src)
	compare(t, strings.Split(l.String(), "skip")[0], `session main ses_1 title="Moor" model=m cwd=/src/moor version=1.2.0 started=2026-01-01T00:00:00Z
user ses_1/msg_1 2026-01-01T00:00:01Z
  text "Find grouse."
assistant ses_1/msg_2 < ses_1/msg_1 by m 2026-01-01T00:00:02Z usage=1/2/3/4/0
  text "Looking."
  tool_use c bash {"command":"flush"}
`)
	equal(t, "skips", len(l.skips), 1)
	if !strings.HasPrefix(l.skips[0].Reason, "msg_0: ") {
		t.Errorf("skip %q does not name the row", l.skips[0].Reason)
	}
	for range Read(context.Background(), src, stored(t, l.cursor), Options{}) {
		t.Error("a batch of an unchanged database")
	}

	// The tool returns, and the user goes on: only what changed is yielded again.
	exec(t, db, `UPDATE part SET time_updated = 1767225605000, data = '{"type":"tool","callID":"c","tool":"bash","state":{"status":"completed","input":{"command":"flush"},"output":"two grouse"}}' WHERE id = 'prt_3'`,
		`INSERT INTO message VALUES ('msg_3', 'ses_1', 1767225606000, 1767225606000, '{"role":"user","time":{"created":1767225606000}}')`,
		`INSERT INTO part VALUES ('prt_4', 'msg_3', 'ses_1', 1767225606000, 1767225606000, '{"type":"text","text":"Only two?"}')`)
	var again []string
	for b, err := range Read(context.Background(), src, stored(t, l.cursor), Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range b.Messages {
			again = append(again, m.ID)
		}
		l.apply(b)
	}
	equal(t, "yielded", again, []string{"ses_1/msg_2", "ses_1/msg_2/results", "ses_1/msg_3"})
	equal(t, "result", l.messages["ses_1/msg_2/results"].Blocks[0].Text, "two grouse")
	equal(t, "texts", l.texts(), []string{"Find grouse.", "Looking.", "Only two?"})
}

func TestOpenCodeSecondDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	db := openTest(t, path)
	exec(t, db, secondSchema,
		`INSERT INTO session_v2 VALUES ('ses_a', 'p', NULL, 'ses_0', 's', '/src/moor', 'Moor', '2.0.3', 'build', '{"id":"m2","providerID":"x"}', 1767225600000, 1767225600000)`,
		`INSERT INTO session_message VALUES ('msg_1', 'ses_a', 'user', 1, 1767225601000, 1767225601000, '{"text":"Find grouse.","files":[{"uri":"data:image/png;base64,iVBORw==","mime":"image/png"}],"time":{"created":1767225601000}}')`,
		`INSERT INTO session_message VALUES ('msg_2', 'ses_a', 'system', 2, 1767225602000, 1767225602000, '{"text":"context","time":{"created":1767225602000}}')`,
		`INSERT INTO session_message VALUES ('msg_9', 'ses_a', 'assistant', 3, 1767225603000, 1767225603000, '{"agent":"build","model":{"id":"m3","providerID":"x"},"content":[{"type":"reasoning","id":"r","text":"Heather."},{"type":"text","id":"t","text":"Here."},{"type":"tool","id":"c1","name":"bash","state":{"status":"completed","input":{"command":"flush"},"content":[{"type":"text","text":"one"},{"type":"file","uri":"data:image/gif;base64,R0lG","mime":"image/gif"}]}},{"type":"tool","id":"c2","name":"bash","state":{"status":"error","input":{},"content":[],"error":{"type":"unknown","message":"gone"}}}],"tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}},"time":{"created":1767225603000}}')`,
		`INSERT INTO session_message VALUES ('msg_3', 'ses_a', 'shell', 4, 1767225600001, 1767225604000, '{"callID":"s","command":"ls","output":"a b","time":{"created":1767225604000}}')`,
		`INSERT INTO session_message VALUES ('msg_4', 'ses_a', 'compaction', 5, 1767225605000, 1767225605000, '{"reason":"auto","summary":"Grouse were found.","recent":"","time":{"created":1767225605000}}')`,
		`INSERT INTO session_message VALUES ('msg_5', 'ses_a', 'model-switched', 6, 1767225606000, 1767225606000, '{"model":{"id":"m4"},"time":{"created":1767225606000}}')`,
		`INSERT INTO session_message VALUES ('msg_6', 'ses_a', 'novelty', 7, 1767225607000, 1767225607000, '{"time":{"created":1767225607000}}')`)
	l := mustRead(t, find(t, path))
	compare(t, l.String(), `session fork ses_a parent=ses_0 title="Moor" agent=build model=m3 cwd=/src/moor version=2.0.3 started=2026-01-01T00:00:00Z
user ses_a/msg_1 2026-01-01T00:00:01Z
  text "Find grouse."
  image image/png 4 bytes, kept
system ses_a/msg_2 2026-01-01T00:00:02Z
  injected "context"
assistant ses_a/msg_9 by m3 2026-01-01T00:00:03Z usage=1/2/4/5/3
  thinking "Heather."
  text "Here."
  tool_use c1 bash {"command":"flush"}
  tool_use c2 bash {}
tool ses_a/msg_9/results < ses_a/msg_9 2026-01-01T00:00:03Z
  tool_result c1 bash "one"
  image image/gif 3 bytes, kept, of c1
  tool_result c2 bash failed "gone"
user ses_a/msg_3 2026-01-01T00:00:04Z
  text "ls"
  injected "a b"
system ses_a/msg_4 2026-01-01T00:00:05Z compaction
  injected "Grouse were found."
unknown message/novelty 1
`)
}

// A session in the tables of both generations is read from where it was touched last.
func TestOpenCodeBothGenerations(t *testing.T) {
	for newer, want := range map[string]string{"session": "from the first", "session_v2": "from the second"} {
		path := filepath.Join(t.TempDir(), "opencode.db")
		db := openTest(t, path)
		exec(t, db, firstSchema, secondSchema,
			`INSERT INTO session VALUES ('ses_1', 'p', NULL, 's', '/', 'T', '1', NULL, NULL, 1767225600000, 1767225600000)`,
			`INSERT INTO session_v2 VALUES ('ses_1', 'p', NULL, NULL, 's', '/', 'T', '2', NULL, NULL, 1767225600000, 1767225600000)`,
			`INSERT INTO message VALUES ('msg_1', 'ses_1', 1767225600000, 1767225600000, '{"role":"user"}')`,
			`INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', 1767225600000, 1767225600000, '{"type":"text","text":"from the first"}')`,
			`INSERT INTO session_message VALUES ('msg_1', 'ses_1', 'user', 1, 1767225600000, 1767225600000, '{"text":"from the second"}')`,
			`UPDATE `+newer+` SET time_updated = 1767225699000`)
		equal(t, "texts", mustRead(t, find(t, path)).texts(), []string{want})
	}
}

// A database in use, whose newest rows are in its log only.
func TestOpenCodeDatabaseInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	db := openTest(t, path)
	exec(t, db, `PRAGMA journal_mode = WAL`, firstSchema, `PRAGMA wal_checkpoint`,
		`INSERT INTO session VALUES ('ses_1', 'p', NULL, 's', '/', 'T', '1', NULL, NULL, 1767225600000, 1767225600000)`,
		`INSERT INTO message VALUES ('msg_1', 'ses_1', 1767225600000, 1767225600000, '{"role":"user"}')`,
		`INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', 1767225600000, 1767225600000, '{"type":"text","text":"in the log"}')`)
	src := find(t, path)
	l := mustRead(t, src)
	equal(t, "texts", l.texts(), []string{"in the log"})
	exec(t, db, `UPDATE part SET data = '{"type":"text","text":"changed in the log"}', time_updated = 1767225700000`)
	if err := l.read(t, src, Options{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "texts", l.texts(), []string{"changed in the log"})
}

// A database that no one uses is read without leaving anything beside it.
func TestOpenCodeDatabaseLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "opencode.db")
	db := openTest(t, path)
	exec(t, db, `PRAGMA journal_mode = WAL`, firstSchema)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	mustRead(t, find(t, path))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the database: %v, %v", entries, err)
	}
}

func TestOpenCodeTreeChanges(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "session/p/ses_1.json", `{"id":"ses_1","directory":"/","title":"T","version":"1","time":{"created":1767225600000}}`)
	put(t, dir, "message/ses_1/msg_1.json", `{"id":"msg_1","role":"user","time":{"created":1767225601000}}`)
	put(t, dir, "part/msg_1/prt_1.json", `{"id":"prt_1","messageID":"msg_1","type":"text","text":"one"}`)
	src := find(t, dir)
	l := mustRead(t, src)
	equal(t, "texts", l.texts(), []string{"one"})

	put(t, dir, "part/msg_1/prt_2.json", `{"id":"prt_2","messageID":"msg_1","type":"text","text":"two"}`)
	put(t, dir, "part/msg_1/prt_3.json", `{"id":"prt_3","mess`)
	put(t, dir, "message/ses_1/msg_0.json", `{"id":"msg_0","role":"user","time":{"created":1767225600500},"summary":{"title":"asked before","body":""}}`)
	put(t, dir, "message/ses_1/msg_2.json", `{"id":"../../secret","role":"user","time":{"created":1767225602000}}`)
	put(t, dir, "secret/prt.json", `{"type":"text","text":"must not be read"}`)
	if err := l.read(t, src, Options{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "texts", l.texts(), []string{"one", "two", "asked before"})
	equal(t, "skips", len(l.skips), 1)
	equal(t, "skipped", l.skips[0].Path, filepath.Join(dir, "part", "msg_1", "prt_3.json"))

	put(t, dir, "session/p/ses_2.json", `{"id":"../../secret","directory":"/","title":"T","version":"1","time":{"created":1767225600000}}`)
	if err := newLibrary().read(t, Source{Path: filepath.Join(dir, "session/p/ses_2.json"), Format: OpenCode, Layout: Tree}, Options{}); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v of a session whose id is a path, want ErrChanged", err)
	}

	// Rewritten in place with the same size.
	put(t, dir, "part/msg_1/prt_1.json", `{"id":"prt_1","messageID":"msg_1","type":"text","text":"eno"}`)
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "part/msg_1/prt_1.json"), later, later); err != nil {
		t.Fatal(err)
	}
	if err := l.read(t, src, Options{}); err != nil {
		t.Fatal(err)
	}
	equal(t, "texts", l.texts(), []string{"eno", "two", "asked before"})
}
