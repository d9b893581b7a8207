package jsonkv

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/frozen"
)

// A document is
//
//	{
//	  "format": "crabstore-json",
//	  "version": 1,
//	  "session": {
//	    "local/session/h/meta": {…},
//	    "$base64:/w==": "…"
//	  }
//	}
//
// with a member for each column that has keys in it, by the order of their numbers. The
// keys are in byte order, and the values are as kv.ToExactJSON makes them.
const (
	formatName    = "crabstore-json"
	formatVersion = 1
	binaryKey     = "$base64:" // begins a key that is not UTF-8, or begins so itself
)

// line is an entry as a document has it.
type line struct {
	value []byte
	text  []byte // rendered when it is first written; by who writes, alone
}

// render makes the text of a document of its entries, which are by their places.
func render(entries frozen.Map[*line]) []byte {
	size := 1 << 10 // of what is around the lines
	for at, l := range entries.Ascend("") {
		if l.text == nil {
			l.text = renderLine([]byte(at[1:]), l.value)
		}
		size += len(l.text) + len(",\n    ")
	}
	b := fmt.Appendf(make([]byte, 0, size), "{\n  \"format\": %q,\n  \"version\": %d", formatName, formatVersion)
	column := -1
	for at, l := range entries.Ascend("") {
		if c := int(at[0]); c != column {
			if column >= 0 {
				b = append(b, "\n  }"...)
			}
			b = fmt.Appendf(b, ",\n  %q: {\n    ", kv.Column(c))
			column = c
		} else {
			b = append(b, ",\n    "...)
		}
		b = append(b, l.text...)
	}
	if column >= 0 {
		b = append(b, "\n  }"...)
	}
	return append(b, "\n}\n"...)
}

func renderLine(key, value []byte) []byte {
	name := string(key)
	if !utf8.Valid(key) || strings.HasPrefix(name, binaryKey) {
		name = binaryKey + base64.StdEncoding.EncodeToString(key)
	}
	b, _ := jsontext.AppendQuote(nil, name)
	text := jsontext.Value(kv.ToExactJSON(value))
	_ = text.Indent(jsontext.WithIndentPrefix("    "), jsontext.WithIndent("  ")) // it is JSON
	return append(append(b, ": "...), text...)
}

// parser reads a document that may have been edited.
type parser struct {
	name string // of the document
	path string // for people
	text []byte
	dec  *jsontext.Decoder
	add  func(at string, value []byte) (fresh bool)
}

// parse reads a document and gives its entries to add, by their places; add tells
// whether it did not have the entry before.
func parse(name, path string, text []byte, add func(at string, value []byte) (fresh bool)) error {
	p := &parser{name: name, path: path, text: text, add: add}
	if err := p.header(); err != nil {
		return err
	}
	p.dec = jsontext.NewDecoder(bytes.NewBuffer(text))
	return p.object("an object", func(name string) error {
		if name == "format" || name == "version" {
			return p.syntax(p.dec.SkipValue())
		}
		col, ok := columnOf(name)
		if !ok {
			return p.fault(p.dec.InputOffset(), "there is no column %.40q; the columns are %v", name, kv.Columns())
		}
		return p.object("the entries of the column", func(key string) error { return p.entry(col, key) })
	})
}

// fault is an error that says where in the document it is.
func (p *parser) fault(offset int64, format string, args ...any) error {
	at := bytes.Count(p.text[:min(int(offset), len(p.text))], []byte("\n")) + 1
	return fmt.Errorf("%w: %s, line %d: %w", kv.ErrCorrupt, p.path, at, fmt.Errorf(format, args...))
}

// syntax makes an error of the decoder a fault.
func (p *parser) syntax(err error) error {
	if err == nil {
		return nil
	}
	offset := p.dec.InputOffset()
	var bad *jsontext.SyntacticError
	if errors.As(err, &bad) {
		offset, err = bad.ByteOffset, bad.Err
	}
	return p.fault(offset, "%w", err)
}

// object reads an object, and calls member for each of its names; member reads the
// value.
func (p *parser) object(what string, member func(name string) error) error {
	token, err := p.dec.ReadToken()
	switch {
	case err != nil:
		return p.syntax(err)
	case token.Kind() != '{':
		return p.fault(p.dec.InputOffset(), "want %s: {…}", what)
	}
	for p.dec.PeekKind() != '}' {
		name, err := p.dec.ReadToken()
		if err != nil {
			return p.syntax(err)
		}
		if err := member(name.String()); err != nil {
			return err
		}
	}
	if _, err = p.dec.ReadToken(); err != nil {
		return p.syntax(err)
	}
	if p.dec.StackDepth() > 0 {
		return nil
	}
	if _, err := p.dec.ReadToken(); err != io.EOF {
		return p.fault(p.dec.InputOffset(), "something stands behind the document")
	}
	return nil
}

func (p *parser) entry(col kv.Column, name string) error {
	at := p.dec.InputOffset()
	key := []byte(name)
	if digits, ok := strings.CutPrefix(name, binaryKey); ok {
		var err error
		if key, err = base64.StdEncoding.Strict().DecodeString(digits); err != nil {
			return p.fault(at, "want a key in base64 behind %s: %w", binaryKey, err)
		}
	}
	if err := kv.CheckKey(key); err != nil {
		return p.fault(at, "%w", err)
	}
	if home := documentOf(col, key); home != p.name {
		return p.fault(at, "the key %.200q belongs into %s; move it there", name, home)
	}
	text, err := p.dec.ReadValue()
	if err != nil {
		return p.syntax(err)
	}
	value, err := kv.FromJSON(text)
	if err != nil {
		return p.fault(at, "the value of %.200q: %w", name, err)
	}
	if err := kv.CheckValue(value, MaxValueSize); err != nil {
		return p.fault(at, "the value of %.200q: %w", name, err)
	}
	if !p.add(frozen.Place(col, key), value) {
		return p.fault(at, "the key %.200q is there twice", name)
	}
	return nil
}

// header wants the document to be one of this format, in a version that is known.
func (p *parser) header() error {
	p.dec = jsontext.NewDecoder(bytes.NewBuffer(p.text))
	var format, version string
	done := errors.New("both are there")
	err := p.object("an object", func(name string) error {
		var err error
		var token jsontext.Token
		switch name {
		case "format":
			token, err = p.dec.ReadToken()
			format = token.String()
		case "version":
			token, err = p.dec.ReadToken()
			version = token.String()
		default:
			err = p.dec.SkipValue()
		}
		if err == nil && format != "" && version != "" {
			return done
		}
		return p.syntax(err)
	})
	switch {
	case err != nil && err != done:
		if p.name == storeDocument && !bytes.Contains(p.text, []byte(formatName)) {
			return fmt.Errorf("%w: %w", ErrNotStore, err)
		}
		return err
	case format != formatName && p.name == storeDocument:
		return fmt.Errorf("%w: %s has no \"format\": %q", ErrNotStore, p.path, formatName)
	case format != formatName:
		return p.fault(0, "want \"format\": %q, not %.40q; a file that is no document of the store belongs elsewhere", formatName, format)
	}
	return checkVersion(p, version)
}

func checkVersion(p *parser, version string) error {
	switch n, err := strconv.Atoi(version); {
	case err != nil || n < 1:
		return p.fault(0, "want \"version\": %d, not %.40q", formatVersion, version)
	case n > formatVersion:
		return fmt.Errorf("%w: %s is of version %d, this program knows versions up to %d; use a newer one", ErrVersion, p.path, n, formatVersion)
	}
	return nil
}

// columnOf is the inverse of kv.Column.String.
func columnOf(name string) (kv.Column, bool) {
	for col := range kv.EveryColumn() {
		if col.String() == name {
			return col, true
		}
	}
	return 0, false
}
