package sessions

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestD16_CleanJSON(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", ``, ``},
		{"good", `{"a": [1, null]}`, `{"a": [1, null]}`},
		{"a pair", `"\ud83d\ude00"`, `"\ud83d\ude00"`},
		{"a pair in upper case", `"\uD83D\uDE00"`, `"\uD83D\uDE00"`},
		{"a high half", `{"a":"x\ud83d"}`, `{"a":"x\ufffd"}`},
		{"a low half", `"\ude00x"`, `"\ufffdx"`},
		{"two high halves and a low one", `"\ud83d\ud83d\ude00"`, `"\ufffd\ud83d\ude00"`},
		{"a low half first", `"\ude00\ud83d"`, `"\ufffd\ufffd"`},
		{"a high half before another escape", `"\ud83d\n\\ude00"`, `"\ufffd\n\\ude00"`},
		{"no escape at all", `"\\ud83d"`, `"\\ud83d"`},
		{"a half in a name", `{"\ud83d":1}`, `{"\ufffd":1}`},
		{"raw bytes of a surrogate", "\"\xed\xa0\x80\"", "\"\uFFFD\""},
		{"broken off", `{"path":"a`, `"{\"path\":\"a"`},
		{"broken off in bytes", "{\xff", `"{` + "\uFFFD" + `"`},
		{"two values", `1 2`, `"1 2"`},
	} {
		in := []byte(c.in)
		if got := string(cleanJSON(in)); got != c.want {
			t.Errorf("%s: %s became %s, want %s", c.name, c.in, got, c.want)
		}
		if string(in) != c.in {
			t.Errorf("%s: the argument was changed to %s", c.name, in)
		}
	}
}

func FuzzCleanJSON(f *testing.F) {
	for _, seed := range []string{``, `{}`, `"\ud83d"`, `"\\\ud83d\ude00\u"`, "\xff", `[1,"\udfff\\"]`, `"\u00`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out := cleanJSON(in)
		if len(in) == 0 {
			return
		}
		if !utf8.Valid(out) || !json.Valid(out) {
			t.Fatalf("%q became %q", in, out)
		}
		if again := cleanJSON(out); !bytes.Equal(again, out) {
			t.Fatalf("%q became %q, and that %q", in, out, again)
		}
		// The decoder puts U+FFFD for half of a pair: what it makes of good JSON is the
		// same before and after.
		if utf8.Valid(in) && json.Valid(in) {
			var was, is any
			if json.Unmarshal(in, &was) == nil && json.Unmarshal(out, &is) == nil {
				a, _ := json.Marshal(was)
				b, _ := json.Marshal(is)
				if !bytes.Equal(a, b) {
					t.Fatalf("%q means %s, and mended %s", in, a, b)
				}
			}
		}
	})
}
