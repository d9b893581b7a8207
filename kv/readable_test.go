package kv

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// readable pairs values with their readable forms, both written by hand from the
// msgpack specification and the comment in readable.go.
var readable = []struct{ name, value, text string }{
	{"nil", "\xc0", `null`},
	{"false", "\xc2", `false`},
	{"true", "\xc3", `true`},
	{"zero", "\x00", `0`},
	{"fixint", "\x7f", `127`},
	{"a byte that is a character is an integer", "{", `123`},
	{"uint 8", "\xcc\x80", `128`},
	{"uint 16", "\xcd\x01\x00", `256`},
	{"uint 32", "\xce\x00\x01\x00\x00", `65536`},
	{"2^53 and 1", "\xcf\x00\x20\x00\x00\x00\x00\x00\x01", `9007199254740993`},
	{"largest", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", `18446744073709551615`},
	{"negative fixint", "\xe0", `-32`},
	{"int 8", "\xd0\x80", `-128`},
	{"int 16", "\xd1\xff\x7f", `-129`},
	{"int 32", "\xd2\xff\xff\x7f\xff", `-32769`},
	{"least", "\xd3\x80\x00\x00\x00\x00\x00\x00\x00", `-9223372036854775808`},
	{"float", "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00", `1.5`},
	{"whole float", "\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00", `1.0`},
	{"negative zero", "\xcb\x80\x00\x00\x00\x00\x00\x00\x00", `-0.0`},
	{"2^70", "\xcb\x44\x50\x00\x00\x00\x00\x00\x00", `1.1805916207174113e+21`},
	{"2^-20", "\xcb\x3e\xb0\x00\x00\x00\x00\x00\x00", `9.5367431640625e-07`},
	{"NaN", "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01", `{"$float":"NaN"}`},
	{"infinity", "\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", `{"$float":"Infinity"}`},
	{"negative infinity", "\xcb\xff\xf0\x00\x00\x00\x00\x00\x00", `{"$float":"-Infinity"}`},
	{"float 32", "\xca\x3f\xc0\x00\x00", `{"$float32":1.5}`},
	{"float 32 infinity", "\xca\x7f\x80\x00\x00", `{"$float32":"Infinity"}`},
	{"string", "\xa2hi", `{"$string":"hi"}`},
	{"string in an array", "\x91\xa2hi", `["hi"]`},
	{"control characters", "\x91\xa3\x00\n\"", `["\u0000\n\""]`},
	{"string that is not UTF-8", "\x91\xa1\xff", `[{"$string64":"/w=="}]`},
	{"string of a surrogate", "\x91\xa3\xed\xa0\x80", `[{"$string64":"7aCA"}]`},
	{"string like a time", "\x91\xb42026-01-02T03:04:05Z", `[{"$string":"2026-01-02T03:04:05Z"}]`},
	{"string like a date", "\x91\xaa2026-01-02", `["2026-01-02"]`},
	{"binary", "\xc4\x02\x00\x01", `{"$base64":"AAE="}`},
	{"no bytes", "\x91\xc4\x00", `[{"$base64":""}]`},
	{"1970", "\x91\xd6\xff\x00\x00\x00\x01", `["1970-01-01T00:00:01Z"]`},
	{"a nanosecond", "\x91\xd7\xff\x00\x00\x00\x04\x00\x00\x00\x02", `["1970-01-01T00:00:02.000000001Z"]`},
	{"before 1970", "\x91\xc7\x0c\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", `["1969-12-31T23:59:59Z"]`},
	{"a time alone", "\xd6\xff\x00\x00\x00\x01", `{"$time":"1970-01-01T00:00:01Z"}`},
	{"a time after 9999", "\xc7\x0c\xff\x00\x00\x00\x00\x00\x00\x00\x3a\xff\xf4\x41\x80", `{"$ext":[-1,"AAAAAAAAADr/9EGA"]}`},
	{"no time", "\xd7\xff\xff\xff\xff\xff\xff\xff\xff\xff", `{"$ext":[-1,"//////////8="]}`},
	{"extension", "\xd5\x05\x00\x01", `{"$ext":[5,"AAE="]}`},
	{"empty extension", "\xc7\x00\x80", `{"$ext":[-128,""]}`},
	{"empty array", "\x90", `[]`},
	{"array", "\x93\x01\xc0\x91\x02", `[1,null,[2]]`},
	{"empty map", "\x80", `{}`},
	{"map", "\x82\xa1a\x01\xa2aa\x81\xa0\xc3", `{"a":1,"aa":{"":true}}`},
	{"map of integers", "\x82\x01\xa1a\x02\xa1b", `{"$map":[[1,"a"],[2,"b"]]}`},
	{"map of keys of all kinds", "\x82\x01\xc0\xa1a\xc0", `{"$map":[[1,null],["a",null]]}`},
	{"key that is not UTF-8", "\x81\xa1\xff\x01", `{"$map":[[{"$string64":"/w=="},1]]}`},
	{"key that is a word", "\x81\xa5$json\x01", `{"$map":[["$json",1]]}`},
	{"key that is no word", "\x81\xa4$ref\x01", `{"$ref":1}`},
	{"maps inside a map that is none", "\x81\x01\x82\xa1a\x80\xa1b\x81\xc0\x80", `{"$map":[[1,{"a":{},"b":{"$map":[[null,{}]]}}]]}`},
	{"empty value", "", `""`},
	{"an id", "01J8ZKQ3", `"01J8ZKQ3"`},
	{"a skill", "---\nname: x\n---\n", `"---\nname: x\n---\n"`},
	{"a string cut short", "\xa2h", `{"$raw":"omg="}`},
	{"garbage behind", "\x90\x90", `{"$raw":"kJA="}`},
	{"the code that is none", "\xc1", `{"$raw":"wQ=="}`},
	{"JSON", `{"a":[1.50,"\u003c"],"$raw":{}}`, `{"$json":{"a":[1.50,"\u003c"],"$raw":{}}}`},
	{"JSON that is broken", `{"a":`, `"{\"a\":"`},
	{"JSON that has a name twice", `{"a":1,"a":2}`, `"{\"a\":1,\"a\":2}"`},
}

func TestReadableForms(t *testing.T) {
	for _, c := range readable {
		text, exact := ToJSON([]byte(c.value))
		if string(text) != c.text || !exact {
			t.Errorf("%s: %x is rendered %s (exact: %v), want %s", c.name, c.value, text, exact, c.text)
		}
		value, err := FromJSON([]byte(c.text))
		if err != nil || string(value) != c.value {
			t.Errorf("%s: %s is read as %x, %v; want %x", c.name, c.text, value, err, c.value)
		}
	}
}

// What cannot come back is rendered as well as can be, says so, and has an exact form
// all the same.
func TestReadableFormsThatAreNotExact(t *testing.T) {
	for _, c := range []struct{ name, value, text, exact string }{
		{"long integer", "\x92\xcd\x00\x05\xd3\x00\x00\x00\x00\x00\x00\x00\x05", `[5,5]`, `{"$raw":"ks0ABdMAAAAAAAAABQ=="}`},
		{"long string", "\x91\xd9\x01a", `["a"]`, `{"$raw":"kdkBYQ=="}`},
		{"keys out of order", "\x82\xa1b\x01\xa1a\x02", `{"b":1,"a":2}`, `{"$raw":"gqFiAaFhAg=="}`},
		{"key twice", "\x82\xa1a\x01\xa1a\x02", `{"$map":[["a",1],["a",2]]}`, `{"$raw":"gqFhAaFhAg=="}`},
		{"a NaN of its own", "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x07", `{"$float":"NaN"}`, `{"$raw":"y3/4AAAAAAAH"}`},
		{"time in more bytes than it needs", "\xc7\x0c\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", `{"$time":"1970-01-01T00:00:01Z"}`, `{"$raw":"xwz/AAAAAAAAAAAAAAAB"}`},
		{"JSON with spaces", `{"a": 1}`, `{"$json":{"a":1}}`, `"{\"a\": 1}"`},
	} {
		if text, exact := ToJSON([]byte(c.value)); string(text) != c.text || exact {
			t.Errorf("%s: rendered %s (exact: %v), want %s", c.name, text, exact, c.text)
		}
		if text := ToExactJSON([]byte(c.value)); string(text) != c.exact {
			t.Errorf("%s: exactly: %s, want %s", c.name, text, c.exact)
		}
		if value, err := FromJSON([]byte(c.exact)); err != nil || string(value) != c.value {
			t.Errorf("%s: %s is read as %x, %v; want %x", c.name, c.exact, value, err, c.value)
		}
	}
}

// What people write is more than what ToJSON does.
func TestFromJSONReadsWhatPeopleWrite(t *testing.T) {
	for text, want := range map[string]string{
		" {\n \"b\": 2,\t\"a\": 1 }\n":         "\x82\xa1a\x01\xa1b\x02",
		`-0`:                                   "\x00",
		`1e0`:                                  "\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00",
		`["1970-01-01T02:00:01+02:00"]`:        "\x91\xd6\xff\x00\x00\x00\x01",
		`{"$map":[["b",{"z":1,"y":2}],[1,2]]}`: "\x82\x01\x02\xa1b\x82\xa1y\x02\xa1z\x01",
		`{"$float":1.5}`:                       "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00",
		`{"$json": {"a": 1}}`:                  `{"a":1}`,
		`"\ud83d\ude00"`:                       "😀",
	} {
		if value, err := FromJSON([]byte(text)); err != nil || string(value) != want {
			t.Errorf("%s is read as %x, %v; want %x", text, value, err, want)
		}
	}
}

func TestFromJSONRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "EOF"},
		{`{"a":`, "EOF"},
		{`1 2`, "behind the value"},
		{`"a" "b"`, "behind the value"},
		{`{"a":1,"a":2}`, "duplicate"},
		{`["\ud83d"]`, "surrogate"},
		{"[\"\xff\"]", "UTF-8"},
		{`[18446744073709551616]`, "at /0: the integer 18446744073709551616"},
		{`{"x":[0,1e999]}`, "at /x/1: the float 1e999"},
		{`{"x":{"$base64":"A"}}`, "at /x/$base64: want base64"},
		{`{"$base64":"AAF="}`, "want base64"}, // bits that no byte has
		{`{"$base64":"AAE=","a":1}`, "stands alone"},
		{`{"a":1,"$base64":"AAE="}`, "stands alone"},
		{`{"$base64":1}`, "want a string"},
		{`{"$time":"yesterday"}`, "want a time"},
		{`{"$float":"x"}`, "want a float"},
		{`{"$float32":1e99}`, "want a float of 32 bits"},
		{`{"$ext":[200,""]}`, "want a type"},
		{`{"$ext":[1,"",2]}`, "want [type"},
		{`{"$map":{"a":1}}`, "want [[key, value]"},
		{`{"$map":[[1,2,3]]}`, "want [[key, value]"},
		{`{"$map":[["a",2],[1,1],["a",2]]}`, "a key is there twice"},
		{`[{"$raw":"AAE="}]`, "stands in no other"},
		{`[{"$json":{}}]`, "stands in no other"},
		{`{"$json":[]}`, "want an object"},
		{strings.Repeat("[", 1002) + strings.Repeat("]", 1002), "nested deeper than 1000"},
		{strings.Repeat(`{"$map":[[1,`, 1002) + "1" + strings.Repeat("]]}", 1002), "nested deeper than 1000"},
		{`{"$json":` + strings.Repeat(`{"a":`, 1001) + "1" + strings.Repeat("}", 1001) + "}", "nested deeper than 1000"},
		{strings.Repeat("[", 1<<20), "nested deeper than 1000"},
		{`{"$json":{"a":` + strings.Repeat("[", 1<<20), "depth"},
	} {
		value, err := FromJSON([]byte(c.text))
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s is read as %x, %v; want ErrCorrupt with %q", c.text, value, err, c.want)
		}
	}
}

// The deepest values there are can stand three levels down in a document.
func TestReadableDepth(t *testing.T) {
	for _, c := range []struct{ open, leaf, end string }{
		{"\x91", "\x01", ""}, {"\x81\xa1a", "\x01", ""}, {"\x81\x01", "\x01", ""}, {`{"a":`, "1", "}"},
	} {
		value := strings.Repeat(c.open, maxDepth) + c.leaf + strings.Repeat(c.end, maxDepth)
		text, exact := ToJSON([]byte(value))
		if document := jsontext.Value(`[[[` + string(text) + `]]]`); !exact || !document.IsValid() {
			t.Errorf("%d times %q: exact %v, valid inside others: %v", maxDepth, c.open, exact, document.IsValid())
		}
		value = c.open + value + c.end
		if text := ToExactJSON([]byte(value)); text[0] != '"' && !strings.HasPrefix(string(text), `{"$raw"`) {
			t.Errorf("%d times %q and more: %.40s", maxDepth, c.open, text)
		}
	}
}

// Whatever Marshal makes has an exact readable form, which other readers of JSON
// understand too.
func TestMarshalledValuesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value, err := Marshal(drawSample(t))
		if err != nil {
			t.Fatal(err)
		}
		text, exact := ToJSON(value)
		if !exact || !json.Valid(text) {
			t.Fatalf("%x: exact %v: %s", value, exact, text)
		}
		indented := jsontext.Value(bytes.Clone(text))
		if err := indented.Indent(); err != nil {
			t.Fatal(err)
		}
		if back, err := FromJSON(indented); err != nil || !bytes.Equal(back, value) {
			t.Fatalf("%s: indented it is %x, %v; want %x", indented, back, err, value)
		}
	})
}

func TestReadableTimesAreTheInstant(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 80, time.FixedZone("", 3600))
	value, err := Marshal(map[string]any{"at": at})
	if err != nil {
		t.Fatal(err)
	}
	if text, exact := ToJSON(value); string(text) != `{"at":"2026-03-04T04:06:07.00000008Z"}` || !exact {
		t.Fatalf("%s, %v", text, exact)
	}
}

// FuzzToJSON wants of any bytes a valid text, and of what is said to be exact that it
// is.
func FuzzToJSON(f *testing.F) {
	for _, c := range readable {
		f.Add([]byte(c.value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		text, exact := ToJSON(value)
		if !jsontext.Value(text).IsValid() {
			t.Fatalf("%x: no JSON: %s", value, text)
		}
		back, err := FromJSON(text)
		if exact != (err == nil && bytes.Equal(back, value)) {
			t.Fatalf("%x: exact %v, and it comes back as %x, %v", value, exact, back, err)
		}
		certain, err := FromJSON(ToExactJSON(value))
		if err != nil || !bytes.Equal(certain, value) {
			t.Fatalf("%x: exactly, it comes back as %x, %v", value, certain, err)
		}
		var v any
		if Unmarshal(value, &v) == nil {
			if again, err := Marshal(v); err == nil && bytes.Equal(again, value) && !exact {
				t.Fatalf("%x is what Marshal makes, and not exact", value)
			}
		}
	})
}

// FuzzFromJSON wants whatever is read to be rendered exactly, and that text to be
// read as the same.
func FuzzFromJSON(f *testing.F) {
	for _, c := range readable {
		f.Add([]byte(c.text))
	}
	f.Add([]byte(`{"$map":[["b",{"z":1,"y":2}],[1,2]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		value, err := FromJSON(text)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v is not ErrCorrupt", err)
			}
			return
		}
		again, err := FromJSON(ToExactJSON(value))
		if err != nil || !bytes.Equal(again, value) {
			t.Fatalf("%s is %x, which comes back as %x, %v", text, value, again, err)
		}
	})
}
