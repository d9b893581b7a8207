package textsearch

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// posting is what a document says of one term.
type posting struct {
	frequency uint64
	length    uint64 // of the document, in words
	weight    float64
}

func (p posting) append(b []byte) []byte {
	b = binary.AppendUvarint(b, p.frequency)
	b = binary.AppendUvarint(b, p.length)
	return appendWeight(b, p.weight)
}

func readPosting(data []byte) (p posting, err error) {
	r := reader{data: data}
	p.frequency, p.length, p.weight = r.uvarint(), r.uvarint(), r.weight()
	return p, r.end()
}

// record is what is kept of a document: its postings.
type record struct {
	length uint64
	weight float64
	terms  []termCount
}

type termCount struct {
	term      string
	frequency uint64
}

func (d *record) append(b []byte) []byte {
	b = binary.AppendUvarint(b, d.length)
	b = appendWeight(b, d.weight)
	b = binary.AppendUvarint(b, uint64(len(d.terms)))
	for _, t := range d.terms {
		b = binary.AppendUvarint(b, uint64(len(t.term)))
		b = append(b, t.term...)
		b = binary.AppendUvarint(b, t.frequency)
	}
	return b
}

func readRecord(data []byte) (*record, error) {
	r := reader{data: data}
	d := &record{length: r.uvarint(), weight: r.weight()}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		d.terms = append(d.terms, termCount{r.text(), r.uvarint()})
	}
	return d, r.end()
}

func (d *record) posting(t termCount) posting { return posting{t.frequency, d.length, d.weight} }

func appendWeight(b []byte, w float64) []byte {
	return binary.AppendUvarint(b, bits.ReverseBytes64(math.Float64bits(w)))
}

// reader reads what the functions above append. After bytes that they cannot have
// made it is bad, and yields zeros.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) weight() float64 {
	w := math.Float64frombits(bits.ReverseBytes64(r.uvarint()))
	if !validWeight(w) {
		r.bad = true
		return 0
	}
	return w
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.data)) {
		r.bad, r.data = true, nil
		return ""
	}
	s := string(r.data[:n])
	r.data = r.data[n:]
	return s
}

// end returns ErrCorrupt unless everything was read, and nothing more.
func (r *reader) end() error {
	if r.bad || len(r.data) > 0 {
		return ErrCorrupt
	}
	return nil
}
