package transcripts

import (
	"bytes"
	"encoding/base64"
	stdjson "encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Transcripts are read with encoding/json/v2 (its mirror): names match in exact case, unlike
// version 1, where {"type":…,"Type":…} reads as the second; bad UTF-8 and lone surrogates become
// U+FFFD; and it is three to four times as fast on real sessions.
//
// The types below take the JSON kind they are for and pass over any other, so that a field that
// changed its type costs that field and not the record.

// tolerant are the options of every decode: duplicate names keep the last.
var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func decode(raw []byte, into any) error { return json.Unmarshal(raw, into, tolerant) }

// text is a string, or nothing.
type text string

func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '"' {
		return d.SkipValue()
	}
	token, err := d.ReadToken()
	if err == nil {
		*t = text(token.String())
	}
	return err
}

// flag is a boolean, or false.
type flag bool

func (f *flag) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if k := d.PeekKind(); k != 't' && k != 'f' {
		return d.SkipValue()
	}
	token, err := d.ReadToken()
	if err == nil {
		*f = flag(token.Bool())
	}
	return err
}

// count is a number, cut to an integer, or zero.
type count int64

func (c *count) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '0' {
		return d.SkipValue()
	}
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	if f, err := token.Float(); err == nil && f >= -1<<53 && f <= 1<<53 {
		*c = count(f)
	}
	return nil
}

// when is a time: RFC 3339 text, or seconds or milliseconds since 1970 as a number or as text.
type when struct{ time.Time }

func (w *when) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		w.Time = parseTime(token.String())
	case '0':
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		if f, err := token.Float(); err == nil {
			w.Time = unixTime(f)
		}
	default:
		return d.SkipValue()
	}
	return nil
}

func parseTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return unixTime(f)
	}
	return time.Time{}
}

// unixTime reads n as milliseconds when as seconds it would lie beyond the year 5138.
func unixTime(n float64) time.Time {
	if n >= 1e11 {
		n /= 1000
	}
	if !(n > 0 && n < 1e11) {
		return time.Time{}
	}
	whole, frac := math.Modf(n)
	return time.Unix(int64(whole), int64(math.Round(frac*1e6))*1000).UTC()
}

// object is a T from a JSON object, or a zero T.
type object[T any] struct{ V T }

func (o *object[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, &o.V)
}

// list holds the elements of a JSON array that are objects; a lone object is a list of one.
type list[T any] []T

func (l *list[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var one object[T]
	switch d.PeekKind() {
	case '{':
		if err := one.UnmarshalJSONFrom(d); err != nil {
			return err
		}
		*l = append(*l, one.V)
		return nil
	case '[':
	default:
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if d.PeekKind() != '{' {
			if err := d.SkipValue(); err != nil {
				return err
			}
			continue
		}
		one = object[T]{}
		if err := one.UnmarshalJSONFrom(d); err != nil {
			return err
		}
		*l = append(*l, one.V)
	}
	_, err := d.ReadToken()
	return err
}

// textOr is what many grammars call content: a string, or a list of T. Strings in the list are
// taken as texts too.
type textOr[T any] struct {
	Text  string
	Parts list[T]
}

func (c *textOr[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err == nil {
			c.Text = token.String()
		}
		return err
	}
	return c.Parts.UnmarshalJSONFrom(d)
}

// cleanJSON makes raw fit to leave: a copy, valid JSON in valid UTF-8 without lone surrogates, or
// nil when it is absent or null.
func cleanJSON(raw jsontext.Value) stdjson.RawMessage {
	if k := raw.Kind(); len(raw) == 0 || k == 'n' {
		return nil
	}
	v := raw.Clone()
	if utf8.Valid(v) && !bytes.Contains(v, []byte(`\u`)) {
		return stdjson.RawMessage(v)
	}
	if err := v.Format(tolerant); err != nil {
		return nil
	}
	return stdjson.RawMessage(v)
}

// jsonOrText is cleanJSON for arguments that are JSON within a string, or just a string.
func jsonOrText(raw jsontext.Value) stdjson.RawMessage {
	if raw.Kind() != '"' {
		return cleanJSON(raw)
	}
	var s text
	if decode(raw, &s) != nil {
		return nil
	}
	inner := jsontext.Value(strings.TrimSpace(string(s)))
	if k := inner.Kind(); (k == '{' || k == '[') && inner.IsValid(tolerant) {
		return cleanJSON(inner)
	}
	return quoteJSON(string(s))
}

// quoteJSON is s as a JSON string; s is valid UTF-8.
func quoteJSON(s string) stdjson.RawMessage {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return nil
	}
	return stdjson.RawMessage(b)
}

// image is an Image block from base64 data, keeping bytes up to the limit.
func image(mime, encoded string, limit int) Block {
	encoded = strings.TrimSpace(encoded)
	b := Block{Kind: Image, MIME: mime, Size: int64(base64.StdEncoding.DecodedLen(len(encoded)))}
	b.Size -= int64(strings.Count(encoded[max(0, len(encoded)-2):], "="))
	if b.Size > int64(limit) {
		return b
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil { // cut short, or not base64 at all: how large it is, is all there is to say
		return b
	}
	b.Data, b.Size = data, int64(len(data))
	return b
}

// imageURL is an Image block from a URL, which may carry the image itself (data:).
func imageURL(mime, url string, limit int) Block {
	header, data, isData := strings.Cut(url, ",")
	if !isData || !strings.HasPrefix(header, "data:") {
		return Block{Kind: Image, MIME: mime, URL: url}
	}
	header = strings.TrimPrefix(header, "data:")
	if named, _, _ := strings.Cut(header, ";"); named != "" {
		mime = named
	}
	if !strings.HasSuffix(header, ";base64") {
		return Block{Kind: Image, MIME: mime, Size: int64(len(data))}
	}
	return image(mime, data, limit)
}
