package packtree

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// maxCount bounds the entries of a leaf from outside, well above what a tree
// puts into one and below what the count can state.
const maxCount = 1 << 14

// validate checks a leaf that came from outside the process. It returns the last
// key, in buf's memory if that is enough, or ErrInvalidLeaf with the offset in
// the leaf of what is wrong. What it accepts can be searched, iterated and
// edited, and is the only encoding of those entries at that width: at least one,
// in strictly ascending order.
//
// It cannot tell whether the values make sense, nor notice a change that
// leaves the bytes well formed: for that the file has checksums.
func (b block) validate(buf []byte) (last []byte, err error) {
	switch {
	case len(b) < headerSize:
		return nil, invalid(len(b), "it ends inside its header")
	case b.width() > 8:
		return nil, invalid(0, "values of %d bytes", b.width())
	case b.count() == 0 || b.count() > maxCount:
		return nil, invalid(1, "%d entries", b.count())
	}
	key, offset := buf[:0], headerSize
	for i := range b.count() {
		if key, offset, err = b.validateEntry(offset, i, key); err != nil {
			return nil, err
		}
	}
	if offset != len(b) {
		return nil, invalid(offset, "%d bytes after the last entry", len(b)-offset)
	}
	return key, nil
}

// validateEntry checks the entry at offset, whose predecessor's key is before,
// and returns its key, in before's memory, and where it ends.
func (b block) validateEntry(offset, index int, before []byte) (key []byte, next int, err error) {
	shared, n := uvarint(b[offset:])
	rest, m := uvarint(b[offset+n:])
	if n == 0 || m == 0 {
		return nil, 0, invalid(offset, "a length is cut off, too great or not in its shortest form")
	}
	value := offset + n + m
	if left := len(b) - value - b.width(); left < 0 || rest > uint64(left) {
		return nil, 0, invalid(offset, "an entry with %d bytes of key ends outside the leaf", rest)
	}
	start := value + b.width()
	next = start + int(rest)
	suffix := b[start:next]
	switch {
	case shared > uint64(len(before)):
		return nil, 0, invalid(offset, "a key shares %d bytes with one of %d", shared, len(before))
	case index > 0 && bytes.Compare(suffix, before[shared:]) <= 0:
		return nil, 0, invalid(offset, "a key does not follow the one before it")
	case shared < uint64(len(before)) && suffix[0] == before[shared]:
		return nil, 0, invalid(offset, "a key shares more than the %d bytes stated", shared)
	}
	return append(before[:shared], suffix...), next, nil
}

// uvarint decodes a length in its shortest form; n is 0 if there is none.
func uvarint(b []byte) (v uint64, n int) {
	v, n = binary.Uvarint(b)
	if n <= 0 || (n > 1 && b[n-1] == 0) {
		return 0, 0
	}
	return v, n
}

func invalid(offset int, format string, args ...any) error {
	return fmt.Errorf("%w: offset %d: %s", ErrInvalidLeaf, offset, fmt.Sprintf(format, args...))
}
