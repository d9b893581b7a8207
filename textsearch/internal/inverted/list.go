package inverted

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/crabstore/crabstore/kv"
)

// A list of postings is in the table of terms when it is short:
//
//	uvarint count<<1, block
//
// and else lies in the values of kind postings, where the table says:
//
//	uvarint count<<1 | 1, uvarint value, uvarint offset
//
// There is, at the offset, a uvarint with the size of the skip table, that table,
// and the blocks. For each block it says
//
//	uvarint last<<1 | next   how far the last number is from that of the block before,
//	                         less one; next when the block begins the next value
//	uvarint size             in bytes
//	best                     the pairs that count most: see appendBest; not of an index
//	                         that is unranked
const (
	shortList      = 32
	postingsTarget = 16 << 10
	maxBest        = 4
)

// Best is a frequency and a length of which a document of a block has no more and
// no less.
type Best struct {
	Frequency uint32
	Length    byte
}

// Block is what is known of a block without reading it.
type Block struct {
	First, Last uint32 // no number is outside
	Count       int
	Best        []Best  // every posting is at or below one of them; nil when unknown
	Weight      float64 // no document has more; 0 when unknown

	before       int64
	chunk        uint32
	offset, size int
}

// List is the postings of a term in one source.
type List struct {
	Count  uint32  // of postings, documents that are gone among them
	Blocks []Block // of a list that is in memory none

	numbers, frequencies []uint32 // of one that is
	source               *segment
}

// Parts is how many parts can be read of a list: its blocks, or all of it at once
// when it is in memory.
func (l *List) Parts() int { return max(len(l.Blocks), 1) }

// Read returns the postings of the part i, in memory of the list or in buffers.
func (l *List) Read(ctx context.Context, i int, buffers *Buffers) (numbers, frequencies []uint32, err error) {
	if l.numbers != nil {
		return l.numbers, l.frequencies, nil
	}
	b := &l.Blocks[i]
	data, err := l.source.bytes(ctx, l.source.ID, postings, b.chunk)
	if err != nil {
		return nil, nil, err
	}
	numbers, frequencies = buffers.numbers[:b.Count], buffers.frequencies[:b.Count]
	if b.offset+b.size > len(data) || !decodeBlock(data[b.offset:b.offset+b.size], b.before, numbers, frequencies) ||
		numbers[b.Count-1] != b.Last {
		return nil, nil, l.source.corrupt(l.source.ID, postings, b.chunk)
	}
	return numbers, frequencies, nil
}

// InMemory returns all of a list that is in memory.
func (l *List) InMemory() (numbers, frequencies []uint32, ok bool) {
	return l.numbers, l.frequencies, l.numbers != nil
}

// Has tells whether a document is in the list.
func (l *List) Has(ctx context.Context, number uint32) (bool, error) {
	i := 0
	if l.numbers == nil {
		i = sort.Search(len(l.Blocks), func(i int) bool { return l.Blocks[i].Last >= number })
		if i == len(l.Blocks) || l.Blocks[i].First > number {
			return false, nil
		}
	}
	var buffers Buffers
	numbers, _, err := l.Read(ctx, i, &buffers)
	if err != nil {
		return false, err
	}
	_, has := slices.BinarySearch(numbers, number)
	return has, nil
}

// Buffers are what a block is read into.
type Buffers struct{ numbers, frequencies [blockSize]uint32 }

// All returns the buffers, for a block of postings.
func (b *Buffers) All() (numbers, frequencies []uint32) { return b.numbers[:], b.frequencies[:] }

// Cap is how many postings they have room for.
func (b *Buffers) Cap() int { return blockSize }

// slab is memory for many small lists, so that they cost few allocations.
type slab struct {
	lists []List
	words []uint32
}

// list returns an empty list.
func (s *slab) list() *List {
	if len(s.lists) == cap(s.lists) {
		s.lists = make([]List, 0, 2*cap(s.lists)+4)
	}
	s.lists = append(s.lists, List{})
	return &s.lists[len(s.lists)-1]
}

// take returns room for n numbers.
func (s *slab) take(n int) []uint32 {
	if cap(s.words)-len(s.words) < n {
		s.words = make([]uint32, 0, max(n, min(2*cap(s.words), 1<<14)))
	}
	at := len(s.words)
	s.words = s.words[:at+n]
	return s.words[at : at+n : at+n]
}

// reset takes all that was given out back.
func (s *slab) reset() { s.lists, s.words = s.lists[:0], s.words[:0] }

// listWriter writes lists of postings into a segment.
type listWriter struct {
	unranked bool
	put      func(n uint32, value []byte) error
	norm     func(number uint32) (length byte, weight float64)
	chunk    uint32 // number of the value at hand
	data     []byte // of it
	skip     []byte
	body     [][]byte // the blocks, those of one value together
}

// add writes a list and returns its value in the table of terms.
func (w *listWriter) add(value []byte, numbers, frequencies []uint32) ([]byte, error) {
	if len(numbers) <= shortList {
		value = binary.AppendUvarint(value, uint64(len(numbers))<<1)
		return appendBlock(value, -1, numbers, frequencies, w.unranked), nil
	}
	w.encode(numbers, frequencies)
	head := binary.AppendUvarint(nil, uint64(len(w.skip)))
	if room := postingsTarget - len(w.data); len(w.data) > 0 && len(head)+len(w.skip)+len(w.body[0]) > room {
		if err := w.flush(); err != nil {
			return nil, err
		}
	}
	value = binary.AppendUvarint(value, uint64(len(numbers))<<1|1)
	value = binary.AppendUvarint(value, uint64(w.chunk))
	value = binary.AppendUvarint(value, uint64(len(w.data)))
	w.data = append(append(append(w.data, head...), w.skip...), w.body[0]...)
	for _, blocks := range w.body[1:] {
		if err := w.flush(); err != nil {
			return nil, err
		}
		w.data = append(w.data, blocks...)
	}
	if len(w.data) >= postingsTarget {
		return value, w.flush()
	}
	return value, nil
}

// encode sets skip and body.
func (w *listWriter) encode(numbers, frequencies []uint32) {
	w.skip = w.skip[:0]
	for i := range w.body {
		w.body[i] = w.body[i][:0]
	}
	w.body = w.body[:min(len(w.body), 1)]
	if len(w.body) == 0 {
		w.body = append(w.body, nil)
	}
	before := int64(-1)
	for len(numbers) > 0 {
		n := min(blockSize, len(numbers))
		last := &w.body[len(w.body)-1]
		next := uint64(0)
		if len(*last) >= postingsTarget {
			w.body = append(w.body, nil)
			last, next = &w.body[len(w.body)-1], 1
		}
		size := len(*last)
		*last = appendBlock(*last, before, numbers[:n], frequencies[:n], w.unranked)
		size = len(*last) - size
		end := int64(numbers[n-1])
		w.skip = binary.AppendUvarint(w.skip, uint64(end-before-1)<<1|next)
		w.skip = binary.AppendUvarint(w.skip, uint64(size))
		if !w.unranked {
			w.skip = w.appendBest(w.skip, numbers[:n], frequencies[:n])
		}
		before = end
		numbers, frequencies = numbers[n:], frequencies[n:]
	}
}

// flush writes the value at hand.
func (w *listWriter) flush() error {
	if len(w.data) == 0 {
		return nil
	}
	err := w.put(w.chunk, slices.Clone(w.data))
	w.chunk++
	w.data = w.data[:0]
	return err
}

// appendBest appends of the pairs of frequency and length those that no other one is
// better than, at most maxBest, as a count, and a uvarint and a byte each, and the
// greatest weight, a float64, unless that is 1, which the highest bit of the count
// says. A pair that is better than several stands for them where they are too many.
func (w *listWriter) appendBest(b []byte, numbers, frequencies []uint32) []byte {
	best, n, greatest := w.best(numbers, frequencies)
	for n > maxBest {
		// Join the two that are nearest in length.
		at := 0
		for i := range n - 1 {
			if best[i+1].Length-best[i].Length < best[at+1].Length-best[at].Length {
				at = i
			}
		}
		best[at].Frequency = best[at+1].Frequency
		copy(best[at+1:n-1], best[at+2:n])
		n--
	}
	count := byte(n)
	if greatest != 1 {
		count |= 0x80
	}
	b = append(b, count)
	for _, p := range best[:n] {
		b = append(binary.AppendUvarint(b, uint64(p.Frequency)), p.Length)
	}
	if greatest != 1 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(greatest))
	}
	return b
}

// best returns the pairs of a block that no other one is better than, and the greatest
// weight.
func (w *listWriter) best(numbers, frequencies []uint32) (best [blockSize]Best, n int, greatest float64) {
	// Of the lowest frequencies, which are nearly all, the shortest document is enough.
	const low = 8
	var shortest [low]int
	for i := range shortest {
		shortest[i] = -1
	}
	for i, number := range numbers {
		length, weight := w.norm(number)
		greatest = max(greatest, weight)
		f := frequencies[i]
		if f >= low {
			n = insertBest(best[:], n, Best{f, length})
		} else if at := &shortest[f]; *at < 0 || *at > int(length) {
			*at = int(length)
		}
	}
	for f, length := range shortest {
		if length >= 0 {
			n = insertBest(best[:], n, Best{uint32(f), byte(length)})
		}
	}
	return best, n, greatest
}

// insertBest keeps best[:n] ascending by length and by frequency.
func insertBest(best []Best, n int, p Best) int {
	at := 0
	for at < n && best[at].Length < p.Length {
		at++
	}
	if at > 0 && best[at-1].Frequency >= p.Frequency || at < n && best[at].Length == p.Length && best[at].Frequency >= p.Frequency {
		return n
	}
	worse := at
	for worse < n && best[worse].Frequency <= p.Frequency {
		worse++
	}
	copy(best[at+1:], best[worse:n])
	best[at] = p
	return n - (worse - at) + 1
}

// list reads the value of a term.
func (s *segment) list(ctx context.Context, value []byte, from *slab) (*List, error) {
	head, n := binary.Uvarint(value)
	count := head >> 1
	if n <= 0 || count == 0 || count > uint64(s.Docs) {
		return nil, ErrCorrupt
	}
	value = value[n:]
	if head&1 == 0 {
		if count > shortList {
			return nil, ErrCorrupt
		}
		l := from.list()
		l.Count, l.numbers, l.frequencies = uint32(count), from.take(int(count)), from.take(int(count))
		if !decodeBlock(value, -1, l.numbers, l.frequencies) || l.numbers[count-1] >= s.Docs {
			return nil, ErrCorrupt
		}
		return l, nil
	}
	chunk, n := binary.Uvarint(value)
	if n <= 0 {
		return nil, ErrCorrupt
	}
	offset, m := binary.Uvarint(value[n:])
	if m <= 0 || offset >= postingsTarget || chunk >= 1<<18 {
		return nil, ErrCorrupt
	}
	return s.longList(ctx, uint32(count), uint32(chunk), int(offset))
}

// longList returns a list by its place. It is kept, since reading the skip table of
// a common word costs more than the rest of a search.
func (s *segment) longList(ctx context.Context, count, chunk uint32, offset int) (*List, error) {
	at := kv.CacheKey{ID: s.ID, Kind: 'L', N: chunk<<14 | uint32(offset)}
	if l, ok := s.cache.Get(at); ok {
		return &List{Count: count, Blocks: l.([]Block), source: s}, nil
	}
	data, err := s.bytes(ctx, s.ID, postings, chunk)
	if err != nil {
		return nil, err
	}
	blocks, ok := readSkips(data, int(count), chunk, offset, !s.unranked)
	if !ok || blocks[len(blocks)-1].Last >= s.Docs {
		return nil, s.corrupt(s.ID, postings, chunk)
	}
	s.cache.Put(at, blocks, len(blocks)*120)
	return &List{Count: count, Blocks: blocks, source: s}, nil
}

func readSkips(data []byte, count int, chunk uint32, offset int, ranked bool) (blocks []Block, ok bool) {
	if offset >= len(data) {
		return nil, false
	}
	size, n := binary.Uvarint(data[offset:])
	if n <= 0 || size > uint64(len(data)-offset-n) {
		return nil, false
	}
	table := data[offset+n : offset+n+int(size)]
	at := offset + n + int(size)
	n = (count + blockSize - 1) / blockSize
	if n > len(table) {
		return nil, false
	}
	blocks = make([]Block, 0, n)
	var bests []Best // of all blocks
	if ranked {
		bests = make([]Best, 0, 2*n)
	}
	before := int64(-1)
	for left := count; left > 0; left -= blockSize {
		b := Block{before: before, First: uint32(before + 1), Count: min(left, blockSize), chunk: chunk}
		last, n := binary.Uvarint(table)
		if n <= 0 || last>>1 > 1<<32 {
			return nil, false
		}
		size, m := binary.Uvarint(table[n:])
		if m <= 0 || size > 16*blockSize {
			return nil, false
		}
		before += int64(last>>1) + 1
		if before >= 1<<32 {
			return nil, false
		}
		if last&1 != 0 {
			chunk, at = chunk+1, 0
			b.chunk = chunk
		}
		b.Last, b.offset, b.size = uint32(before), at, int(size)
		at += int(size)
		table = table[n+m:]
		if ranked {
			b.Weight = 1
			if table, ok = b.readBest(table, &bests); !ok {
				return nil, false
			}
		}
		blocks = append(blocks, b)
	}
	return blocks, len(table) == 0
}

// readBest reads the best pairs, which it appends to all.
func (b *Block) readBest(table []byte, all *[]Best) (rest []byte, ok bool) {
	if len(table) == 0 {
		return nil, false
	}
	from := len(*all)
	count, table := table[0], table[1:]
	for range count & 0x7f {
		f, n := binary.Uvarint(table)
		if n <= 0 || n >= len(table) || f > 1<<32-1 {
			return nil, false
		}
		*all = append(*all, Best{uint32(f), table[n]})
		table = table[n+1:]
	}
	b.Best = (*all)[from:len(*all):len(*all)]
	if count&0x80 != 0 {
		if len(table) < 8 {
			return nil, false
		}
		b.Weight = math.Float64frombits(binary.LittleEndian.Uint64(table))
		table = table[8:]
	}
	return table, count&0x7f > 0 && count&0x7f <= maxBest
}
