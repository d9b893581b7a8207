package jsonkv

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
)

func mustOpen(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// edit changes a document as a person does.
func edit(t testing.TB, name, old, new string) {
	t.Helper()
	text := readFile(t, name)
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q is not once in %s", old, text)
	}
	writeFile(t, name, strings.Replace(text, old, new, 1))
}

// filesIn is all that a directory holds.
func filesIn(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(dir, path)
			files[filepath.ToSlash(name)] = readFile(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

type message struct {
	Role string  `json:"role"`
	Text string  `json:"text"`
	Cost float64 `json:"cost"`
}

// sample makes a small store and returns its directory.
func sample(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	s := mustOpen(t, dir, Options{})
	for i, m := range []message{{"user", "hello <you>", 0}, {"assistant", "line\nline", 1.25}} {
		if err := kv.Store(ctx, s, kv.Session, kv.Key(s, "session", "h", "msg", []string{"0", "1"}[i]), m); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, kv.Session, "local/idx/sess/x", "handle")
	put(t, s, kv.Skill, "local/skill/body/s", "---\nname: s\n---\n")
	put(t, s, kv.Agent, "\xff", "\xfe\xff")
	mustClose(t, s)
	return dir
}

const sampleStore = `{
  "format": "crabstore-json",
  "version": 1,
  "agent": {
    "$base64:/w==": {
      "$raw": "/v8="
    }
  },
  "session": {
    "local/idx/sess/x": "handle"
  },
  "skill": {
    "local/skill/body/s": "---\nname: s\n---\n"
  }
}
`

const sampleSession = `{
  "format": "crabstore-json",
  "version": 1,
  "session": {
    "local/session/h/msg/0": {
      "cost": 0.0,
      "role": "user",
      "text": "hello <you>"
    },
    "local/session/h/msg/1": {
      "cost": 1.25,
      "role": "assistant",
      "text": "line\nline"
    }
  }
}
`

func TestDocumentsAreAsTheyAreDescribed(t *testing.T) {
	dir := sample(t)
	files := filesIn(t, dir)
	delete(files, lockName)
	want := map[string]string{storeDocument: sampleStore, "sessions/h.json": sampleSession}
	if !maps.Equal(files, want) {
		t.Fatalf("got %v", files)
	}
	for name, mode := range map[string]fs.FileMode{"": 0o700, "sessions": 0o700, "sessions/h.json": 0o600, storeDocument: 0o600, lockName: 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// A person may change a document while the store is closed, in whatever layout, and
// write new ones.
func TestEditedDocumentsAreReadBack(t *testing.T) {
	dir := sample(t)
	edit(t, filepath.Join(dir, "sessions/h.json"), `hello <you>`, `hello you, \u00fc`)
	edit(t, filepath.Join(dir, storeDocument), `"local/idx/sess/x": "handle"`, `"local/idx/sess/y":"h2", "local/idx/sess/x": {"$base64":"AA=="}`)
	writeFile(t, filepath.Join(dir, "sessions/new.json"),
		`{"version":1,"session":{"local/session/new/msg/0":{"text":"by hand","role":"user"}},"format":"crabstore-json"}`)
	for _, o := range []Options{{ReadOnly: true}, {}} {
		s := mustOpen(t, dir, o)
		for key, want := range map[string]string{"local/session/h/msg/0": "hello you, ü", "local/session/h/msg/1": "line\nline", "local/session/new/msg/0": "by hand"} {
			if m, err := kv.Load[message](ctx, s, kv.Session, []byte(key)); err != nil || m.Text != want {
				t.Errorf("%s: %+v, %v", key, m, err)
			}
		}
		for key, want := range map[string]string{"local/idx/sess/x": "\xc4\x01\x00", "local/idx/sess/y": "h2"} {
			if value, err := s.Get(ctx, kv.Session, []byte(key)); err != nil || string(value) != want {
				t.Errorf("%s: %x, %v", key, value, err)
			}
		}
		mustClose(t, s)
	}
	s := mustOpen(t, dir, Options{})
	put(t, s, kv.Session, "local/session/new/meta", "meta")
	want := `{
  "format": "crabstore-json",
  "version": 1,
  "session": {
    "local/session/new/meta": "meta",
    "local/session/new/msg/0": {
      "role": "user",
      "text": "by hand"
    }
  }
}
`
	if got := readFile(t, filepath.Join(dir, "sessions/new.json")); got != want {
		t.Errorf("rewritten, it is %s", got)
	}
}

// What a person broke is told with the file, the line and what is wanted, and left as
// it is: nothing is overwritten, tidied up or lost.
func TestBrokenDocumentsAreRefused(t *testing.T) {
	const session, all = "sessions/h.json", storeDocument
	for _, c := range []struct{ name, file, old, new, want string }{
		{"comma", session, `"user",`, `"user"`, "line 8: "},
		{"cut off", session, sampleSession[250:], ``, "line 13: unexpected EOF"},
		{"more behind it", all, "\n}\n", "\n}\n{}", "line 16: something stands behind"},
		{"key twice", session, `msg/1`, `msg/0`, "line 10: duplicate"},
		{"key twice, in two ways", all, `"local/idx/sess/x": "handle"`, `"local/idx/sess/x": "handle", "$base64:bG9jYWwvaWR4L3Nlc3MveA==": ""`, "line 10: the key"},
		{"key of another session", session, `session/h/msg/1`, `session/i/msg/1`, `line 10: the key "local/session/i/msg/1" belongs into sessions/i.json`},
		{"key of a session", all, `idx/sess/x`, `session/h/x`, `line 10: the key "local/session/h/x" belongs into sessions/h.json`},
		{"key of no session", session, `local/session/h/msg/1`, `x`, `line 10: the key "x" belongs into store.json`},
		{"column", all, `"skill"`, `"skills"`, `line 12: there is no column "skills"`},
		{"column that is no object", all, `"session": {`, `"memory": [], "session": {`, `line 9: want the entries of the column`},
		{"empty key", all, `local/idx/sess/x`, ``, `line 10: kv: empty key`},
		{"long key", all, `local/idx/sess/x`, strings.Repeat("x", 1025), `line 10: kv: key too large`},
		{"key that is no base64", all, `/w==`, `/w=`, `line 5: want a key in base64`},
		{"value that is no value", session, `1.25`, `{"$base64":"?"}`, `line 10: the value of "local/session/h/msg/1": kv: corrupt data: as JSON: at /cost/$base64: want base64`},
		{"integer", session, `1.25`, `99999999999999999999`, `line 10: the value of "local/session/h/msg/1"`},
		{"not UTF-8", session, `hello`, "\xff", `line 8: `},
		{"no format", session, `"format": "crabstore-json"`, `"x": 1`, `line 1: want "format": "crabstore-json"`},
		{"another format", session, `"crabstore-json"`, `"x"`, `line 1: want "format": "crabstore-json", not "x"`},
		{"no version", session, `"version": 1`, `"version": "one"`, `line 1: want "version": 1, not "one"`},
		{"array", session, sampleSession, `[]`, `line 1: want an object`},
		{"nothing", session, sampleSession, ``, `line 1: `},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := sample(t)
			edit(t, filepath.Join(dir, c.file), c.old, c.new)
			wantRefused(t, dir, kv.ErrCorrupt, filepath.Join(dir, filepath.FromSlash(c.file))+", "+c.want)
		})
	}
	t.Run("renamed", func(t *testing.T) {
		dir := sample(t)
		if err := os.Rename(filepath.Join(dir, session), filepath.Join(dir, "sessions/copy of h.json")); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, dir, kv.ErrCorrupt, "line 5: the key", "belongs into sessions/h.json")
	})
	t.Run("without store.json", func(t *testing.T) {
		dir := sample(t)
		if err := os.Remove(filepath.Join(dir, all)); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, dir, kv.ErrCorrupt, "no store.json")
	})
	t.Run("link", func(t *testing.T) {
		dir := sample(t)
		if err := os.Symlink("h.json", filepath.Join(dir, "sessions/i.json")); err != nil {
			t.Skip(err)
		}
		wantRefused(t, dir, kv.ErrCorrupt, "sessions/i.json is no regular file")
	})
}

// wantRefused wants a directory not to be opened, for reading or writing, and to stay
// as it is.
func wantRefused(t *testing.T, dir string, want error, texts ...string) {
	t.Helper()
	before := filesIn(t, dir)
	for _, readOnly := range []bool{true, false} {
		s, err := Open(dir, Options{ReadOnly: readOnly})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, want) {
			t.Fatalf("read-only %v: %v, want %v", readOnly, err, want)
		}
		for _, text := range texts {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q is not in %q", text, err)
			}
		}
	}
	after := filesIn(t, dir)
	delete(before, lockName)
	if want == kv.ErrCorrupt { // the store is ours, and so is its lock
		delete(after, lockName)
	}
	if !maps.Equal(before, after) {
		t.Errorf("there was %v, and is %v", before, after)
	}
}

func TestNewerVersionsAreRefused(t *testing.T) {
	for _, file := range []string{storeDocument, "sessions/h.json", commitName} {
		dir := sample(t)
		if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
			t.Fatal(err)
		}
		if file == commitName {
			writeFile(t, filepath.Join(dir, file), `{"format": "crabstore-json-commit", "version": 7, "whatever": 1}`)
		} else {
			edit(t, filepath.Join(dir, file), `"version": 1`, `"version": 7, "whatever": 1`)
		}
		if file == storeDocument {
			wantRefused(t, dir, ErrVersion, "version 7", "up to 1", file)
			continue
		}
		want := filesIn(t, dir)
		_, err := Open(dir, Options{})
		if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "version 7") {
			t.Errorf("%s: %v", file, err)
		}
		got := filesIn(t, dir)
		delete(got, lockName)
		if !maps.Equal(got, want) {
			t.Errorf("%s: there was %v, and is %v", file, want, got)
		}
	}
}

func TestWhatIsNoStoreIsRefused(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"a file":                       {"": "text"},
		"a directory of other things":  {"letter.txt": "text", "sub/x": "y"},
		"a store.json of others":       {storeDocument: `{"products": []}`},
		"a store.json that is no JSON": {storeDocument: "text"},
		"a store.json of another kind": {storeDocument: `{"format": "other", "version": 1}`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "place")
			for file, text := range files {
				writeFile(t, filepath.Join(dir, file), text)
			}
			wantRefused(t, dir, ErrNotStore)
		})
	}
}

// What begins with a dot is not in the way of a store: people keep one in git. Nor are
// other files beside the documents of one that is there.
func TestOtherFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	others := map[string]string{".git/config": "x", ".gitignore": "lock\n", "README.md": "x", "sessions/h.json~": "x", "sessions/._h.json": "x", lockName: "of a door", "new-thoughts": "x", "sessions/new-0123456789abcdeg": "x"}
	for file, text := range others {
		if file[0] == '.' || file == lockName {
			writeFile(t, filepath.Join(dir, file), text)
		}
	}
	mustClose(t, mustOpen(t, dir, Options{}))
	for file, text := range others {
		writeFile(t, filepath.Join(dir, file), text)
	}
	left := filepath.Join(dir, "sessions", "new-0123456789abcdef") // by a crash, of ours
	writeFile(t, left, "x")
	s := mustOpen(t, dir, Options{})
	put(t, s, kv.Session, "local/session/h/meta", "m")
	files := filesIn(t, dir)
	for file, text := range others {
		if files[file] != text {
			t.Errorf("%s is %q", file, files[file])
		}
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a crash left: %v", err)
	}
}

func TestNothingIsCreatedForReading(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "a", "b")
	if _, err := Open(missing, Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store that is not there: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(missing)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was created: %v", err)
	}
	empty := t.TempDir()
	if _, err := Open(empty, Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) || len(filesIn(t, empty)) > 0 {
		t.Errorf("an empty directory: %v, and it holds %v", err, filesIn(t, empty))
	}
	mustClose(t, mustOpen(t, missing, Options{}))
	mustClose(t, mustOpen(t, missing, Options{ReadOnly: true}))
}

// What a person changes while the store is open is not overwritten: the write fails
// until the store has been opened again, and other documents can be written.
func TestEditsBesideAWriterAreKept(t *testing.T) {
	dir := sample(t)
	document := filepath.Join(dir, "sessions", "h.json")
	for name, change := range map[string]func(){
		"edited":  func() { edit(t, document, "hello <you>", "edited") },
		"removed": func() { os.Remove(document) },
		"created": func() { writeFile(t, document, strings.Replace(sampleSession, "hello <you>", "created", 1)) },
	} {
		writeFile(t, document, sampleSession)
		if name == "created" {
			os.Remove(document)
		}
		s := mustOpen(t, dir, Options{})
		change()
		before := filesIn(t, dir)
		update := func(s kv.KVStorage) error {
			return kv.Update(ctx, s, func(tx kv.KVStorage) error {
				put(t, tx, kv.Session, "local/session/h/msg/2", "more")
				return tx.Put(ctx, kv.Memory, []byte(name), nil)
			})
		}
		if err := update(s); !errors.Is(err, ErrEdited) || !strings.Contains(err.Error(), "sessions/h.json") {
			t.Fatalf("%s: %v", name, err)
		}
		if after := filesIn(t, dir); !maps.Equal(before, after) {
			t.Fatalf("%s: there was %v, and is %v", name, before, after)
		}
		put(t, s, kv.Memory, "other", name)
		mustClose(t, s)
		s = mustOpen(t, dir, Options{})
		if err := update(s); err != nil {
			t.Fatalf("%s, opened again: %v", name, err)
		}
		mustClose(t, s)
		if text := readFile(t, document); name != "removed" && !strings.Contains(text, `"text": "`+name+`"`) {
			t.Fatalf("%s: %s", name, text)
		}
	}
}

// A document keeps the mode that somebody gave it.
func TestModesAreKept(t *testing.T) {
	dir := sample(t)
	document := filepath.Join(dir, storeDocument)
	if err := os.Chmod(document, 0o644); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, dir, Options{})
	put(t, s, kv.Memory, "k", "v")
	if info, err := os.Stat(document); err != nil || info.Mode().Perm() != 0o644 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
}

// A reader tells a document from the one before by its time too, where a file system
// uses the numbers of files again at once.
func TestEachDocumentHasATimeOfItsOwn(t *testing.T) {
	dir := sample(t)
	s := mustOpen(t, dir, Options{})
	was := time.Time{}
	for i := range 20 {
		put(t, s, kv.Memory, "k", strconv.Itoa(i%2))
		info, err := os.Stat(filepath.Join(dir, storeDocument))
		if err != nil || !info.ModTime().After(was) {
			t.Fatalf("%v after %v, %v", info.ModTime(), was, err)
		}
		was = info.ModTime()
	}
	future := time.Now().Add(time.Hour)
	mustClose(t, s)
	if err := os.Chtimes(filepath.Join(dir, storeDocument), future, future); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, dir, Options{})
	put(t, s, kv.Memory, "k", "v")
	if info, err := os.Stat(filepath.Join(dir, storeDocument)); err != nil || !info.ModTime().After(future) {
		t.Fatalf("after a clock that was ahead: %v, %v", info.ModTime(), err)
	}
}

// A write changes the lines of its entry and no others, wherever they are.
func TestAWriteIsASmallDiff(t *testing.T) {
	dir := sample(t)
	s := mustOpen(t, dir, Options{})
	if err := kv.Store(ctx, s, kv.Session, []byte("local/session/h/msg/00"), message{Role: "user"}); err != nil {
		t.Fatal(err)
	}
	at := strings.Index(sampleSession, `    "local/session/h/msg/1"`)
	want := sampleSession[:at] + `    "local/session/h/msg/00": {
      "cost": 0.0,
      "role": "user",
      "text": ""
    },
` + sampleSession[at:]
	if got := readFile(t, filepath.Join(dir, "sessions", "h.json")); got != want {
		t.Fatalf("got %s", got)
	}
	if got := readFile(t, filepath.Join(dir, storeDocument)); got != sampleStore {
		t.Fatalf("got %s", got)
	}
}

// FuzzParse wants whatever is read to be written so that the same is read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sampleStore))
	f.Add([]byte(`{"version":1,"memory":{"$base64:/w==":[1,2]},"format":"crabstore-json","column 99":{"a":{"$json":{}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseAll("dir", map[string][]byte{storeDocument: text})
		if err != nil {
			if !errors.Is(err, kv.ErrCorrupt) && !errors.Is(err, ErrNotStore) && !errors.Is(err, ErrVersion) {
				t.Fatalf("%v is no error of these", err)
			}
			return
		}
		document, _ := all.documents.Get(storeDocument)
		again, err := parseAll("dir", map[string][]byte{storeDocument: render(document)})
		if err != nil || again.entries.Len() != all.entries.Len() {
			t.Fatalf("%s becomes %s, %v", text, render(document), err)
		}
		for at, value := range all.entries.Ascend("") {
			if got, ok := again.entries.Get(at); !ok || string(got) != string(value) {
				t.Fatalf("%q: %x became %x", at, value, got)
			}
		}
	})
}
