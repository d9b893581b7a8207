package inverted

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/crabstore/crabstore/kv"
)

// Report is what a Check found.
type Report struct {
	Documents uint64
	Length    uint64
	Postings  uint64 // of documents that are gone, too
	Stray     int    // values that nothing leads to, which Sweep deletes
	Faults    []string
}

// maxFaults bounds Report.Faults: an index with so many is made anew, not read.
const maxFaults = 100

func (r *Report) fault(format string, args ...any) {
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
	}
}

// Checked is a document as a Check saw it.
type Checked struct {
	Key    string
	Length uint64
	Weight float64
	Print  uint64 // the sum of Printer.Of of its terms
}

// Printer makes fingerprints of documents. Those of two printers do not compare.
type Printer struct{ seed maphash.Seed }

// NewPrinter returns a printer.
func NewPrinter() *Printer { return &Printer{maphash.MakeSeed()} }

// Of returns the fingerprint of a term and its frequency. That of a document is the
// sum of those of its terms.
func (p *Printer) Of(term []byte, frequency uint32) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	h.Write(term)
	var b [5]byte
	binary.LittleEndian.PutUint32(b[1:], frequency)
	h.Write(b[:])
	return h.Sum64()
}

// Check walks the whole index, tells visit of every document, and reports what does
// not agree. It changes nothing. The error is that of a store that cannot be read,
// or of visit.
func (x *Index) Check(ctx context.Context, tx kv.KVStorage, p *Printer, visit func(Checked)) (*Report, error) {
	c := &checker{ctx: ctx, ix: x, printer: p, visit: visit, seen: map[string]bool{}, report: &Report{}}
	return c.report, c.run(tx)
}

type checker struct {
	ctx     context.Context
	ix      *Index
	group   Group
	printer *Printer
	visit   func(Checked)
	seen    map[string]bool
	report  *Report
}

func (c *checker) run(tx kv.KVStorage) error {
	st, ok, err := c.ix.Load(c.ctx, tx)
	if err == nil && ok {
		err = c.generation(tx, &st)
	}
	if err == nil {
		err = c.strays(tx)
	}
	if errors.Is(err, kv.ErrCorrupt) || errors.Is(err, ErrVersion) {
		c.report.fault("%v", err)
		return nil
	}
	if err != nil {
		return err
	}
	if c.report.Documents != st.Documents {
		c.report.fault("statistics: %d documents, there are %d", st.Documents, c.report.Documents)
	}
	if c.report.Length != st.Length {
		c.report.fault("statistics: length %d, it is %d", st.Length, c.report.Length)
	}
	return nil
}

func (c *checker) generation(tx kv.KVStorage, st *Stats) error {
	group, err := c.ix.groups(st)
	if err != nil {
		return err
	}
	c.group = group
	s := newShelf(tx, c.ix, st.Generation)
	s.cache = new(kv.Cache) // what is stored, and not what is known of it
	l, err := s.list(c.ctx, st)
	if err != nil {
		return err
	}
	for _, info := range l.Segments {
		seg, err := s.open(c.ctx, info)
		if err == nil {
			err = c.segment(seg)
		}
		if errors.Is(err, kv.ErrCorrupt) {
			c.report.fault("segment %016x: %v", info.ID, err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return c.log(s, st)
}

// log checks what no segment has yet.
func (c *checker) log(s *shelf, st *Stats) error {
	d := newDelta(st.First)
	prints := map[string]uint64{}
	weights := map[string]float64{}
	lengths := map[string]uint64{}
	count := uint64(0)
	err := s.operations(c.ctx, st.First, st.Next, func(op *operation) {
		count++
		d.apply(op, nil)
		sum := uint64(0)
		for _, t := range op.Terms {
			sum += c.printer.Of([]byte(t.Text), t.Frequency)
			c.report.Postings++
		}
		prints[op.Key], weights[op.Key], lengths[op.Key] = sum, op.Weight, op.Length
	})
	if err != nil {
		return err
	}
	if want := st.Next - st.First; count != want {
		c.report.fault("the log has %d operations of %d", count, want)
	}
	for key := range d.at {
		c.document(Checked{key, lengths[key], weights[key], prints[key]})
		if ok, err := kv.Has(c.ctx, s.tx, s.col, s.newKey(key)); err != nil {
			return err
		} else if !ok {
			c.report.fault("document %q of the log is not found by its key", key)
		}
	}
	return nil
}

func (c *checker) document(d Checked) {
	if c.seen[d.Key] {
		c.report.fault("document %q is there twice", d.Key)
	}
	c.seen[d.Key] = true
	c.report.Documents++
	c.report.Length += d.Length
	c.visit(d)
}

// segment checks one segment: its documents first, then its postings, which give
// the prints of these.
func (c *checker) segment(seg *segment) error {
	docs := make([]Checked, 0, seg.Docs)
	dead := make([]bool, 0, seg.Docs)
	count := uint32(0)
	err := c.table(seg, docTable, func(key, value []byte) error {
		number := uint32(len(docs))
		length, err := seg.length(value)
		if err != nil {
			return err
		}
		norms, err := seg.norms(c.ctx, number/Window)
		if err != nil {
			return err
		}
		i := number % Window
		if int(i) >= len(norms.Lengths) || norms.Lengths[i] != lengthByte(uint32(min(length, 1<<32-1))) {
			c.report.fault("document %q: another length", key)
			return nil
		}
		b, err := seg.dead(c.ctx, number/Window)
		if err != nil {
			return err
		}
		if b.has(i) {
			count++
		}
		docs, dead = append(docs, Checked{string(key), length, norms.Weight(i), 0}), append(dead, b.has(i))
		return nil
	})
	if err != nil {
		return err
	}
	if len(docs) != int(seg.Docs) || count != seg.Dead {
		return fmt.Errorf("%w: %d documents, %d of them gone, not %d and %d", ErrCorrupt, len(docs), count, seg.Docs, seg.Dead)
	}
	if err := c.terms(seg, docs); err != nil {
		return err
	}
	for i, d := range docs {
		if !dead[i] {
			c.document(d)
		}
	}
	return nil
}

// table calls fn with every entry of a table, and checks that they ascend and are
// where the directory says.
func (c *checker) table(seg *segment, table byte, fn func(key, value []byte) error) error {
	if err := c.directory(seg, table); err != nil {
		return err
	}
	var last []byte
	return seg.under(c.ctx, table, nil, func(key, value []byte, number uint32) (bool, error) {
		if number > 0 && bytes.Compare(last, key) > 0 || table != docTable && number > 0 && bytes.Equal(last, key) {
			return false, fmt.Errorf("%w: %q comes before %q", ErrCorrupt, last, key)
		}
		last = append(last[:0], key...)
		return true, fn(key, value)
	})
}

// directory checks what the directory of a table says of its chunks.
func (c *checker) directory(seg *segment, table byte) error {
	places := seg.places(table)
	for i, p := range places {
		chunk, err := seg.chunk(c.ctx, seg.ID, table, p.chunk)
		if err != nil {
			return err
		}
		var r rows
		if !r.begin(chunk, 0) || !r.step() || !bytes.Equal(r.key, p.first) ||
			i+1 < len(places) && places[i+1].from-p.from != uint32(chunk.entries) {
			return fmt.Errorf("%w: the directory of %q", ErrCorrupt, seg.chunkKey(seg.ID, table, p.chunk))
		}
	}
	return nil
}

func (c *checker) terms(seg *segment, docs []Checked) error {
	grouped := map[string]bool{}
	err := c.table(seg, termTable, func(key, value []byte) error {
		l, err := seg.list(c.ctx, value, new(slab))
		if err != nil {
			return fmt.Errorf("%w: term %q", err, key)
		}
		if c.group != nil {
			if g := c.group(string(key)); g != string(key) {
				grouped[string(groupKey(g, string(key)))] = true
			}
		}
		return c.postings(seg, key, l, docs)
	})
	if err != nil {
		return err
	}
	err = c.table(seg, groupTable, func(key, _ []byte) error {
		if !grouped[string(key)] {
			c.report.fault("group %q: no document has that term", key)
		}
		delete(grouped, string(key))
		return nil
	})
	for key := range grouped {
		c.report.fault("group %q is not listed", key)
	}
	return err
}

func (c *checker) postings(seg *segment, term []byte, l *List, docs []Checked) error {
	var buffers Buffers
	last := int64(-1)
	for i := range l.Parts() {
		var b *Block
		if l.numbers == nil {
			b = &l.Blocks[i]
		}
		numbers, frequencies, err := l.Read(c.ctx, i, &buffers)
		if err != nil {
			return err
		}
		norms, at := (*Norms)(nil), uint32(0)
		for j, n := range numbers {
			if int64(n) <= last || n >= seg.Docs {
				return fmt.Errorf("%w: term %q has the document %d after %d", ErrCorrupt, term, n, last)
			}
			last = int64(n)
			if norms == nil || at != n/Window {
				at = n / Window
				if norms, err = seg.norms(c.ctx, at); err != nil {
					return err
				}
			}
			if !b.covers(frequencies[j], norms.Lengths[n%Window], norms.Weight(n%Window)) {
				c.report.fault("term %q: a block has better documents than it says", term)
			}
			docs[n].Print += c.printer.Of(term, frequencies[j])
			c.report.Postings++
		}
	}
	return nil
}

// covers tells whether a posting is at or below what is known of its block.
func (b *Block) covers(frequency uint32, length byte, weight float64) bool {
	if b == nil || b.Best == nil {
		return true
	}
	for _, p := range b.Best {
		if p.Frequency >= frequency && p.Length <= length && b.Weight >= weight {
			return true
		}
	}
	return false
}

// strays counts the values that nothing leads to, as Sweep finds them.
func (c *checker) strays(tx kv.KVStorage) error {
	n, err := c.ix.Sweep(c.ctx, kv.NewOverlay(tx), 1<<30)
	c.report.Stray = n
	return err
}
