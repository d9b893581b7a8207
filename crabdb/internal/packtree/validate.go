package packtree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// maxCount bounds the entries of a leaf from outside, well above what a tree
// puts into one and below what the count can state.
const maxCount = 1 << 14

// Entry is what there is to an entry of a leaf beside its key's bytes.
type Entry struct {
	KeyLen int // in bytes
	Value  uint64
}

// validate checks a leaf that came from outside the process. It returns its
// entries and the last key, in the memory of list and buf if that is enough; or
// ErrInvalidLeaf with the offset in the leaf of what is wrong. What it accepts can
// be searched, iterated and edited, and is the only encoding of those entries at
// that width: at least one, in strictly ascending order.
//
// It cannot tell whether the values make sense, nor notice a change that
// leaves the bytes well formed: for that the file has checksums.
//
// Opening a store spends its time here, some nanoseconds an entry, and therefore
// the loop calls nothing. Of the key before, which is rebuilt in buf, one byte has
// to be looked at: the two keys are alike up to it, and differ there.
func (b block) validate(buf []byte, list []Entry) (entries []Entry, last []byte, err error) {
	if err := b.validateHeader(); err != nil {
		return nil, nil, err
	}
	count, width, offset := b.count(), b.width(), headerSize
	key, entries := buf[:0], slices.Grow(list[:0], count)[:count]
	for i := range entries {
		if offset+2 > len(b) {
			return nil, nil, invalid(offset, "an entry is cut off")
		}
		shared, rest, value := int(b[offset]), int(b[offset+1]), offset+2
		if shared|rest >= 0x80 {
			if shared, rest, value = b.validLengths(offset); value == 0 {
				return nil, nil, invalid(offset, "a length is cut off, too great or not in its shortest form")
			}
		}
		start := value + width
		if rest > len(b)-start {
			return nil, nil, invalid(offset, "an entry with %d bytes of key ends outside the leaf", rest)
		}
		if shared > len(key) || rest == 0 && i > 0 || shared < len(key) && b[start] <= key[shared] {
			return nil, nil, misplaced(offset, key, shared, b[start:start+rest])
		}
		key = appendShort(key[:shared], b[start:], rest)
		entries[i] = Entry{KeyLen: len(key), Value: b.valueAt(value)}
		offset = start + rest
	}
	if offset != len(b) {
		return nil, nil, invalid(offset, "%d bytes after the last entry", len(b)-offset)
	}
	return entries, key, nil
}

// appendShort appends the first n bytes of b to key, a word at once where there is
// room to.
func appendShort(key, b []byte, n int) []byte {
	if end := len(key) + 8; n <= 8 && len(b) >= 8 && end <= cap(key) {
		binary.LittleEndian.PutUint64(key[len(key):end], binary.LittleEndian.Uint64(b))
		return key[:len(key)+n]
	}
	return append(key, b[:n]...)
}

func (b block) validateHeader() error {
	switch {
	case len(b) < headerSize:
		return invalid(len(b), "it ends inside its header")
	case b.width() > 8:
		return invalid(0, "values of %d bytes", b.width())
	case b.count() == 0 || b.count() > maxCount:
		return invalid(1, "%d entries", b.count())
	}
	return nil
}

// misplaced says why a key that shares so many bytes with the one before it, and
// has suffix besides, cannot follow it.
func misplaced(offset int, before []byte, shared int, suffix []byte) error {
	switch {
	case shared > len(before):
		return invalid(offset, "a key shares %d bytes with one of %d", shared, len(before))
	case bytes.Compare(suffix, before[shared:]) <= 0:
		return invalid(offset, "a key does not follow the one before it")
	}
	return invalid(offset, "a key shares more than the %d bytes stated", shared)
}

// validLengths decodes the two lengths of the entry at offset, and says where
// they end: 0 if they are none.
func (b block) validLengths(offset int) (shared, rest, end int) {
	s, n := uvarint(b[offset:])
	r, m := uvarint(b[offset+n:])
	if n == 0 || m == 0 {
		return 0, 0, 0
	}
	return s, r, offset + n + m
}

// uvarint decodes a length in its shortest form; n is 0 if there is none.
func uvarint(b []byte) (v, n int) {
	u, n := binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 || u > math.MaxInt {
		return 0, 0
	}
	return int(u), n
}

func invalid(offset int, format string, args ...any) error {
	return fmt.Errorf("%w: offset %d: %s", ErrInvalidLeaf, offset, fmt.Sprintf(format, args...))
}
