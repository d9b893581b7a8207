package jsonkv

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/crabstore/crabstore/kv"
)

func TestDocumentOfAKey(t *testing.T) {
	for _, c := range []struct {
		col       kv.Column
		key, want string
	}{
		{kv.Session, "local/session/h/meta", "sessions/h.json"},
		{kv.Session, "acme/session/h/meta", "sessions/h.json"},
		{kv.Session, "local/session/h/msg/000000000001", "sessions/h.json"},
		{kv.Session, "local/session/h/", "sessions/h.json"},
		{kv.Session, "local/session/01ARZ3NDEKTSV4RRFFQ69G5FAV/meta", "sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV.json"},
		{kv.Session, "local/session/h", storeDocument},
		{kv.Session, "local/session//meta", storeDocument},
		{kv.Session, "local/idx/sess/a", storeDocument},
		{kv.Session, "session/h/meta", storeDocument},
		{kv.Session, "x", storeDocument},
		{kv.Memory, "local/session/h/meta", storeDocument},
	} {
		if got := documentOf(c.col, []byte(c.key)); got != c.want {
			t.Errorf("%s %q lies in %s, want %s", c.col, c.key, got, c.want)
		}
	}
}

// plain handles are their own file names; the others have a hash, and this before it.
func TestFileNames(t *testing.T) {
	for _, plain := range []string{"h", "main", "2026-01-02_a.b", "a.", "com10", "console", "x" + strings.Repeat("y", 99), "01ARZ3NDEKTSV4RRFFQ69G5FAV"} {
		if got := fileName(plain); got != plain {
			t.Errorf("%q becomes %q", plain, got)
		}
	}
	for handle, before := range map[string]string{
		"H":                          "h",
		"a%2Fb":                      "a_2fb",
		"..":                         "__",
		".hidden":                    "_hidden",
		"con":                        "con",
		"nul.txt":                    "nul_txt",
		"COM1":                       "com1",
		"lpt9":                       "lpt9",
		"a b":                        "a_b",
		"é":                          "_",
		"\xff":                       "_",
		"a~0123456789abcdef":         "a_0123456789abcdef",
		"01arz3ndektsv4rrffq69g5fav": "01arz3ndektsv4rrffq69g5fav",
		"01ARZ3NDEKTSV4RRFFQ69G5FAv": "01arz3ndektsv4rrffq69g5fav",
		strings.Repeat("y", 101):     strings.Repeat("y", 83),
	} {
		got, hash, ok := strings.Cut(fileName(handle), "~")
		if got != before || !ok || len(hash) != 16 {
			t.Errorf("%q becomes %q, want %q, a tilde and 16 digits", handle, fileName(handle), before)
		}
	}
}

// Two handles have two names, on file systems that ignore case and that normalize
// too, and each name is one that all of them take.
func TestFileNamesDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		handle := rapid.OneOf(rapid.StringMatching(`[aA01.%_ ~é/\\]{1,4}`), rapid.StringMatching(`(con|NUL|01ARZ3NDEKTSV4RRFFQ69G5FA[vV])(\.x)?`), rapid.StringN(1, 200, 1024))
		a, b := handle.Draw(t, "a"), handle.Draw(t, "b")
		if a != b && strings.EqualFold(fileName(a), fileName(b)) {
			t.Fatalf("%q and %q are both %q", a, b, fileName(a))
		}
		name := fileName(a)
		if len(name) > longestName || name == "" || name[0] == '.' || isDevice(strings.ToLower(name)) ||
			strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~") != "" || !isDocument(sessionsDir+"/"+name+extension) {
			t.Fatalf("%q becomes %q", a, name)
		}
	})
}
