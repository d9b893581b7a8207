package inverted

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/crabstore/crabstore/kv"
)

// Document is what is indexed under a key. Its terms are in any order; the
// frequencies of those that are the same add up.
type Document struct {
	Key    string
	Length uint64  // in words
	Weight float64 // above zero
	Terms  []Term
}

// Term is a term of a document and how often it has it, from 1.
type Term struct {
	Text      string
	Frequency uint32
}

// summed returns the terms without any twice.
func (d *Document) summed() []Term {
	sum := memory{at: map[string]int{}}
	sum.add(d)
	terms := make([]Term, 0, len(sum.postings))
	for _, p := range sum.postings {
		terms = append(terms, Term{string(sum.terms.at(p.term)), p.frequency})
	}
	return terms
}

// An operation of the log is
//
//	tip      uint64
//	add      uvarint 0, key, uvarint length, weight, uvarint count, and so often a
//	         term and its frequency as a uvarint
//	remove   uvarint 1, key
//
// with each text as a uvarint of its size and its bytes. The weight is a float64 as
// its bits reversed by bytes, in a uvarint: the usual ones take three bytes.
const (
	opAdd    = 0
	opRemove = 1
)

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendRemove(b []byte, tip uint64, key string) []byte {
	b = binary.LittleEndian.AppendUint64(b, tip)
	return appendText(append(b, opRemove), key)
}

// appendAdd appends the adding of a document of m.
func (m *memory) appendAdd(b []byte, tip uint64, d *memoryDoc) []byte {
	b = binary.LittleEndian.AppendUint64(b, tip)
	b = appendText(append(b, opAdd), d.key)
	b = binary.AppendUvarint(b, d.length)
	b = binary.AppendUvarint(b, bits.ReverseBytes64(math.Float64bits(d.weight)))
	b = binary.AppendUvarint(b, uint64(d.to-d.from))
	for _, p := range m.postings[d.from:d.to] {
		text := m.terms.at(p.term)
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		b = binary.AppendUvarint(b, uint64(p.frequency))
	}
	return b
}

// operation is an operation of the log. Its texts share memory with what it was
// read from.
type operation struct {
	tip    uint64
	remove bool
	Document
	terms string // not read yet
}

func readOperation(data []byte) (op operation, err error) {
	if op, err = readHead(data); err != nil || op.remove {
		return op, err
	}
	r := reader{text: op.terms}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		op.Terms = append(op.Terms, r.term())
	}
	if r.bad || r.text != "" {
		return op, ErrCorrupt
	}
	return op, nil
}

// readHead reads an operation but for its terms.
func readHead(data []byte) (op operation, err error) {
	if len(data) < 9 || data[8] > opRemove {
		return op, ErrCorrupt
	}
	op.tip, op.remove = binary.LittleEndian.Uint64(data), data[8] == opRemove
	r := reader{text: string(data[9:])}
	op.Key = r.read()
	if !op.remove {
		op.Length = r.uvarint()
		op.Weight = math.Float64frombits(bits.ReverseBytes64(r.uvarint()))
		if !(op.Weight > 0) || math.IsInf(op.Weight, 0) {
			r.bad = true
		}
		op.terms, r.text = r.text, ""
	}
	if r.bad || r.text != "" || op.Key == "" {
		return op, ErrCorrupt
	}
	return op, nil
}

// reader reads what the functions above append. After bytes that they cannot have
// made it is bad, and yields nothing.
type reader struct {
	text string
	bad  bool
}

func (r *reader) uvarint() uint64 {
	v := uint64(0)
	for i := 0; i < len(r.text) && i < binary.MaxVarintLen64; i++ {
		c := r.text[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.text = r.text[i+1:]
			return v
		}
	}
	r.bad, r.text = true, ""
	return 0
}

func (r *reader) read() string {
	n := r.uvarint()
	if n > uint64(len(r.text)) {
		r.bad, r.text = true, ""
		return ""
	}
	text := r.text[:n]
	r.text = r.text[n:]
	return text
}

// term reads a term and its frequency.
func (r *reader) term() Term {
	t := Term{Text: r.read()}
	f := r.uvarint()
	if f == 0 || f > 1<<32-1 {
		r.bad = true
	}
	t.Frequency = uint32(f)
	return t
}

// operations calls fn with what the log has from first up to, and without, next. An
// operation that is missing was lost in a crash of a store whose updates are not
// atomic: it is passed over.
func (s *shelf) operations(ctx context.Context, first, next uint64, fn func(op *operation)) error {
	return s.eachOperation(ctx, first, next, func(value []byte) error {
		op, err := readOperation(value)
		if err == nil {
			fn(&op)
		}
		return err
	})
}

// eachOperation is operations before they are read.
func (s *shelf) eachOperation(ctx context.Context, first, next uint64, fn func(value []byte) error) error {
	if first >= next {
		return nil
	}
	r := kv.Range{Prefix: append([]byte{}, s.under("new/")...)}
	if first > 0 {
		r.After = append([]byte{}, s.logKey(first-1)...)
	}
	end := string(s.logKey(next))
	for e, err := range kv.ScanRange(ctx, s.tx, s.col, r) {
		if err != nil {
			return err
		}
		if string(e.Key) >= end {
			return nil
		}
		if err := fn(e.Value); err != nil {
			return fmt.Errorf("%w at %q", err, e.Key)
		}
	}
	return nil
}
