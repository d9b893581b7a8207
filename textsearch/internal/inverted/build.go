package inverted

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
)

// segmentWriter writes the values of a segment: first the documents in the order of
// their keys, then the terms and the groups in theirs. It can be given up between
// two calls of cut and gone on with by another.
type segmentWriter struct {
	ctx   context.Context
	shelf *shelf
	state writerState

	norms  normsWriter
	places []byte // of the table at hand
	table  byte
	tw     tableWriter
	lists  listWriter
	value  []byte
}

// writerState is how far a segment is written.
type writerState struct {
	ID     uint64 `json:"id"`
	Docs   uint32 `json:"docs"`
	Chunks uint32 `json:"chunks"` // of the table at hand
	Values uint32 `json:"values"` // of postings
	Parts  uint32 `json:"parts"`  // of the directory of the table at hand
}

func newSegmentWriter(ctx context.Context, s *shelf, state writerState, table byte) *segmentWriter {
	w := &segmentWriter{ctx: ctx, shelf: s, state: state, table: table}
	w.tw.done = w.chunkDone
	w.lists = listWriter{unranked: s.unranked, chunk: state.Values, put: func(n uint32, value []byte) error {
		return s.put(ctx, state.ID, postings, n, value)
	}}
	return w
}

func (w *segmentWriter) chunkDone(first []byte, entries int, chunk []byte) error {
	w.places = appendPlace(w.places, first, entries)
	err := w.shelf.put(w.ctx, w.state.ID, w.table, w.state.Chunks, chunk)
	w.state.Chunks++
	return err
}

// addDoc writes a document. Windows of norms have to be whole before a cut.
func (w *segmentWriter) addDoc(key []byte, length uint64, weight float64) error {
	w.norms.add(uint32(min(length, 1<<32-1)), weight)
	w.value = binary.AppendUvarint(w.value[:0], length)
	if err := w.tw.add(key, w.value); err != nil {
		return err
	}
	w.state.Docs++
	if w.norms.full() {
		return w.flushNorms()
	}
	return nil
}

func (w *segmentWriter) flushNorms() error {
	if len(w.norms.lengths) == 0 {
		return nil
	}
	window := (w.state.Docs - 1) / Window
	return w.shelf.put(w.ctx, w.state.ID, norms, window, w.norms.take())
}

func (w *segmentWriter) addTerm(term []byte, numbers, frequencies []uint32) (err error) {
	if w.value, err = w.lists.add(w.value[:0], numbers, frequencies); err != nil {
		return err
	}
	return w.tw.add(term, w.value)
}

// cut writes what is held back.
func (w *segmentWriter) cut() error {
	if err := w.flushNorms(); err != nil {
		return err
	}
	if err := w.tw.flush(); err != nil {
		return err
	}
	if err := w.lists.flush(); err != nil {
		return err
	}
	w.state.Values = w.lists.chunk
	if len(w.places) == 0 {
		return nil
	}
	err := w.shelf.put(w.ctx, w.state.ID, placesOf(w.table), w.state.Parts, w.places)
	w.state.Parts++
	w.places = w.places[:0]
	return err
}

// begin goes on to the next table.
func (w *segmentWriter) begin(table byte) error {
	if err := w.cut(); err != nil {
		return err
	}
	w.table, w.state.Chunks, w.state.Parts = table, 0, 0
	return nil
}

// memory gathers documents and their postings, to make a segment of them or to
// write them one by one.
type memory struct {
	numbers  map[string]uint32 // of terms
	terms    []string
	docs     []memoryDoc
	at       map[string]int // where in docs the document of a key is
	postings []memoryPosting
	gone     int // of docs
}

type memoryDoc struct {
	key      string
	length   uint64
	weight   float64
	from, to int // in postings
	gone     bool
}

type memoryPosting struct{ term, frequency uint32 }

func newMemory() *memory {
	return &memory{numbers: make(map[string]uint32, 64), at: map[string]int{}}
}

// add adds a document, in place of one with its key.
func (m *memory) add(d *Document) {
	m.drop(d.Key)
	from := len(m.postings)
	for _, t := range d.Terms {
		n, known := m.numbers[t.Text]
		if !known {
			n = uint32(len(m.terms))
			text := string([]byte(t.Text)) // what it is a part of is not kept
			m.terms = append(m.terms, text)
			m.numbers[text] = n
		}
		m.postings = append(m.postings, memoryPosting{n, t.Frequency})
	}
	m.at[d.Key] = len(m.docs)
	m.docs = append(m.docs, memoryDoc{key: d.Key, length: d.Length, weight: d.Weight, from: from, to: len(m.postings)})
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
func (m *memory) write(ctx context.Context, s *shelf, id uint64, group func(string) string) (Segment, error) {
	docs := m.inOrder()
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
	if err := writeGroups(w, used, group); err != nil {
		return Segment{}, err
	}
	return Segment{ID: id, Docs: w.state.Docs}, w.cut()
}

// writeTerms writes the terms that the documents have and returns them, sorted.
func (m *memory) writeTerms(w *segmentWriter, docs []*memoryDoc) (used []string, err error) {
	ends := make([]int, len(m.terms)+1) // by term: how many postings; then where they begin; then where they end
	for _, d := range docs {
		for _, p := range m.postings[d.from:d.to] {
			ends[p.term]++
		}
	}
	total := 0
	for i, n := range ends {
		ends[i] = total
		total += n
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
	for _, t := range m.sortedTerms() {
		from, to := 0, ends[t]
		if t > 0 {
			from = ends[t-1]
		}
		if from == to {
			continue
		}
		if err := w.addTerm([]byte(m.terms[t]), numbers[from:to], frequencies[from:to]); err != nil {
			return nil, err
		}
		used = append(used, m.terms[t])
	}
	return used, nil
}

// sortedTerms returns the numbers of the terms in the order of these.
func (m *memory) sortedTerms() []uint32 {
	type begun struct {
		begin  uint64
		number uint32
	}
	all := make([]begun, len(m.terms))
	for i, t := range m.terms {
		all[i] = begun{keyBegin(t), uint32(i)}
	}
	slices.SortFunc(all, func(a, b begun) int {
		if a.begin != b.begin {
			return cmp.Compare(a.begin, b.begin)
		}
		return cmp.Compare(m.terms[a.number], m.terms[b.number])
	})
	numbers := make([]uint32, len(all))
	for i, t := range all {
		numbers[i] = t.number
	}
	return numbers
}

// keyBegin is the first eight bytes of a key, or as many as it has and zeros, as a
// number that is no greater than that of a greater key. Most keys are told apart by
// it, at a tenth of the cost.
func keyBegin[T string | []byte](key T) uint64 {
	begin := uint64(0)
	for i := range min(len(key), 8) {
		begin |= uint64(key[i]) << (56 - 8*i)
	}
	return begin
}

func writeGroups(w *segmentWriter, terms []string, group func(string) string) error {
	if group == nil {
		return nil
	}
	var keys []string
	for _, t := range terms {
		if g := group(t); g != t {
			keys = append(keys, string(groupKey(g, t)))
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if err := w.tw.add([]byte(k), nil); err != nil {
			return err
		}
	}
	return nil
}
