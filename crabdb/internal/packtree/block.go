package packtree

import (
	"encoding/binary"
	"math/bits"
)

// block is a run of entries in ascending key order, front-coded: an entry
// states how many bytes its key shares with the key before it, and holds the
// rest. The leaves of a tree are blocks, and so are the separators of a branch
// (there the values have no bytes).
//
//	block    width u8 | count u16 | count entries
//	entry    shared uvarint | rest uvarint | value | rest of the key
//	value    width bytes, little-endian; the same width, 0 to 8, in all entries
//
// A uvarint is the one of encoding/binary, in its shortest form; u16 is
// little-endian. shared is exact: an entry shares neither fewer nor more bytes
// with the one before it than it says, and the first shares none. Search and
// the edits depend on that. Keys are distinct, so only the first key of a block
// can be empty.
//
// car = 1, cart = 300, cat = 2 make these 20 bytes, with two bytes to a value
// because 300 needs them:
//
//	02 03 00
//	00 03 01 00 63 61 72    shares 0, 3 more, value 1,   "car"
//	03 01 2c 01 74          shares 3, 1 more, value 300, "t"
//	02 01 02 00 74          shares 2, 1 more, value 2,   "t"
//
// A block that a View can reach is never changed.
type block []byte

// headerSize is the width and the count: where the first entry begins.
const headerSize = 3

// emptyBlock returns the header of a block without entries.
func emptyBlock(width int) block { return block{byte(width), 0, 0} }

func (b block) width() int { return int(b[0]) }

func (b block) count() int { return int(b[1]) | int(b[2])<<8 }

func (b block) setCount(n int) { b[1], b[2] = byte(n), byte(n>>8) }

// entry says where the parts of one entry lie in its block.
type entry struct {
	shared int // bytes of its key that the key before it begins with
	value  int // where its value begins
	rest   int // where the rest of its key begins
	next   int // where it ends and the next entry begins
}

func (b block) entry(offset int) entry {
	shared, rest, value := b.lengths(offset)
	key := value + b.width()
	return entry{shared: shared, value: value, rest: key, next: key + rest}
}

// lengths decodes the two lengths of the entry at offset, and says where they
// end. One byte each is the rule: search spends its time here.
func (b block) lengths(offset int) (shared, rest, end int) {
	s, r := b[offset], b[offset+1]
	if s|r < 0x80 {
		return int(s), int(r), offset + 2
	}
	return b.longLengths(offset)
}

func (b block) longLengths(offset int) (shared, rest, end int) {
	s, n := binary.Uvarint(b[offset:])
	offset += n
	r, n := binary.Uvarint(b[offset:])
	return int(s), int(r), offset + n
}

// valueAt returns the value whose bytes begin at offset.
func (b block) valueAt(offset int) uint64 {
	width := b.width()
	if offset+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[offset:]) & (1<<(8*width) - 1)
	}
	var v uint64
	for i := width - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[offset+i])
	}
	return v
}

// valueWidth returns how many bytes v needs.
func valueWidth(v uint64) int { return (bits.Len64(v) + 7) / 8 }

// place is where a key stands, or would be inserted, in a block.
type place struct {
	offset int  // of the first entry whose key is not less, or the block's end
	index  int  // of that entry
	before int  // bytes that the key shares with the entry before offset
	after  int  // bytes that the key shares with the entry at offset
	found  bool // that entry's key is the key
}

// search finds key by one pass over the block. It never rebuilds a key. It
// knows how many bytes (match) key shares with the entry it last passed, which
// is less than key, and by that alone settles most entries:
//
//   - one that shares more than match with its predecessor differs from key
//     where the predecessor did, so it is less too, by the same match;
//   - one that shares less than match is greater than its predecessor where
//     key is not, so it is greater than key;
//   - only one that shares exactly match has to be compared, from there on.
//
// Where an entry ends depends on bytes that have to be loaded, one entry after
// the other. In a run of like keys one length repeats (usual), and testing for
// it lets the processor go ahead on the guess, in little more than half the time.
func (b block) search(key []byte) place {
	width, match := b.width(), 0
	offset, index := headerSize, 0
	usual, stride := 1, 2+width+1
	for offset+1 < len(b) {
		shared, rest, value := int(b[offset]), int(b[offset+1]), offset+2
		if shared > match && rest == usual && shared|rest < 0x80 {
			offset += stride
			index++
			continue
		}
		if shared|rest >= 0x80 {
			shared, rest, value = b.longLengths(offset)
		}
		next := value + width + rest
		if shared < match {
			return place{offset: offset, index: index, before: match, after: shared}
		}
		if shared == match {
			n, order := compare(b[value+width:next], key[match:])
			if order >= 0 {
				return place{offset, index, match, match + n, order == 0}
			}
			match += n
		}
		offset, usual, stride = next, rest, 2+width+rest
		index++
	}
	return place{offset: offset, index: index, before: match}
}

// compare returns how many bytes a and b begin with alike, and how they compare.
func compare(a, b []byte) (alike, order int) {
	if len(a) > 0 && len(b) > 0 && a[0] != b[0] { // the common case
		return 0, int(a[0]) - int(b[0])
	}
	n := commonPrefix(a, b)
	if n < len(a) && n < len(b) {
		return n, int(a[n]) - int(b[n])
	}
	return n, len(a) - len(b)
}

// keyBefore rebuilds, in buf, the key of the entry that ends at end.
func (b block) keyBefore(end int, buf []byte) []byte {
	buf = buf[:0]
	for offset := headerSize; offset < end; {
		e := b.entry(offset)
		buf = append(buf[:e.shared], b[e.rest:e.next]...)
		offset = e.next
	}
	return buf
}

// offsetOf returns where the entry with the given index begins.
func (b block) offsetOf(index int) int {
	offset := headerSize
	for range index {
		offset = b.entry(offset).next
	}
	return offset
}

// indexOf returns how many entries come before offset.
func (b block) indexOf(offset int) int {
	index := 0
	for at := headerSize; at < offset; at = b.entry(at).next {
		index++
	}
	return index
}

// commonPrefix returns how many bytes a and b begin with alike.
func commonPrefix(a, b []byte) int {
	limit, n := min(len(a), len(b)), 0
	for ; n+8 <= limit; n += 8 {
		diff := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:])
		if diff != 0 {
			return n + bits.TrailingZeros64(diff)/8
		}
	}
	for n < limit && a[n] == b[n] {
		n++
	}
	return n
}
