package inverted

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/crabstore/crabstore/kv"
)

// Segment is what the list of an index says of one of its segments.
type Segment struct {
	ID   uint64 `json:"id"`
	Docs uint32 `json:"docs"` // documents, those that are gone among them
	Dead uint32 `json:"dead,omitempty"`
	// Tip names the state of what is gone; it changes whenever that does.
	Tip uint64 `json:"tip,omitempty"`
}

// live is how many documents are there.
func (s *Segment) live() uint32 { return s.Docs - s.Dead }

// segment is a segment for reading.
type segment struct {
	Segment
	*shelf
	docs, terms, groups []place
}

// places are the directories of a segment.
type places struct{ docs, terms, groups []place }

// open returns a segment for reading.
func (s *shelf) open(ctx context.Context, info Segment) (*segment, error) {
	at := kv.CacheKey{ID: info.ID, Kind: 'S'}
	if v, ok := s.cache.Get(at); ok {
		p := v.(places)
		return &segment{info, s, p.docs, p.terms, p.groups}, nil
	}
	var p places
	size, entries := 0, uint32(0)
	for _, of := range []struct {
		table byte
		to    *[]place
	}{{docTable, &p.docs}, {termTable, &p.terms}, {groupTable, &p.groups}} {
		n, bytes, err := s.directory(ctx, info.ID, of.table, of.to)
		if err != nil {
			return nil, err
		}
		size += bytes
		if of.table == docTable {
			entries = n
		}
	}
	if entries != info.Docs {
		return nil, s.corrupt(info.ID, docPlaces, 0)
	}
	s.cache.Put(at, p, size+100)
	return &segment{info, s, p.docs, p.terms, p.groups}, nil
}

// directory reads the parts of the directory of a table.
func (s *shelf) directory(ctx context.Context, id uint64, table byte, to *[]place) (entries uint32, size int, err error) {
	for e, err := range s.tx.Scan(ctx, s.col, bytes.Clone(s.kindKey(id, placesOf(table)))) {
		if err != nil {
			return 0, 0, err
		}
		if *to, err = readPlaces(*to, &entries, e.Value); err != nil {
			return 0, 0, s.corrupt(id, placesOf(table), 0)
		}
		size += 3*len(e.Value) + 32*len(*to)
	}
	return entries, size, nil
}

func (s *segment) places(table byte) []place {
	switch table {
	case docTable:
		return s.docs
	case termTable:
		return s.terms
	}
	return s.groups
}

// cursor walks a table.
type cursor struct {
	seg    *segment
	table  byte
	places []place
	i      int // of the chunk at hand
	rows
	ready bool // rows stand on an entry that next has not returned
}

// seek returns a cursor in front of the first entry at or above key; nil is the
// first of all.
func (s *segment) seek(ctx context.Context, table byte, key []byte) (*cursor, error) {
	c := &cursor{seg: s, table: table, places: s.places(table)}
	return c, c.seek(ctx, key)
}

func (c *cursor) seek(ctx context.Context, key []byte) error {
	c.ready = false
	if len(c.places) == 0 {
		c.i = 0
		return nil
	}
	c.i = placeOf(c.places, key)
	chunk, err := c.load(ctx)
	if err != nil {
		return err
	}
	found, ok := c.rows.seek(chunk, key)
	if !ok {
		return c.corrupt()
	}
	if c.ready = found; !found {
		c.i++
		c.rows.chunk = nil
	}
	return nil
}

func (c *cursor) load(ctx context.Context) (*chunk, error) {
	return c.seg.chunk(ctx, c.seg.ID, c.table, c.places[c.i].chunk)
}

func (c *cursor) corrupt() error { return c.seg.corrupt(c.seg.ID, c.table, c.places[c.i].chunk) }

// next moves to the next entry and tells whether there is one.
func (c *cursor) next(ctx context.Context) (bool, error) {
	if c.ready {
		c.ready = false
		return true, nil
	}
	for c.i < len(c.places) {
		if c.rows.chunk != nil && c.more() {
			if !c.step() {
				return false, c.corrupt()
			}
			return true, nil
		}
		if c.rows.chunk != nil {
			c.i++
		}
		if c.i == len(c.places) {
			break
		}
		chunk, err := c.load(ctx)
		if err != nil {
			return false, err
		}
		if !c.begin(chunk, 0) {
			return false, c.corrupt()
		}
	}
	return false, nil
}

// number is that of the entry at hand, in its table.
func (c *cursor) number() uint32 { return c.places[c.i].from + uint32(c.at) }

// lookup returns the value of a key and its number; nil when it has none.
func (s *segment) lookup(ctx context.Context, table byte, key []byte) (value []byte, number uint32, err error) {
	c, err := s.seek(ctx, table, key)
	if err != nil || !c.ready || !bytes.Equal(c.key, key) {
		return nil, 0, err
	}
	return c.value, c.number(), nil
}

// find returns the postings of a term, nil when it has none.
func (s *segment) find(ctx context.Context, term string) (*List, error) {
	value, _, err := s.lookup(ctx, termTable, []byte(term))
	if value == nil || err != nil {
		return nil, err
	}
	return s.list(ctx, value, new(slab))
}

// members yields the terms of a group but for the one of its name.
func (s *segment) members(ctx context.Context, group string, yield func(term string)) error {
	return s.under(ctx, groupTable, groupKey(group, ""), func(key, _ []byte, _ uint32) (bool, error) {
		yield(string(key[len(group)+1:]))
		return true, nil
	})
}

// groupKey is the key by which a group leads to a term. No group holds the byte 0.
func groupKey(group, term string) []byte { return append(append([]byte(group), 0), term...) }

// under calls fn with every entry of a table whose key begins with prefix, until it
// returns false.
func (s *segment) under(ctx context.Context, table byte, prefix []byte, fn func(key, value []byte, number uint32) (bool, error)) error {
	c, err := s.seek(ctx, table, prefix)
	if err != nil {
		return err
	}
	for {
		more, err := c.next(ctx)
		if err != nil || !more || !bytes.HasPrefix(c.key, prefix) {
			return err
		}
		if more, err = fn(c.key, c.value, c.number()); err != nil || !more {
			return err
		}
	}
}

// doc returns the key of a document and its length.
func (s *segment) doc(ctx context.Context, number uint32) (key string, length uint64, err error) {
	i := placeAt(s.docs, number)
	if i < 0 || number >= s.Docs {
		return "", 0, s.shelf.corrupt(s.ID, docTable, 0)
	}
	p := s.docs[i]
	chunk, err := s.chunk(ctx, s.ID, docTable, p.chunk)
	if err != nil {
		return "", 0, err
	}
	var r rows
	if !r.goTo(chunk, int(number-p.from)) {
		return "", 0, s.shelf.corrupt(s.ID, docTable, p.chunk)
	}
	length, err = s.length(r.value)
	return string(r.key), length, err
}

func (s *segment) length(value []byte) (uint64, error) {
	length, n := binary.Uvarint(value)
	if n <= 0 {
		return 0, s.shelf.corrupt(s.ID, docTable, 0)
	}
	return length, nil
}

// number returns that of the document with a key, whether it is gone or not.
func (s *segment) number(ctx context.Context, key string) (number uint32, length uint64, ok bool, err error) {
	value, number, err := s.lookup(ctx, docTable, []byte(key))
	if value == nil || err != nil {
		return 0, 0, false, err
	}
	length, err = s.length(value)
	return number, length, err == nil, err
}

// docRange returns the numbers, from and up to but without to, of the documents
// whose keys begin with a prefix.
func (s *segment) docRange(ctx context.Context, prefix string) (from, to uint32, err error) {
	if prefix == "" {
		return 0, s.Docs, nil
	}
	if from, err = s.docsBefore(ctx, []byte(prefix)); err != nil {
		return 0, 0, err
	}
	end := kv.PrefixEnd([]byte(prefix))
	if end == nil {
		return from, s.Docs, nil
	}
	to, err = s.docsBefore(ctx, end)
	return from, to, err
}

// docsBefore returns how many documents have a key below one.
func (s *segment) docsBefore(ctx context.Context, key []byte) (uint32, error) {
	c, err := s.seek(ctx, docTable, key)
	if err != nil {
		return 0, err
	}
	more, err := c.next(ctx)
	if err != nil || !more {
		return s.Docs, err
	}
	return c.number(), nil
}

func (s *segment) norms(ctx context.Context, window uint32) (*Norms, error) {
	n, err := cached(ctx, s.shelf, s.ID, norms, window, readNorms)
	if err == nil && len(n.Lengths) != int(min(Window, s.Docs-window*Window)) {
		return nil, s.shelf.corrupt(s.ID, norms, window)
	}
	return n, err
}

// dead returns the documents of a window that are gone, nil when there are none.
func (s *segment) dead(ctx context.Context, window uint32) (*bitmap, error) {
	if s.Dead == 0 {
		return nil, nil
	}
	// The tip, and not the segment, names what the bitmap is like now.
	at := kv.CacheKey{ID: s.Tip, Kind: deadBits, N: window}
	if v, ok := s.cache.Get(at); ok {
		return v.(*bitmap), nil
	}
	b, err := s.shelf.dead(ctx, s.ID, window)
	if err == nil {
		s.cache.Put(at, b, Window/8+64)
	}
	return b, err
}
