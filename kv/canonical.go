package kv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// canonical returns the msgpack value in data with the entries of every map, at
// any depth, sorted by the bytes of their keys. It refuses NaN and infinities
// with ErrUnstorable. data is one whole value, as the encoder made it.
func canonical(data []byte) ([]byte, error) {
	c := canonicalizer{in: data, out: make([]byte, 0, len(data))}
	if err := c.value(0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnstorable, err)
	}
	return c.out, nil
}

// checkWhole tells whether data is one msgpack value and nothing more. The
// decoder takes memory for as many items as a length claims; after this check no
// length claims more than there are bytes.
func checkWhole(data []byte) error {
	c := canonicalizer{in: data}
	if err := c.skip(0); err != nil {
		return err
	}
	if c.at < len(data) {
		return fmt.Errorf("%d bytes behind the value", len(data)-c.at)
	}
	return nil
}

type canonicalizer struct {
	in      []byte
	at      int
	out     []byte
	spans   []span // of the maps around what is at at
	scratch []byte // for sort
}

// maxDepth bounds how deep a value nests, so that neither encoding nor reading
// one can exhaust the stack.
const maxDepth = 1000

func (c *canonicalizer) value(depth int) error {
	head, size, kind, err := c.next(depth)
	if err != nil {
		return err
	}
	switch kind {
	case isMap:
		c.copy(head)
		return c.mapEntries(size, depth)
	case isArray:
		c.copy(head)
		for range size {
			if err := c.value(depth + 1); err != nil {
				return err
			}
		}
		return nil
	}
	if err := c.finite(); err != nil {
		return err
	}
	c.copy(head + size)
	return nil
}

// skip passes over a value.
func (c *canonicalizer) skip(depth int) error {
	head, size, kind, err := c.next(depth)
	if err != nil {
		return err
	}
	if kind == isScalar {
		c.at += head + size
		return nil
	}
	c.at += head
	if kind == isMap {
		size *= 2
	}
	for range size {
		if err := c.skip(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

// next reads the first bytes of the value at c.at: how many they are, and how
// many bytes (of a scalar), items (of an array) or entries (of a map) follow. All
// that it tells is checked against the bytes there are.
func (c *canonicalizer) next(depth int) (head, size int, kind valueKind, err error) {
	if depth > maxDepth {
		return 0, 0, 0, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	left := c.in[c.at:]
	if len(left) == 0 {
		return 0, 0, 0, fmt.Errorf("the value ends early, at byte %d", c.at)
	}
	f := formOf(left[0])
	if head = 1 + f.width; head > len(left) || left[0] == 0xc1 {
		return 0, 0, 0, fmt.Errorf("code %02x at byte %d of %d", left[0], c.at, len(c.in))
	}
	size = f.fixed
	for i, b := range left[1:head] {
		size += int(b) << (8 * (f.width - 1 - i))
	}
	if size < 0 || size > len(left)-head { // less than zero where int has 32 bits
		return 0, 0, 0, fmt.Errorf("%d bytes or items follow byte %d of %d", size, c.at, len(c.in))
	}
	return head, size, f.kind, nil
}

func (c *canonicalizer) copy(n int) {
	c.out = append(c.out, c.in[c.at:c.at+n]...)
	c.at += n
}

// span is where an entry of a map lies in out: its key from from to value, its
// value from there to to.
type span struct{ from, value, to int }

// mapEntries canonicalizes n entries into out, and puts them in order there.
func (c *canonicalizer) mapEntries(n, depth int) error {
	start, first := len(c.out), len(c.spans)
	sorted := true
	for i := range n {
		s := span{from: len(c.out)}
		if err := c.value(depth + 1); err != nil {
			return err
		}
		s.value = len(c.out)
		if err := c.value(depth + 1); err != nil {
			return err
		}
		s.to = len(c.out)
		sorted = sorted && (i == 0 || c.compare(c.spans[first+i-1], s) < 0)
		c.spans = append(c.spans, s)
	}
	if !sorted {
		c.sort(c.spans[first:], start)
	}
	c.spans = c.spans[:first]
	return nil
}

// sort puts the entries that out holds from start on in order.
func (c *canonicalizer) sort(spans []span, start int) {
	slices.SortFunc(spans, c.compare)
	c.scratch = slices.Grow(c.scratch[:0], len(c.out)-start)
	for _, s := range spans {
		c.scratch = append(c.scratch, c.out[s.from:s.to]...)
	}
	copy(c.out[start:], c.scratch)
}

// compare compares two entries by the bytes of their keys: a string's own, without
// its length.
func (c *canonicalizer) compare(a, b span) int {
	return bytes.Compare(
		c.out[a.from+keyHead(c.out[a.from]):a.value],
		c.out[b.from+keyHead(c.out[b.from]):b.value])
}

// keyHead is the length of what stands before the bytes of a string, and 0 for a
// key of another type, which sorts by its whole encoding.
func keyHead(code byte) int {
	switch {
	case code >= 0xa0 && code <= 0xbf:
		return 1
	case code >= 0xd9 && code <= 0xdb:
		return 1 + 1<<(code-0xd9)
	}
	return 0
}

// finite refuses a float that is NaN or infinite.
func (c *canonicalizer) finite() error {
	var f float64
	switch c.in[c.at] {
	case 0xca:
		f = float64(math.Float32frombits(binary.BigEndian.Uint32(c.in[c.at+1:])))
	case 0xcb:
		f = math.Float64frombits(binary.BigEndian.Uint64(c.in[c.at+1:]))
	default:
		return nil
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("the number %v", f)
	}
	return nil
}

type valueKind int

const (
	isScalar valueKind = iota
	isArray
	isMap
)

// form is how a value begins: code, then width bytes that count what follows,
// then fixed bytes more. Where width is 0, fixed counts the items of an array or
// the entries of a map.
type form struct {
	kind         valueKind
	width, fixed int
}

// formOf reads the table of the msgpack specification, section Formats.
func formOf(code byte) form {
	switch {
	case code >= 0x80 && code <= 0x8f:
		return form{isMap, 0, int(code & 15)}
	case code >= 0x90 && code <= 0x9f:
		return form{isArray, 0, int(code & 15)}
	case code >= 0xa0 && code <= 0xbf:
		return form{isScalar, 0, int(code & 31)}
	case code >= 0xc4 && code <= 0xc6: // bin 8, 16, 32
		return form{isScalar, 1 << (code - 0xc4), 0}
	case code >= 0xc7 && code <= 0xc9: // ext 8, 16, 32, and its type
		return form{isScalar, 1 << (code - 0xc7), 1}
	case code == 0xca || code == 0xce || code == 0xd2: // float 32, uint 32, int 32
		return form{isScalar, 0, 4}
	case code == 0xcb || code == 0xcf || code == 0xd3: // float 64, uint 64, int 64
		return form{isScalar, 0, 8}
	case code == 0xcc || code == 0xd0: // uint 8, int 8
		return form{isScalar, 0, 1}
	case code == 0xcd || code == 0xd1: // uint 16, int 16
		return form{isScalar, 0, 2}
	case code >= 0xd4 && code <= 0xd8: // fixext 1, 2, 4, 8, 16, and its type
		return form{isScalar, 0, 1 + 1<<(code-0xd4)}
	case code >= 0xd9 && code <= 0xdb: // str 8, 16, 32
		return form{isScalar, 1 << (code - 0xd9), 0}
	case code == 0xdc || code == 0xdd: // array 16, 32
		return form{isArray, 2 << (code - 0xdc), 0}
	case code == 0xde || code == 0xdf: // map 16, 32
		return form{isMap, 2 << (code - 0xde), 0}
	}
	return form{} // fixint, nil, booleans
}
