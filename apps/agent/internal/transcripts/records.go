package transcripts

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// record is one JSON object of a source.
type record struct {
	raw    []byte // valid until the grammar returns
	offset int64  // in the decompressed file; index of the element in a document
	line   int64  // 0 in a document
}

// blank is what may stand around a record and means nothing. A NUL means that a crash left a hole
// in the file, and is reported.
const blank = " \t\r\n"

// salvageTries bounds how often a damaged line is searched for a whole record behind the damage:
// each try may read what is left of the line.
const salvageTries = 32

// splitLine finds the values on a line that is not just one object: several of them, a half one
// followed by a whole one, no object at all. It calls value for every JSON object and damage for
// every stretch of bytes that is none, with the position of each within the line.
func splitLine(data []byte, value func(raw []byte, at int), damage func(at int, reason string)) {
	at := 0
	if rest := bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")); len(rest) < len(data) {
		at = 3
	}
	for {
		rest := bytes.TrimLeft(data[at:], blank)
		at = len(data) - len(rest)
		if len(rest) == 0 {
			return
		}
		if holes := len(rest) - len(bytes.TrimLeft(rest, "\x00"+blank)); rest[0] == 0 {
			damage(at, fmt.Sprintf("%d NUL bytes, where a crash left a hole in the file", holes))
			at += holes
			continue
		}
		raw, err := firstValue(rest)
		if err == nil {
			if raw[0] == '{' {
				value(raw, at)
			} else {
				damage(at, "not a JSON object")
			}
			at += len(raw)
			continue
		}
		next := salvage(rest, err)
		if next < 0 {
			damage(at, "damaged record: "+reason(err))
			return
		}
		damage(at, "damaged record, followed by a whole one: "+reason(err))
		at += next
	}
}

// firstValue is the JSON value that data begins with.
func firstValue(data []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(data), tolerant)
	if err := d.SkipValue(); err != nil {
		return nil, err
	}
	return data[:d.InputOffset()], nil
}

// salvage finds where, within a damaged line, a record begins that is whole up to the end of the
// line, or -1. What ends with the line cannot be a part of the damaged record, whose closing
// brackets would follow. A record that another one cut into begins right before the place where
// the decoder gave up: that place is tried first.
func salvage(data []byte, err error) int {
	start := []byte(`{"`)
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && 1 < syntax.ByteOffset && syntax.ByteOffset < int64(len(data)) {
		at := 1 + bytes.LastIndex(data[1:syntax.ByteOffset+1], start)
		if at > 0 && wholeObjects(data[at:]) {
			return at
		}
	}
	at := 0
	for range salvageTries {
		next := bytes.Index(data[at+1:], start)
		if next < 0 {
			return -1
		}
		at += 1 + next
		if wholeObjects(data[at:]) {
			return at
		}
	}
	return -1
}

// wholeObjects tells whether data is one or more JSON objects and nothing else.
func wholeObjects(data []byte) bool {
	data = bytes.TrimRight(data, blank)
	for first := true; ; first = false {
		data = bytes.TrimLeft(data, blank)
		if len(data) == 0 {
			return !first
		}
		if data[0] != '{' {
			return false
		}
		raw, err := firstValue(data)
		if err != nil {
			return false
		}
		data = data[len(raw):]
	}
}

// reason is a decoder's complaint without what only this package knows.
func reason(err error) string {
	s := err.Error()
	const limit = 120
	if len(s) > limit {
		s = s[:limit]
	}
	return validText(s)
}
