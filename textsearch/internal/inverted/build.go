package inverted

import (
	"context"
	"encoding/binary"
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
