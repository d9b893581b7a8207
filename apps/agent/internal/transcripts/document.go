package transcripts

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// readDocument reads a source that is one JSON value: an array of records, an object that is a
// record or has an array of them. One record is in memory at a time.
func (r *reading) readDocument() error {
	stream, err := r.file.stream(0)
	if err != nil {
		return err
	}
	d := &documentReader{reading: r, limit: &limited{r: stream}}
	d.decoder = jsontext.NewDecoder(skipMark(d.limit), tolerant)
	return r.finish(d.explain(d.read()))
}

// documentReader decodes a document record by record.
type documentReader struct {
	reading *reading
	decoder *jsontext.Decoder
	limit   *limited
	index   int64
}

func (d *documentReader) read() error {
	d.limit.left = int64(d.reading.opts.MaxLine)
	if d.decoder.PeekKind() == '[' {
		return d.elements()
	}
	value, err := d.decoder.ReadValue()
	if err != nil {
		return err
	}
	if d.reading.src.Format == Codex {
		return d.rollout(value)
	}
	return d.element(value)
}

// elements takes the elements of the array that begins.
func (d *documentReader) elements() error {
	if _, err := d.decoder.ReadToken(); err != nil {
		return err
	}
	for {
		d.limit.left = int64(d.reading.opts.MaxLine)
		if d.decoder.PeekKind() == ']' {
			_, err := d.decoder.ReadToken()
			return err
		}
		value, err := d.decoder.ReadValue()
		if err != nil {
			return err
		}
		if err := d.element(value); err != nil {
			return err
		}
	}
}

// element takes one record.
func (d *documentReader) element(value jsontext.Value) error {
	r := d.reading
	if err := r.ctx.Err(); err != nil {
		return err
	}
	rec := record{raw: value, offset: d.index}
	d.index++
	if value.Kind() != '{' {
		r.asm.skip(rec.offset, "not a JSON object")
	} else if err := r.take(rec); err != nil {
		r.asm.skip(rec.offset, reason(err))
	}
	if r.asm.full(0) {
		return r.emit(false)
	}
	return nil
}

// rollout takes the document {session, items} of the first Codex.
func (d *documentReader) rollout(value jsontext.Value) error {
	var doc struct {
		Session jsontext.Value   `json:"session"`
		Items   []jsontext.Value `json:"items"`
	}
	if err := decode(value, &doc); err != nil {
		return err
	}
	for _, v := range append([]jsontext.Value{doc.Session}, doc.Items...) {
		if err := d.element(v); err != nil {
			return err
		}
	}
	return nil
}

// explain says of an error that came while decoding, what kind it is.
func (d *documentReader) explain(err error) error {
	switch {
	case err == nil, errors.Is(err, errStopped), errors.Is(err, d.reading.ctx.Err()):
		return err
	case errors.Is(err, errTooLong):
		return fmt.Errorf("element %d is longer than %d bytes: %w", d.index, d.reading.opts.MaxLine, ErrDamaged)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("it ends within element %d: %w", d.index, ErrDamaged)
	}
	return fmt.Errorf("element %d: %w", d.index, d.reading.file.explain(err))
}

var errTooLong = errors.New("record is too long")

// limited bounds what may be read before left is set anew: a decoder keeps in memory the value
// that it is reading.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// skipMark passes over a byte-order mark.
func skipMark(r io.Reader) io.Reader { return &markSkipper{r: r} }

type markSkipper struct {
	r    io.Reader
	past bool
}

func (m *markSkipper) Read(p []byte) (int, error) {
	if m.past || len(p) < 3 {
		return m.r.Read(p)
	}
	m.past = true
	n, err := io.ReadAtLeast(m.r, p, 3)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	if n >= 3 && string(p[:3]) == "\xEF\xBB\xBF" {
		n = copy(p, p[3:n])
	}
	return n, err
}
