package kv

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"
)

// drawAny makes a value of those that a field which can hold anything may hold,
// in the types in which they come back.
func drawAny(t *rapid.T, depth int) any {
	kinds := 6
	if depth > 0 {
		kinds = 8
	}
	switch rapid.IntRange(1, kinds).Draw(t, "kind") {
	case 1:
		return nil
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return rapid.Int64Max(-1).Draw(t, "int") // what is not negative may come back as another type
	case 4:
		return rapid.Float64().Draw(t, "float")
	case 5:
		return rapid.String().Draw(t, "string")
	case 6:
		return strings.Repeat("long ", rapid.IntRange(0, 100).Draw(t, "length"))
	case 7:
		list := []any{}
		for range rapid.IntRange(0, 20).Draw(t, "items") {
			list = append(list, drawAny(t, depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range rapid.IntRange(0, 20).Draw(t, "entries") {
		m[rapid.String().Draw(t, "key")] = drawAny(t, depth-1)
	}
	return m
}

func drawSample(t *rapid.T) sample {
	s := sample{
		Zeta: rapid.String().Draw(t, "zeta"), Alpha: rapid.Int64().Draw(t, "alpha"),
		At:  time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")),
		Any: drawAny(t, 3), Raw: rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "raw"),
	}
	if rapid.Bool().Draw(t, "inner") {
		s.Inner = &sample{Zeta: rapid.String().Draw(t, "inner zeta"), At: s.At}
	}
	return s
}

func TestAnyValueRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawSample(t)
		data, err := Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out sample
		if err := Unmarshal(data, &out); err != nil {
			t.Fatalf("%x: %v", data, err)
		}
		if !reflect.DeepEqual(in, out) {
			t.Fatalf("%x: got %+v, want %+v", data, out, in)
		}
		again, err := Marshal(&out)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("the same value has other bytes: %x, then %x (%v)", data, again, err)
		}
		keysAscend(t, msgpack.NewDecoder(bytes.NewReader(data)))
	})
}

// keysAscend walks a value by the library's decoder and wants the keys of every
// map to ascend.
func keysAscend(t rapid.TB, dec *msgpack.Decoder) {
	t.Helper()
	code, err := dec.PeekCode()
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case code&0xf0 == 0x80 || code == 0xde || code == 0xdf:
		n, err := dec.DecodeMapLen()
		if err != nil {
			t.Fatal(err)
		}
		last := ""
		for i := range n {
			key, err := dec.DecodeString()
			if err != nil || i > 0 && key <= last {
				t.Fatalf("key %q behind %q, %v", key, last, err)
			}
			last = key
			keysAscend(t, dec)
		}
	case code&0xf0 == 0x90 || code == 0xdc || code == 0xdd:
		n, err := dec.DecodeArrayLen()
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			keysAscend(t, dec)
		}
	default:
		if err := dec.Skip(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKeysSortByTheirBytesNotTheirLength(t *testing.T) {
	long := strings.Repeat("a", 40) // its length takes a byte of its own: d9 28
	data, err := Marshal(map[string]any{"b": 1, long: 2, "": 3, "ab": map[string]any{"\u00e9": 4, "z": 5}})
	if err != nil {
		t.Fatal(err)
	}
	want := "\x84" + "\xa0\x03" + "\xd9\x28" + long + "\x02" + "\xa2ab\x82\xa1z\x05\xa2\u00e9\x04" + "\xa1b\x01"
	if string(data) != want {
		t.Fatalf("got %q, want %q", data, want)
	}
}

func TestNumbersKeepTheirWidth(t *testing.T) {
	type numbers struct {
		F float32 `json:"f"`
		G float64 `json:"g"`
		I int64   `json:"i"`
		U uint64  `json:"u"`
	}
	in := numbers{math.SmallestNonzeroFloat32, 0.1, math.MinInt64, math.MaxUint64}
	data, err := Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	// float 32, float 64, int 64 and uint 64, by the msgpack specification.
	want := "\x84\xa1f\xca\x00\x00\x00\x01\xa1g\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a" +
		"\xa1i\xd3\x80\x00\x00\x00\x00\x00\x00\x00\xa1u\xcf\xff\xff\xff\xff\xff\xff\xff\xff"
	if string(data) != want {
		t.Fatalf("got %x, want %x", data, want)
	}
	var out numbers
	if err := Unmarshal(data, &out); err != nil || out != in {
		t.Fatalf("got %+v, %v; want %+v", out, err, in)
	}
	for _, bad := range []any{
		float32(math.NaN()), float32(math.Inf(-1)), math.Inf(1), []any{1, []float32{float32(math.NaN())}},
		map[string]any{"x": []any{math.NaN()}}, map[float64]int{math.NaN(): 1}, &numbers{G: math.NaN()},
	} {
		if data, err := Marshal(bad); !errors.Is(err, ErrUnstorable) {
			t.Errorf("%v is stored as %x, %v", bad, data, err)
		}
	}
}

func TestEmbeddedFieldsAreInline(t *testing.T) {
	type outer struct {
		hidden
		Own int `json:"own"`
	}
	data, err := Marshal(outer{hidden{1}, 2})
	if err != nil || string(data) != "\x82\xa4lent\x01\xa3own\x02" {
		t.Fatalf("got %q, %v", data, err)
	}
	var out outer
	if err := Unmarshal(data, &out); err != nil || out != (outer{hidden{1}, 2}) {
		t.Fatalf("got %+v, %v", out, err)
	}
}

func nested(depth int) any {
	var v any
	for range depth {
		v = []any{v}
	}
	return v
}

func TestNestingIsBounded(t *testing.T) {
	data, err := Marshal(nested(maxDepth))
	if err != nil {
		t.Fatalf("a value nested %d deep: %v", maxDepth, err)
	}
	var out any
	if err := Unmarshal(data, &out); err != nil {
		t.Fatalf("a value nested %d deep does not come back: %v", maxDepth, err)
	}
	for _, depth := range []int{maxDepth + 1, 100_000} {
		if _, err := Marshal(nested(depth)); !errors.Is(err, ErrUnstorable) {
			t.Errorf("Marshal of a value nested %d deep: %v", depth, err)
		}
	}
	for name, deep := range map[string]string{
		"arrays": strings.Repeat("\x91", 1_000_000) + "\xc0",
		"maps":   strings.Repeat("\x81\xa1k", 1_000_000) + "\xc0",
		"keys":   strings.Repeat("\x81", 1_000_000) + "\xc0",
		"JSON":   strings.Repeat("{\"k\":", 1_000_000) + "1" + strings.Repeat("}", 1_000_000),
	} {
		if err := Unmarshal([]byte(deep), &out); !errors.Is(err, ErrCorrupt) {
			t.Errorf("Unmarshal of a million %s in each other: %v", name, err)
		}
	}
}

// TestLengthsAreNotBelieved is about values of few bytes that claim to hold
// gigabytes.
func TestLengthsAreNotBelieved(t *testing.T) {
	for _, bomb := range []string{
		"\xdd\xff\xff\xff\xff", "\xdc\xff\xff", "\xdf\xff\xff\xff\xff", "\xde\xff\xff", "\xc6\xff\xff\xff\xff",
		"\xc5\xff\xff", "\xdb\xff\xff\xff\xff", "\xda\xff\xff", "\xc9\xff\xff\xff\xff\x05", "\xc9\xff\xff\xff\xff\xff",
		"\xdd\x7f\xff\xff\xff\xc0", "\x81\xa3any\xdd\xff\xff\xff\xff", "\x81\xa3raw\xc6\x7f\xff\xff\xff",
		"\x81\xa3map\xdf\x00\x00\xff\xff", "\x81\xa2no\xdd\x10\x00\x00\x00", "\x9f", "\x8f", "\xbf", "\xc1", "\xd8", "\xc7\x0c\xff",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var into sample
		err, errAny := Unmarshal([]byte(bomb), &into), Unmarshal([]byte(bomb), new(any))
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrCorrupt) || !errors.Is(errAny, ErrCorrupt) {
			t.Errorf("%x: %v and %v, want ErrCorrupt", bomb, err, errAny)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%x took %d bytes of memory", bomb, took)
		}
	}
}

// TestNilInPlaceOfATime is what the decoder panics on. Fuzzing found it.
func TestNilInPlaceOfATime(t *testing.T) {
	for _, data := range []string{"\x81\xa2at\xc0", "\x97\xc0\x30\xc0\x30\x30\x30\x30"} {
		var out sample
		if err := Unmarshal([]byte(data), &out); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%x: %+v, %v; want ErrCorrupt", data, out, err)
		}
	}
}

func TestUnknownFieldsOfAnyKindAreIgnored(t *testing.T) {
	for _, unknown := range []string{
		"\xc0", "\xc3", "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "\xc4\x01\x00", "\x92\x01\x91\xc0", "\x81\x01\x81\xc2\xc3",
		"\xd4\x05\x00", "\xc7\x02\x07ab", "\xd6\xff\x00\x00\x00\x00", "\xd9\x02ab",
	} {
		var out sample
		data := "\x82\xa3new" + unknown + "\xa4zeta\xa3yes"
		if err := Unmarshal([]byte(data), &out); err != nil || out.Zeta != "yes" {
			t.Errorf("with the unknown %x: %+v, %v", unknown, out, err)
		}
	}
}

// TestJSONReadsTheSame compares what older stores hold with what we write.
func TestJSONReadsTheSame(t *testing.T) {
	in := message()
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	data, err := Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var ofJSON, ofMsgpack benchMessage
	if err := Unmarshal(text, &ofJSON); err != nil {
		t.Fatal(err)
	}
	if err := Unmarshal(data, &ofMsgpack); err != nil {
		t.Fatal(err)
	}
	if !ofJSON.At.Equal(ofMsgpack.At) {
		t.Fatalf("times %v and %v", ofJSON.At, ofMsgpack.At)
	}
	ofJSON.At = ofMsgpack.At
	if !reflect.DeepEqual(ofJSON, ofMsgpack) {
		t.Fatalf("of JSON %+v, of msgpack %+v", ofJSON, ofMsgpack)
	}
}

func TestCodecIsSafeForConcurrentUse(t *testing.T) {
	want, err := Marshal(message())
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 200 {
				got, err := Marshal(message())
				var out benchMessage
				if err != nil || !bytes.Equal(got, want) || Unmarshal(got, &out) != nil {
					t.Errorf("got %x, %v", got, err)
					return
				}
			}
		})
	}
	group.Wait()
}

func FuzzUnmarshal(f *testing.F) {
	for _, v := range []any{sample{Zeta: "a", Any: []any{1, 2.5}}, 123, "x", map[string]any{"a": nil}, message()} {
		data, err := Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"zeta":"x","any":[1,{"a":null}]}`))
	f.Add([]byte("\xdd\xff\xff\xff\xff"))
	f.Add([]byte("\x81\xa2at\xd7\xff\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		stable[any](t, data)
		stable[sample](t, data)
		stable[map[string]sample](t, data)
	})
}

// stable wants of what decodes that it encodes to bytes that stay the same.
func stable[T any](t *testing.T, data []byte) {
	t.Helper()
	var out T
	if err := Unmarshal(data, &out); err != nil {
		if !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%x: %v, want ErrCorrupt", data, err)
		}
		return
	}
	again, err := Marshal(out)
	if err != nil {
		if !errors.Is(err, ErrUnstorable) { // NaN, or a year that JSON takes
			t.Fatalf("%x decoded to %+v, which does not encode: %v", data, out, err)
		}
		return
	}
	var twice T
	if err := Unmarshal(again, &twice); err != nil {
		t.Fatalf("%x decoded, its own encoding %x did not: %v", data, again, err)
	}
	thrice, err := Marshal(twice)
	if err != nil || !bytes.Equal(thrice, again) {
		t.Fatalf("encoding is not stable: %x, then %x (%v)", again, thrice, err)
	}
}

// benchMessage has the shape of a message of a session.
type benchMessage struct {
	ID     string       `json:"id"`
	Role   string       `json:"role"`
	At     time.Time    `json:"at"`
	Parent string       `json:"parent,omitempty"`
	Model  string       `json:"model,omitempty"`
	Blocks []benchBlock `json:"blocks"`
	Usage  *benchUsage  `json:"usage,omitempty"`
}

type benchBlock struct {
	Kind  string         `json:"kind"`
	Text  string         `json:"text,omitempty"`
	Name  string         `json:"name,omitempty"`
	Input map[string]any `json:"input,omitempty"`
}

type benchUsage struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

func message() benchMessage {
	return benchMessage{
		ID: "01JDXW3V8Q6N8Y1R2T3S4V5W6X", Role: "assistant", At: time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC), Model: "some-model",
		Blocks: []benchBlock{
			{Kind: "text", Text: strings.Repeat("I look at the file and then run the tests. ", 20)},
			{Kind: "tool_use", Name: "read", Input: map[string]any{"path": "kv/key.go", "all": true, "note": nil, "lines": []any{"1", "40"}}},
		},
		Usage: &benchUsage{Input: 1200, Output: 340},
	}
}

func BenchmarkMarshal(b *testing.B) {
	m := message()
	for b.Loop() {
		if _, err := Marshal(m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	data, err := Marshal(message())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		var m benchMessage
		if err := Unmarshal(data, &m); err != nil {
			b.Fatal(err)
		}
	}
}
