package inverted

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
)

// memory gathers documents and their postings, to make a segment of them or to
// write them one by one.
type memory struct {
	docs     []memoryDoc
	at       map[string]int // where in docs the document of a key is
	gone     int            // of docs
	terms    vocabulary
	last     []int // by term: where in postings its last one is, and one
	postings []memoryPosting
}

type memoryDoc struct {
	key      string
	length   uint64
	weight   float64
	from, to int // in postings
	gone     bool
}

type memoryPosting struct{ term, frequency uint32 }

func newMemory() *memory { return &memory{at: map[string]int{}} }

// add adds a document, in place of one with its key.
func (m *memory) add(d *Document) {
	if m.postings == nil { // in most transactions there is no other
		m.reserve(len(d.Terms))
	}
	from := len(m.postings)
	for _, t := range d.Terms {
		m.addTerm(from, t.Text, t.Frequency)
	}
	m.addDoc(d.Key, d.Length, d.Weight, from)
}

// reserve makes room for so many postings, of nearly as many terms, in a memory that
// is empty.
func (m *memory) reserve(n int) {
	m.postings, m.last = make([]memoryPosting, 0, n), make([]int, 0, n)
	m.terms.ends, m.terms.bytes = make([]uint32, 0, n), make([]byte, 0, 8*n)
	m.terms.grow(2 << bits.Len(uint(n)))
}

// addTerm adds a term of the document whose postings begin at from.
func (m *memory) addTerm(from int, text string, frequency uint32) {
	n := m.terms.number(text)
	if int(n) == len(m.last) {
		m.last = append(m.last, 0)
	}
	if at := m.last[n]; at > from {
		p := &m.postings[at-1]
		p.frequency += min(frequency, math.MaxUint32-p.frequency)
		return
	}
	m.postings = append(m.postings, memoryPosting{n, frequency})
	m.last[n] = len(m.postings)
}

// addOperation adds the document of an operation whose terms are not read, in place
// of one with its key.
func (m *memory) addOperation(op *operation) error {
	from := len(m.postings)
	r := reader{text: op.terms}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		if t := r.term(); !r.bad {
			m.addTerm(from, t.Text, t.Frequency)
		}
	}
	if r.bad || r.text != "" {
		return ErrCorrupt
	}
	m.addDoc(op.Key, op.Length, op.Weight, from)
	return nil
}

func (m *memory) addDoc(key string, length uint64, weight float64, from int) {
	m.drop(key)
	m.at[key] = len(m.docs)
	m.docs = append(m.docs, memoryDoc{key: key, length: length, weight: weight, from: from, to: len(m.postings)})
}

// drop takes out a document and returns its length.
func (m *memory) drop(key string) (length uint64, existed bool) {
	i, ok := m.at[key]
	if !ok {
		return 0, false
	}
	m.docs[i].gone = true
	m.gone++
	delete(m.at, key)
	return m.docs[i].length, true
}

func (m *memory) live() int { return len(m.docs) - m.gone }

// inOrder returns the documents that are there, in the order of their keys.
func (m *memory) inOrder() []*memoryDoc {
	docs := make([]*memoryDoc, 0, m.live())
	for i := range m.docs {
		if !m.docs[i].gone {
			docs = append(docs, &m.docs[i])
		}
	}
	slices.SortFunc(docs, func(a, b *memoryDoc) int { return cmp.Compare(a.key, b.key) })
	return docs
}

// write makes a segment of the documents, which are some. group returns that of a
// term, or the term itself.
func (m *memory) write(ctx context.Context, s *shelf, memo *groupMemo, group Group) (Segment, error) {
	id, docs := newID(), m.inOrder()
	w := newSegmentWriter(ctx, s, writerState{ID: id}, docTable)
	for _, d := range docs {
		if err := w.addDoc([]byte(d.key), d.length, d.weight); err != nil {
			return Segment{}, err
		}
	}
	if err := w.begin(termTable); err != nil {
		return Segment{}, err
	}
	w.lists.norm = func(n uint32) (byte, float64) {
		return lengthByte(uint32(min(docs[n].length, 1<<32-1))), docs[n].weight
	}
	used, err := m.writeTerms(w, docs)
	if err != nil {
		return Segment{}, err
	}
	if err := w.begin(groupTable); err != nil {
		return Segment{}, err
	}
	if group != nil {
		if err := m.writeGroups(w, used, memo, group); err != nil {
			return Segment{}, err
		}
	}
	return Segment{ID: id, Docs: w.state.Docs}, w.cut()
}

// writeTerms writes the terms that the documents have and returns their numbers, in
// the order of the terms.
func (m *memory) writeTerms(w *segmentWriter, docs []*memoryDoc) (used []uint32, err error) {
	ends := make([]int, m.terms.count()) // by term: how many postings; then where they begin; then where they end
	for _, d := range docs {
		for _, p := range m.postings[d.from:d.to] {
			ends[p.term]++
		}
	}
	sorted := m.terms.sorted()
	total := 0
	for _, t := range sorted {
		ends[t], total = total, total+ends[t]
	}
	both := make([]uint32, 2*total)
	numbers, frequencies := both[:total], both[total:]
	for n, d := range docs {
		for _, p := range m.postings[d.from:d.to] {
			at := ends[p.term]
			numbers[at], frequencies[at] = uint32(n), p.frequency
			ends[p.term]++
		}
	}
	from := 0
	used = sorted[:0]
	for _, t := range sorted {
		to := ends[t]
		if from == to {
			continue // all that had it are gone
		}
		if err := w.addTerm(m.terms.at(t), numbers[from:to], frequencies[from:to]); err != nil {
			return nil, err
		}
		used = append(used, t)
		from = to
	}
	return used, nil
}

func (m *memory) writeGroups(w *segmentWriter, used []uint32, memo *groupMemo, group Group) error {
	var keys texts
	var key []byte
	for _, t := range used {
		term := m.terms.at(t)
		if key = memo.appendGroup(key[:0], term, group); string(key) != string(term) {
			keys.add(append(append(key, 0), term...))
		}
	}
	for _, k := range keys.sorted() {
		if err := w.tw.add(keys.at(k), nil); err != nil {
			return err
		}
	}
	return nil
}
