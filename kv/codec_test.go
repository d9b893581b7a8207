package kv

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"
)

// hidden can lend its field to another struct.
type hidden struct {
	Lent int `json:"lent"`
}

type sample struct {
	Zeta  string         `json:"zeta"`
	Alpha int64          `json:"alpha,omitempty"`
	At    time.Time      `json:"at"`
	Any   any            `json:"any"`
	Map   map[string]any `json:"map,omitempty"`
	Raw   []byte         `json:"raw,omitempty"`
	Inner *sample        `json:"inner,omitempty"`
}

func TestMarshalSortsFieldsAndMaps(t *testing.T) {
	got, err := Marshal(struct {
		B  int            `json:"b"`
		Aa map[string]int `json:"aa"`
		A  bool           `json:"a"`
	}{1, map[string]int{"y": 2, "x": 300}, true})
	if err != nil {
		t.Fatal(err)
	}
	// fixmap 3: "a" true, "aa" {"x" 300, "y" 2}, "b" 1, by the msgpack specification.
	want := "\x83\xa1a\xc3\xa2aa\x82\xa1x\xcd\x01\x2c\xa1y\x02\xa1b\x01"
	if string(got) != want {
		t.Fatalf("got %x, want %x", got, want)
	}
}

func TestRoundTrip(t *testing.T) {
	in := sample{
		Zeta: "z\x00\xff", Alpha: -5, At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Any: []any{int64(1), "two", 3.5, nil, true, map[string]any{"b": "\x00\xff"}},
		Map: map[string]any{"n": uint64(1 << 40)}, Raw: []byte{}, Inner: &sample{Zeta: "in"},
	}
	data, err := Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out sample
	if err := Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if !out.At.Equal(in.At) {
		t.Fatalf("time: got %v", out.At)
	}
	out.At, out.Inner.At = in.At, in.Inner.At
	in.Raw, out.Raw = nil, nil // omitempty drops the empty one
	if !reflect.DeepEqual(in, out) {
		t.Fatalf("got %+v, want %+v", out, in)
	}
}

func TestUnmarshalReadsJSONAndIgnoresUnknown(t *testing.T) {
	var out sample
	if err := Unmarshal([]byte(`{"zeta":"old","alpha":7,"nobody":[1]}`), &out); err != nil || out.Zeta != "old" || out.Alpha != 7 {
		t.Fatalf("JSON: %+v, %v", out, err)
	}
	data, err := Marshal(map[string]any{"zeta": "new", "nobody": []any{1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Unmarshal(data, &out); err != nil || out.Zeta != "new" {
		t.Fatalf("msgpack: %+v, %v", out, err)
	}
	n, err := Marshal(123) // 123 is '{'
	if err != nil {
		t.Fatal(err)
	}
	var i int
	if err := Unmarshal(n, &i); err != nil || i != 123 {
		t.Fatalf("123: %d, %v", i, err)
	}
}

func TestUnmarshalRefusesDamage(t *testing.T) {
	whole, err := Marshal(sample{Zeta: "abc", Map: map[string]any{"k": []any{1, 2}}})
	if err != nil {
		t.Fatal(err)
	}
	var out sample
	for n := range len(whole) {
		if err := Unmarshal(whole[:n], &out); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	if err := Unmarshal(append(whole, 0xc0), &out); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("trailing byte: %v", err)
	}
	if err := Unmarshal([]byte(`{"zeta":`), &out); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("bad JSON: %v", err)
	}
}

func TestMarshalRefusesWhatDoesNotRoundTrip(t *testing.T) {
	type named string
	loop := map[string]any{}
	loop["self"] = loop
	ring := &sample{}
	ring.Inner = ring
	for name, v := range map[string]any{
		"NaN":              math.NaN(),
		"infinity":         map[string]float64{"x": math.Inf(1)},
		"float32 infinity": struct{ F float32 }{float32(math.Inf(-1))},
		"function":         struct{ F func() }{},
		"channel":          make(chan int),
		"complex":          complex(1, 2),
		"unexported":       struct{ a int }{1},
		"hidden pointer":   struct{ *hidden }{},
		"any, omitempty": struct {
			A any `json:"a,omitempty"`
		}{false}, // the encoder drops it, as json would not
		"struct as a key":  map[any]int{hidden{}: 1},
		"struct in any":    sample{Any: sample{}},
		"named in any":     sample{Any: named("x")},
		"struct in map":    map[string]any{"x": struct{}{}},
		"bytes in any":     map[string]any{"x": []byte{1}},
		"map that loops":   loop,
		"ring of pointers": ring,
		"method interface": struct{ E error }{},
	} {
		if data, err := Marshal(v); !errors.Is(err, ErrUnstorable) {
			t.Errorf("%s: got %x, %v; want ErrUnstorable", name, data, err)
		}
	}
}
