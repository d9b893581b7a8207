package packtree

import (
	"encoding/binary"
	"slices"
)

// The edits change the bytes of a block where its capacity allows and return
// it, as append does; whoever calls one owns the block. Those that say they
// return a new block leave the old one alone.

// maxHead is the most bytes that an entry takes beside its key: two lengths of
// less than 4 GiB and a value.
const maxHead = 2*binary.MaxVarintLen32 + 8

// clone returns a copy of b with room for extra more bytes.
func (b block) clone(extra int) block {
	return append(emptyWithRoom(len(b)+extra), b...)
}

// emptyWithRoom returns a slice of length 0 that holds size bytes, and an eighth
// more so that few inserts have to allocate, but not past the size at which a
// leaf splits. The capacity is one that the allocator has, so that none of what
// it hands out goes unused or uncounted.
func emptyWithRoom(size int) block {
	if size < leafBytes {
		size = min(size+size/8, leafBytes)
	}
	return slices.Grow(block(nil), size)
}

// trimmed returns b, in new memory if it fills less than half of what it has.
func (b block) trimmed() block {
	if len(b) < cap(b)/2 {
		return b.clone(0)
	}
	return b
}

// setValueAt stores v, which fits the block's width, at offset.
func (b block) setValueAt(offset int, v uint64) {
	for i := range b.width() {
		b[offset+i] = byte(v >> (8 * i))
	}
}

// appendHead appends an entry's lengths and its value in width bytes.
func appendHead(dst []byte, shared, rest, width int, value uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(shared))
	dst = binary.AppendUvarint(dst, uint64(rest))
	for range width {
		dst = append(dst, byte(value))
		value >>= 8
	}
	return dst
}

// insert adds key where search(key) did not find it, at p. The value fits the
// block's width.
func (b block) insert(p place, key []byte, value uint64) block {
	var scratch [128]byte
	width, end := b.width(), p.offset
	part := appendHead(scratch[:0], p.before, len(key)-p.before, width, value)
	part = append(part, key[p.before:]...)
	if p.offset < len(b) {
		// The entry after it now follows key, and shares no less with it.
		e := b.entry(p.offset)
		end = e.rest + p.after - e.shared
		part = appendHead(part, p.after, e.next-end, width, b.valueAt(e.value))
	}
	b = b.splice(p.offset, end, part)
	b.setCount(b.count() + 1)
	return b
}

// remove drops the entry at offset, and gives memory back once half is unused.
func (b block) remove(offset int) block {
	var scratch [128]byte
	gone, part := b.entry(offset), scratch[:0]
	end := gone.next
	if end < len(b) {
		// The entry after it may have shared bytes that only this one held.
		e := b.entry(end)
		if lost := e.shared - gone.shared; lost > 0 {
			end = e.rest
			part = appendHead(part, gone.shared, lost+e.next-e.rest, b.width(), b.valueAt(e.value))
			part = append(part, b[gone.rest:gone.rest+lost]...)
		}
	}
	b = b.splice(offset, end, part)
	b.setCount(b.count() - 1)
	return b.trimmed()
}

// splice puts part in the place of b[from:to].
func (b block) splice(from, to int, part []byte) block {
	old, size := b, len(b)-(to-from)+len(part)
	if size > cap(b) {
		b = append(emptyWithRoom(size), b[:from]...)
	}
	b = b[:size]
	copy(b[from+len(part):], old[to:])
	copy(b[from:], part)
	return b
}

// add appends an entry whose key is greater than the last one's and shares
// exactly shared bytes with it.
func (b block) add(shared int, key []byte, value uint64) block {
	b = appendHead(b, shared, len(key)-shared, b.width(), value)
	b = append(b, key[shared:]...)
	b.setCount(b.count() + 1)
	return b
}

// widened returns a new block with the same entries and wider values.
func (b block) widened(width int) block {
	grown := emptyWithRoom(len(b) + b.count()*(width-b.width()))
	grown = append(grown, byte(width), b[1], b[2])
	for offset := headerSize; offset < len(b); {
		e := b.entry(offset)
		grown = appendHead(grown, e.shared, e.next-e.rest, width, b.valueAt(e.value))
		grown = append(grown, b[e.rest:e.next]...)
		offset = e.next
	}
	return grown
}

// middle returns where to split a block of two entries or more for two parts as
// equal in bytes as can be.
func (b block) middle() int {
	half := (headerSize + len(b)) / 2
	offset := b.entry(headerSize).next
	for {
		next := b.entry(offset).next
		if next == len(b) || next-half >= half-offset {
			return offset
		}
		offset = next
	}
}

// split returns two new blocks, the first with the entries that end at offset,
// the second with those that begin there, of which there is one at least. Its
// first key comes along, with the bytes it shares with the key before it: that
// many and one more are the shortest separator of the two.
func (b block) split(offset int) (left, right block, first []byte, shared int) {
	e := b.entry(offset)
	first = b.keyBefore(e.next, nil)
	index := b.indexOf(offset)
	left = b[:offset].clone(0)
	left.setCount(index)
	right = append(emptyWithRoom(len(b)-offset+e.shared+maxHead), emptyBlock(b.width())...)
	right = right.add(0, first, b.valueAt(e.value))
	right = append(right, b[e.next:]...)
	right.setCount(b.count() - index)
	return left, right, first, e.shared
}

// join returns a new block with the entries of b and then those of next, all of
// which are greater.
func (b block) join(next block) block {
	width := max(b.width(), next.width())
	if b.width() < width {
		b = b.widened(width)
	}
	if next.width() < width {
		next = next.widened(width)
	}
	if next.count() == 0 {
		return b.clone(0)
	}
	e := next.entry(headerSize)
	first := next[e.rest:e.next]
	shared := commonPrefix(b.keyBefore(len(b), nil), first)
	joined := b.clone(len(next) + maxHead)
	joined = joined.add(shared, first, next.valueAt(e.value))
	joined = append(joined, next[e.next:]...)
	joined.setCount(b.count() + next.count())
	return joined.trimmed()
}
