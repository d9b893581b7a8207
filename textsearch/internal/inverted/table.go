package inverted

import (
	"bytes"
	"encoding/binary"
	"sort"
)

// A table is entries of key and value, sorted by key, in chunks of some kilobytes,
// with a directory of the chunks. A chunk is
//
//	entries   uvarint shared, uvarint rest, bytes of the key; uvarint size, value
//	restarts  uint32 for every restartEvery entries: where that entry begins, whose
//	          key is whole
//	count     uint32, of the entries
//
// where shared is how many bytes a key has in common with the one before it. All
// fixed-width numbers are little-endian.
const (
	restartEvery = 16
	chunkTarget  = 4 << 10
)

// tableWriter makes chunks and tells of each by done.
type tableWriter struct {
	done     func(first []byte, entries int, chunk []byte) error
	data     []byte
	restarts []uint32
	entries  int
	first    []byte
	last     []byte
}

func (w *tableWriter) add(key, value []byte) error {
	shared := 0
	if w.entries%restartEvery == 0 {
		w.restarts = append(w.restarts, uint32(len(w.data)))
	} else {
		shared = commonPrefix(w.last, key)
	}
	if w.entries == 0 {
		w.first = append(w.first[:0], key...)
	}
	w.data = binary.AppendUvarint(w.data, uint64(shared))
	w.data = binary.AppendUvarint(w.data, uint64(len(key)-shared))
	w.data = append(w.data, key[shared:]...)
	w.data = binary.AppendUvarint(w.data, uint64(len(value)))
	w.data = append(w.data, value...)
	w.last = append(w.last[:0], key...)
	w.entries++
	if len(w.data) >= chunkTarget {
		return w.flush()
	}
	return nil
}

// flush ends the chunk at hand.
func (w *tableWriter) flush() error {
	if w.entries == 0 {
		return nil
	}
	for _, at := range w.restarts {
		w.data = binary.LittleEndian.AppendUint32(w.data, at)
	}
	w.data = binary.LittleEndian.AppendUint32(w.data, uint32(w.entries))
	err := w.done(w.first, w.entries, bytes.Clone(w.data))
	w.data, w.restarts, w.entries = w.data[:0], w.restarts[:0], 0
	return err
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// chunk is a chunk for reading.
type chunk struct {
	data     []byte // entries
	restarts []byte
	entries  int
}

func readChunk(data []byte) (*chunk, error) {
	if len(data) < 4 {
		return nil, ErrCorrupt
	}
	entries := int(binary.LittleEndian.Uint32(data[len(data)-4:]))
	data = data[:len(data)-4]
	size := 4 * ((entries + restartEvery - 1) / restartEvery)
	if entries == 0 || size > len(data) {
		return nil, ErrCorrupt
	}
	at := len(data) - size
	return &chunk{data[:at:at], data[at:], entries}, nil
}

// size is about how many bytes a chunk keeps in memory.
func (c *chunk) size() int { return len(c.data) + len(c.restarts) + 64 }

// row is an entry where a cursor stands.
type row struct {
	key   []byte // good until the cursor moves
	value []byte
	at    int // which entry of the chunk it is
}

// rows is a cursor over a chunk.
type rows struct {
	chunk *chunk
	next  int // offset of the next entry
	row
}

// begin stands before the restart i, 0 being the first entry.
func (r *rows) begin(c *chunk, i int) bool {
	at := int(binary.LittleEndian.Uint32(c.restarts[4*i:]))
	if at > len(c.data) {
		return false
	}
	r.chunk, r.next, r.at, r.key = c, at, i*restartEvery-1, r.key[:0]
	return true
}

// more tells whether there is a next entry.
func (r *rows) more() bool { return r.at+1 < r.chunk.entries }

// step moves to the next entry, which there is. It returns false for bytes that
// are none.
func (r *rows) step() bool {
	shared, rest, value, n, ok := readEntry(r.chunk.data[r.next:])
	if !ok || shared > len(r.key) {
		return false
	}
	r.key = append(r.key[:shared], rest...)
	r.value = value
	r.next += n
	r.at++
	return true
}

// seek moves to the first entry whose key is at or above key. found is false when
// there is none in the chunk. No key on the way is put together: common is how much
// of key the last one had, and behind that it had a lesser byte, so that the next is
// told apart by what it has in common with the last.
func (r *rows) seek(c *chunk, key []byte) (found, ok bool) {
	i, ok := c.restartBefore(key)
	if !ok || !r.begin(c, i) {
		return false, false
	}
	common, size := 0, 0
	for r.more() {
		shared, rest, value, n, ok := readEntry(c.data[r.next:])
		if !ok || shared > size {
			return false, false
		}
		r.at++
		r.next += n
		switch {
		case shared < common:
			found = true
		case shared == common:
			more := commonPrefix(rest, key[common:])
			common += more
			found = common == len(key) || more < len(rest) && rest[more] > key[common]
		}
		if found {
			r.key = append(append(r.key[:0], key[:shared]...), rest...)
			r.value = value
			return true, true
		}
		size = shared + len(rest)
	}
	return false, true
}

// restartBefore returns the last restart whose key is at or below key, or the first.
func (c *chunk) restartBefore(key []byte) (i int, ok bool) {
	ok = true
	i = sort.Search(len(c.restarts)/4, func(i int) bool {
		at := int(binary.LittleEndian.Uint32(c.restarts[4*i:]))
		if at >= len(c.data) {
			ok = false
			return true
		}
		shared, first, _, _, whole := readEntry(c.data[at:])
		if shared != 0 || !whole {
			ok = false
			return true
		}
		return bytes.Compare(first, key) > 0
	})
	return max(i-1, 0), ok
}

// readEntry reads the entry that data begins with, of n bytes.
func readEntry(data []byte) (shared int, rest, value []byte, n int, ok bool) {
	head, n := binary.Uvarint(data)
	if n <= 0 || head >= 1<<31 {
		return 0, nil, nil, 0, false
	}
	size, m := binary.Uvarint(data[n:])
	if n += m; m <= 0 || size > uint64(len(data)-n) {
		return 0, nil, nil, 0, false
	}
	rest = data[n : n+int(size)]
	n += int(size)
	size, m = binary.Uvarint(data[n:])
	if n += m; m <= 0 || size > uint64(len(data)-n) {
		return 0, nil, nil, 0, false
	}
	value = data[n : n+int(size) : n+int(size)]
	return int(head), rest, value, n + int(size), true
}

// goTo moves to the entry of a number.
func (r *rows) goTo(c *chunk, at int) bool {
	if at >= c.entries || !r.begin(c, at/restartEvery) {
		return false
	}
	for r.at < at {
		if !r.step() {
			return false
		}
	}
	return true
}

// place is where a chunk stands in its table.
type place struct {
	first []byte // its first key
	from  uint32 // how many entries stand before it
	chunk uint32 // its number
}

// A directory is for each chunk: uvarint size, first key, uvarint entries.
func appendPlace(b, first []byte, entries int) []byte {
	b = binary.AppendUvarint(b, uint64(len(first)))
	b = append(b, first...)
	return binary.AppendUvarint(b, uint64(entries))
}

// readPlaces appends what a part of a directory says to places.
func readPlaces(places []place, entries *uint32, data []byte) ([]place, error) {
	for len(data) > 0 {
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) {
			return nil, ErrCorrupt
		}
		first := data[n : n+int(size) : n+int(size)]
		data = data[n+int(size):]
		count, n := binary.Uvarint(data)
		if n <= 0 || count > 1<<31 {
			return nil, ErrCorrupt
		}
		data = data[n:]
		places = append(places, place{first, *entries, uint32(len(places))})
		*entries += uint32(count)
	}
	return places, nil
}

// placeOf returns the index of the chunk that would hold key.
func placeOf(places []place, key []byte) int {
	i := sort.Search(len(places), func(i int) bool { return bytes.Compare(places[i].first, key) > 0 })
	return max(i-1, 0)
}

// placeAt returns the index of the chunk that holds the entry of a number.
func placeAt(places []place, number uint32) int {
	return sort.Search(len(places), func(i int) bool { return places[i].from > number }) - 1
}
