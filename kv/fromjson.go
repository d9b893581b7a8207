package kv

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/vmihailenco/msgpack/v5"
)

// FromJSON makes a value of its readable form, whoever wrote it and in whatever
// layout. A string inside a value that reads as a time by RFC 3339 becomes one. What
// is no JSON, has a name twice, or is not as the form wants it is ErrCorrupt, and the
// error tells where.
func FromJSON(text []byte) (value []byte, err error) {
	r := jsonReader{dec: jsontext.NewDecoder(bytes.NewBuffer(text))}
	r.enc = msgpack.GetEncoder()
	defer msgpack.PutEncoder(r.enc)
	r.enc.Reset(&r)
	if value, err = r.whole(); err != nil {
		return nil, fmt.Errorf("%w: as JSON: %w", ErrCorrupt, err)
	}
	return value, nil
}

// base64Strict refuses what EncodeToString does not make.
var base64Strict = base64.StdEncoding.Strict()

// checkJSON tells whether text is one JSON value that can stand inside another.
func checkJSON(text []byte) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text))
	if err := dec.SkipValue(); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return errors.New("something behind the value")
	}
	dec.Reset(bytes.NewBuffer(text))
	for {
		switch _, err := dec.ReadToken(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case dec.StackDepth() > maxDepth:
			return fmt.Errorf("nested deeper than %d", maxDepth)
		}
	}
}

// jsonReader makes msgpack of JSON. While it reads, the heads of maps and arrays,
// whose sizes are known at their ends, are the longest ones there are.
type jsonReader struct {
	canonicalizer // for out, and to put maps in order
	dec           *jsontext.Decoder
	enc           *msgpack.Encoder // writes to the jsonReader
	raw           []byte           // the whole value, when it is no msgpack
}

// Write appends what the encoder makes.
func (r *jsonReader) Write(p []byte) (int, error) {
	r.out = append(r.out, p...)
	return len(p), nil
}

func (r *jsonReader) whole() ([]byte, error) {
	var err error
	if r.dec.PeekKind() == '"' {
		var text string
		text, err = r.string()
		r.raw = []byte(text)
	} else {
		err = r.value(0)
	}
	if err != nil {
		return nil, err
	}
	if _, err := r.dec.ReadToken(); err != io.EOF {
		return nil, r.fault("something behind the value")
	}
	if r.raw != nil {
		return r.raw, nil
	}
	return r.shortened()
}

// shortened gives every map and array the shortest head. Their items need no order in
// that: they follow one another as they are.
func (r *jsonReader) shortened() ([]byte, error) {
	in := canonicalizer{in: r.out}
	r.out = make([]byte, 0, len(r.out))
	for in.at < len(in.in) {
		head, size, kind, err := in.next(0)
		switch {
		case err != nil:
			return nil, err
		case kind == isMap:
			err = r.enc.EncodeMapLen(size)
		case kind == isArray:
			err = r.enc.EncodeArrayLen(size)
		default:
			head += size
			r.out = append(r.out, in.in[in.at:in.at+head]...)
		}
		if err != nil {
			return nil, err
		}
		in.at += head
	}
	return r.out, nil
}

// fault is an error that says where in the text it is.
func (r *jsonReader) fault(format string, args ...any) error {
	return fmt.Errorf("at /%.100s: %s", strings.TrimPrefix(string(r.dec.StackPointer()), "/"), fmt.Sprintf(format, args...))
}

func (r *jsonReader) value(depth int) error {
	if depth > maxDepth {
		return r.fault("nested deeper than %d", maxDepth)
	}
	token, err := r.dec.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case 'n':
		return r.enc.EncodeNil()
	case 't', 'f':
		return r.enc.EncodeBool(token.Bool())
	case '0':
		return r.number(token.String())
	case '"':
		s := token.String()
		if t, ok := readTime(s); ok {
			return r.enc.EncodeTime(t)
		}
		return r.enc.EncodeString(s)
	case '[':
		return r.array(depth)
	}
	return r.object(depth)
}

func (r *jsonReader) number(s string) error {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return r.fault("the float %.40s is too large", s)
		}
		return r.enc.EncodeFloat64(f)
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return r.enc.EncodeInt(n)
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return r.fault("the integer %.40s has more than 64 bits; a float has a point", s)
	}
	return r.enc.EncodeUint(n)
}

// begin makes room for the head of a map or an array.
func (r *jsonReader) begin(code byte) (at int) {
	r.out = append(r.out, code, 0, 0, 0, 0)
	return len(r.out)
}

func (r *jsonReader) end(at, n int) { binary.BigEndian.PutUint32(r.out[at-4:], uint32(n)) }

func (r *jsonReader) array(depth int) error {
	at, n := r.begin(0xdd), 0
	for ; r.dec.PeekKind() != ']'; n++ {
		if err := r.value(depth + 1); err != nil {
			return err
		}
	}
	r.end(at, n)
	_, err := r.dec.ReadToken()
	return err
}

func (r *jsonReader) object(depth int) error {
	at, n, first := r.begin(0xdf), 0, len(r.spans)
	for ; r.dec.PeekKind() != '}'; n++ {
		name, err := r.string()
		switch {
		case err != nil:
			return err
		case isWord(name) && n > 0:
			return r.fault("%s stands alone in its object; a map that has such a key is written {%q: [[key, value], …]}", name, wordMap)
		case isWord(name):
			r.out = r.out[:at-5]
			return r.alone(name, depth)
		}
		err = r.entry(func() error { return r.enc.EncodeString(name) }, depth)
		if err != nil {
			return err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	return r.endMap(at, n, first)
}

// entry reads one entry of a map, whose key is made by key.
func (r *jsonReader) entry(key func() error, depth int) error {
	s := span{from: len(r.out)}
	if err := key(); err != nil {
		return err
	}
	s.value = len(r.out)
	if err := r.value(depth + 1); err != nil {
		return err
	}
	s.to = len(r.out)
	r.spans = append(r.spans, s)
	return nil
}

// endMap puts the entries in order, of which those of this map begin at first.
func (r *jsonReader) endMap(at, n, first int) error {
	spans := r.spans[first:]
	if !slices.IsSortedFunc(spans, r.compare) {
		slices.SortFunc(spans, r.compare)
	}
	for i := range max(0, n-1) {
		if a, b := spans[i], spans[i+1]; bytes.Equal(r.out[a.from:a.value], r.out[b.from:b.value]) {
			return r.fault("a key is there twice")
		}
	}
	r.sort(spans, at)
	r.spans = r.spans[:first]
	r.end(at, n)
	return nil
}

// alone reads what stands behind a word, and wants it to be the last of its object.
func (r *jsonReader) alone(word string, depth int) error {
	if err := r.word(word, depth); err != nil {
		return err
	}
	if r.dec.PeekKind() != '}' {
		return r.fault("%s stands alone in its object", word)
	}
	_, err := r.dec.ReadToken()
	return err
}

func (r *jsonReader) word(word string, depth int) error {
	switch word {
	case wordBinary:
		data, err := r.base64()
		if err != nil {
			return err
		}
		return r.enc.EncodeBytes(data)
	case wordString:
		s, err := r.string()
		if err != nil {
			return err
		}
		return r.enc.EncodeString(s)
	case wordString64:
		data, err := r.base64()
		if err != nil {
			return err
		}
		return r.enc.EncodeString(string(data))
	case wordTime:
		return r.time()
	case wordFloat:
		return r.float(64)
	case wordFloat32:
		return r.float(32)
	case wordExt:
		return r.extension()
	case wordMap:
		return r.pairs(depth)
	}
	return r.notMsgpack(word, depth)
}

func (r *jsonReader) string() (string, error) {
	token, err := r.dec.ReadToken()
	if err != nil {
		return "", err
	}
	if token.Kind() != '"' {
		return "", r.fault("want a string")
	}
	return token.String(), nil
}

func (r *jsonReader) base64() ([]byte, error) {
	s, err := r.string()
	if err != nil {
		return nil, err
	}
	data, err := base64Strict.DecodeString(s)
	if err != nil {
		return nil, r.fault("want base64: %v", err)
	}
	return data, nil
}

func (r *jsonReader) time() error {
	s, err := r.string()
	if err != nil {
		return err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return r.fault("want a time as 2006-01-02T15:04:05Z, not %.40q", s)
	}
	return r.enc.EncodeTime(t)
}

func (r *jsonReader) float(bits int) error {
	token, err := r.dec.ReadToken()
	if err != nil {
		return err
	}
	if kind := token.Kind(); kind != '"' && kind != '0' {
		return r.fault("want a float")
	}
	f, err := strconv.ParseFloat(token.String(), bits)
	switch {
	case err != nil:
		return r.fault("want a float of %d bits, NaN, Infinity or -Infinity, not %.40q", bits, token.String())
	case bits == 32:
		return r.enc.EncodeFloat32(float32(f))
	}
	return r.enc.EncodeFloat64(f)
}

func (r *jsonReader) extension() error {
	if err := r.delimiter('[', `want [type, "base64"]`); err != nil {
		return err
	}
	token, err := r.dec.ReadToken()
	if err != nil {
		return err
	}
	kind, err := strconv.ParseInt(token.String(), 10, 8)
	if err != nil {
		return r.fault("want a type from -128 to 127")
	}
	data, err := r.base64()
	if err != nil {
		return err
	}
	if err := r.enc.EncodeExtHeader(int8(kind), len(data)); err != nil {
		return err
	}
	r.out = append(r.out, data...)
	return r.delimiter(']', `want [type, "base64"]`)
}

func (r *jsonReader) delimiter(want jsontext.Kind, otherwise string) error {
	token, err := r.dec.ReadToken()
	if err == nil && token.Kind() != want {
		err = r.fault("%s", otherwise)
	}
	return err
}

func (r *jsonReader) pairs(depth int) error {
	const form = "want [[key, value], …]"
	if err := r.delimiter('[', form); err != nil {
		return err
	}
	at, n, first := r.begin(0xdf), 0, len(r.spans)
	for ; r.dec.PeekKind() != ']'; n++ {
		if err := r.delimiter('[', form); err != nil {
			return err
		}
		if err := r.entry(func() error { return r.value(depth + 1) }, depth); err != nil {
			return err
		}
		if err := r.delimiter(']', form); err != nil {
			return err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	return r.endMap(at, n, first)
}

// notMsgpack reads a whole value that is no msgpack.
func (r *jsonReader) notMsgpack(word string, depth int) (err error) {
	switch {
	case depth > 0:
		return r.fault("%s is a whole value, and stands in no other", word)
	case word == wordRaw:
		r.raw, err = r.base64()
		return err
	}
	value, err := r.dec.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() != '{' {
		return r.fault("want an object")
	}
	value = value.Clone()
	if err := checkJSON(value); err != nil {
		return err
	}
	err = value.Compact()
	r.raw = value
	return err
}
