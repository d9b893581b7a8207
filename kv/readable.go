package kv

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The readable form of a stored value is JSON for people and for their tools.
//
// A value that is msgpack reads as one expects: maps are objects, times are RFC 3339
// in UTC, an integer is written as one whatever its size, and a float has a point or
// an exponent. Whatever JSON has no word for is an object with one member, whose name
// begins with a dollar sign:
//
//	{"$base64": "AAE="}           binary
//	{"$string": "…"}              a string that is a whole value, or reads as a time
//	{"$string64": "/w=="}         a string that is not UTF-8
//	{"$time": "…Z"}               a time that is a whole value
//	{"$float": "NaN"}             also "Infinity", "-Infinity"
//	{"$float32": 1.5}             a float of 32 bits
//	{"$ext": [5, "AAE="]}         an extension: its type, and its bytes in base64
//	{"$map": [[1, "one"], …]}     a map that no object can be, for its keys
//
// A map that has one of these names among its keys is a $map too, so nothing that is
// stored is taken for such a word. What is not msgpack is, as a whole value:
//
//	"…"                           text: an id, a SKILL.md
//	{"$json": {…}}                JSON, from an older store
//	{"$raw": "/w=="}              other bytes
//
// One byte is an integer, as msgpack has it, also where it was meant for a letter.

// ToJSON renders any stored value as JSON, in one line. It is exact when FromJSON
// makes the same bytes of the text, which is tried before it is said. What Marshal
// made is, and so is what is not msgpack; msgpack of another encoder may not be, if
// its keys are not in order or its numbers longer than they need be, and JSON with
// spaces in it is not.
func ToJSON(value []byte) (text []byte, exact bool) {
	text = render(value)
	back, err := FromJSON(text)
	return text, err == nil && bytes.Equal(back, value)
}

// ToExactJSON is ToJSON where that is exact. Other values it renders as the text or
// the bytes that they are, so that FromJSON always makes the same value of it.
func ToExactJSON(value []byte) []byte {
	if text, exact := ToJSON(value); exact {
		return text
	}
	return renderRaw(value)
}

// Words of the readable form.
const (
	wordBinary   = "$base64"
	wordString   = "$string"
	wordString64 = "$string64"
	wordTime     = "$time"
	wordFloat    = "$float"
	wordFloat32  = "$float32"
	wordExt      = "$ext"
	wordMap      = "$map"
	wordJSON     = "$json"
	wordRaw      = "$raw"
)

func isWord(name string) bool {
	switch name {
	case wordBinary, wordString, wordString64, wordTime, wordFloat, wordFloat32, wordExt, wordMap, wordJSON, wordRaw:
		return true
	}
	return false
}

func render(value []byte) []byte {
	if len(value) > 1 && value[0] == '{' && checkJSON(value) == nil {
		text := jsontext.Value(bytes.Clone(value))
		if text.Compact() == nil {
			return append(append([]byte(`{"`+wordJSON+`":`), text...), '}')
		}
	}
	s := survey{canonicalizer: canonicalizer{in: value}}
	if s.value(0) != nil || s.at < len(value) {
		return renderRaw(value)
	}
	w := jsonWriter{canonicalizer: canonicalizer{in: value}, objects: s.objects}
	w.value(0)
	return w.out
}

func renderRaw(value []byte) []byte {
	if utf8.Valid(value) {
		return appendQuoted(nil, value)
	}
	w := jsonWriter{}
	w.word(wordRaw, value)
	return w.out
}

// appendQuoted appends what is known to be UTF-8 as a JSON string.
func appendQuoted[T []byte | string](b []byte, s T) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// survey passes over a msgpack value and learns which of its maps, in the order in
// which they begin, can be objects: those whose keys are all strings of UTF-8, each
// one once, and none of them a word.
type survey struct {
	canonicalizer
	objects []bool
	names   [][]byte // the keys so far of the maps around what is at at
}

func (s *survey) value(depth int) error {
	head, size, kind, err := s.next(depth)
	if err != nil {
		return err
	}
	s.at += head
	switch kind {
	case isScalar:
		s.at += size
		return nil
	case isMap:
		return s.mapEntries(size, depth)
	}
	for range size {
		if err := s.value(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

func (s *survey) mapEntries(n, depth int) error {
	this, first, object := len(s.objects), len(s.names), true
	s.objects = append(s.objects, false)
	for range n {
		from := s.at
		if err := s.value(depth + 1); err != nil {
			return err
		}
		if code := s.in[from]; isString(code) {
			name := s.in[from+keyHead(code) : s.at]
			object = object && utf8.Valid(name) && !isWord(string(name))
			s.names = append(s.names, name)
		} else {
			object = false
		}
		if err := s.value(depth + 1); err != nil {
			return err
		}
	}
	names := s.names[first:]
	if !slices.IsSortedFunc(names, bytes.Compare) {
		slices.SortFunc(names, bytes.Compare)
	}
	s.objects[this] = object && len(slices.CompactFunc(names, bytes.Equal)) == n
	s.names = s.names[:first]
	return nil
}

func isString(code byte) bool { return keyHead(code) > 0 }

// jsonWriter renders a msgpack value that was surveyed, from in to out.
type jsonWriter struct {
	canonicalizer
	objects []bool // of the maps that are still to come
}

func (w *jsonWriter) value(depth int) {
	head, size, kind, _ := w.next(depth)
	switch kind {
	case isArray:
		w.at += head
		w.array(size, depth)
	case isMap:
		w.at += head
		w.mapEntries(size, depth)
	default:
		whole := w.in[w.at : w.at+head+size]
		w.at += head + size
		w.scalar(whole[0], whole[head:], depth)
	}
}

func (w *jsonWriter) array(n, depth int) {
	w.put("[")
	for i := range n {
		if i > 0 {
			w.put(",")
		}
		w.value(depth + 1)
	}
	w.put("]")
}

func (w *jsonWriter) mapEntries(n, depth int) {
	open, between, next, end := "{", ":", ",", "}"
	if !w.objects[0] {
		open, between, next, end = `{"`+wordMap+`":[[`, ",", "],[", "]]}"
		if n == 0 {
			open, end = `{"`+wordMap+`":[`, "]}"
		}
	}
	w.objects = w.objects[1:]
	w.put(open)
	for i := range n {
		if i > 0 {
			w.put(next)
		}
		w.value(depth + 1)
		w.put(between)
		w.value(depth + 1)
	}
	w.put(end)
}

// scalar renders a value whose code is followed by data, of which an extension's
// begins with its type.
func (w *jsonWriter) scalar(code byte, data []byte, depth int) {
	switch {
	case code <= 0x7f:
		w.out = strconv.AppendUint(w.out, uint64(code), 10)
	case code >= 0xe0:
		w.out = strconv.AppendInt(w.out, int64(int8(code)), 10)
	case isString(code):
		w.text(data, depth)
	case code == 0xc0:
		w.put("null")
	case code == 0xc2:
		w.put("false")
	case code == 0xc3:
		w.put("true")
	case code >= 0xc4 && code <= 0xc6:
		w.word(wordBinary, data)
	case code == 0xca:
		w.float(float64(math.Float32frombits(binary.BigEndian.Uint32(data))), 32)
	case code == 0xcb:
		w.float(math.Float64frombits(binary.BigEndian.Uint64(data)), 64)
	case code >= 0xcc && code <= 0xcf:
		w.out = strconv.AppendUint(w.out, bigEndian(data), 10)
	case code >= 0xd0 && code <= 0xd3:
		unused := 64 - 8*len(data)
		w.out = strconv.AppendInt(w.out, int64(bigEndian(data)<<unused)>>unused, 10)
	default:
		w.extension(data, depth)
	}
}

func bigEndian(data []byte) (n uint64) {
	for _, b := range data {
		n = n<<8 | uint64(b)
	}
	return n
}

func (w *jsonWriter) put(s string) { w.out = append(w.out, s...) }

// word renders {"name": "data in base64"}.
func (w *jsonWriter) word(name string, data []byte) {
	w.put(`{"` + name + `":"`)
	w.out = base64.StdEncoding.AppendEncode(w.out, data)
	w.put(`"}`)
}

// quoted renders {"name": "text"}, or "text" alone where a word is not needed.
func (w *jsonWriter) quoted(name, text string, needed bool) {
	if !needed {
		w.out = appendQuoted(w.out, text)
		return
	}
	w.put(`{"` + name + `":`)
	w.out = appendQuoted(w.out, text)
	w.put("}")
}

func (w *jsonWriter) text(data []byte, depth int) {
	if !utf8.Valid(data) {
		w.word(wordString64, data)
		return
	}
	_, likeTime := readTime(string(data))
	w.quoted(wordString, string(data), depth == 0 || likeTime)
}

func (w *jsonWriter) float(f float64, bits int) {
	name := wordFloat
	if bits == 32 {
		name = wordFloat32
	}
	switch {
	case math.IsNaN(f):
		w.quoted(name, "NaN", true)
	case math.IsInf(f, 1):
		w.quoted(name, "Infinity", true)
	case math.IsInf(f, -1):
		w.quoted(name, "-Infinity", true)
	case bits == 32:
		w.put(`{"` + name + `":`)
		w.out = appendFloat(w.out, f, bits)
		w.put("}")
	default:
		w.out = appendFloat(w.out, f, bits)
	}
}

// appendFloat appends the shortest decimal that is f, with a point or an exponent.
func appendFloat(b []byte, f float64, bits int) []byte {
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.AppendFloat(b, f, 'e', -1, bits)
	}
	from := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, bits)
	if bytes.IndexByte(b[from:], '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

func (w *jsonWriter) extension(data []byte, depth int) {
	kind, data := int8(data[0]), data[1:]
	if t, ok := timeOf(kind, data); ok {
		w.quoted(wordTime, t.Format(time.RFC3339Nano), depth == 0)
		return
	}
	w.put(`{"` + wordExt + `":[` + strconv.Itoa(int(kind)) + `,"`)
	w.out = base64.StdEncoding.AppendEncode(w.out, data)
	w.put(`"]}`)
}

// timeOf reads a timestamp of the msgpack specification, of those years that RFC 3339
// can express.
func timeOf(kind int8, data []byte) (time.Time, bool) {
	var sec, nsec uint64
	switch {
	case kind != -1:
		return time.Time{}, false
	case len(data) == 4:
		sec = bigEndian(data)
	case len(data) == 8:
		sec, nsec = bigEndian(data)&(1<<34-1), bigEndian(data)>>34
	case len(data) == 12:
		sec, nsec = bigEndian(data[4:]), bigEndian(data[:4])
	default:
		return time.Time{}, false
	}
	const first, last = -62_167_219_200, 253_402_300_799 // of the years 0 and 9999
	if s := int64(sec); nsec > 999_999_999 || s < first || s > last {
		return time.Time{}, false
	}
	return time.Unix(int64(sec), int64(nsec)).UTC(), true
}

// readTime tells whether a string reads as a time.
func readTime(s string) (time.Time, bool) {
	if len(s) < len("2006-01-02T15:04:05Z") || s[4] != '-' || s[10] != 'T' { // most strings: an error of Parse costs more
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	return t, err == nil
}
