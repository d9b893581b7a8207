package crabdb

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A record, little-endian:
//
//	op u8 | col u8 | key_len u32 | key | val_len u32 | value | crc u32
//
// The last field is there in sealed files only: the CRC-32C of all that stands
// before it in the record and of the record's offset in the file as a u64, so
// that a record's bytes at another place are no record.
//
//	op 0  put      the value of a key
//	op 1  delete   the key is gone; the value is empty
//	op 2  batch    sealed only: the key is a u32 that counts the records, puts and
//	               deletes, each sealed on its own, of which the value consists
//	op 3  snapshot sealed only: the value is the index as it is at this place
const (
	opPut      = 0
	opDelete   = 1
	opBatch    = 2
	opSnapshot = 3

	recordFrame = 1 + 1 + 4 + 4 // without key, value and checksum
	sumSize     = 4
	valueAtKey  = 1 + 1 + 4 // where the key begins in a record
	batchKey    = 4         // length of a batch's key
)

// The limits, in bytes. MaxKey is the plain format's own; packages above set
// lower ones. MaxFile is what an index entry can address.
const (
	MaxKey   = 64 << 10
	MaxValue = 1 << 30
	MaxFile  = 1<<40 - 1
)

// record is one decoded record. Its slices are parts of what it was decoded from.
type record struct {
	op    byte
	col   byte
	key   []byte
	value []byte
	size  int // of the whole record, in bytes
}

// layout is how records are laid out in one file.
type layout struct{ sealed bool }

func (l layout) size(key, value int) int {
	n := recordFrame + key + value
	if l.sealed {
		n += sumSize
	}
	return n
}

// check tells whether a put can be written.
func (l layout) check(col byte, key, value []byte) error {
	switch {
	case len(key) > MaxKey:
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrKeyTooLarge, len(key), MaxKey)
	case len(value) > MaxValue:
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrValueTooLarge, len(value), MaxValue)
	case !l.sealed && col == 0 && len(key) == 0 && len(value) == 0:
		return ErrEndMark
	}
	return nil
}

// appendRecord appends a record that will stand at offset.
func (l layout) appendRecord(b []byte, offset int64, op, col byte, key, value []byte) []byte {
	start := len(b)
	b = append(b, op, col)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(key)))
	b = append(b, key...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(value)))
	b = append(b, value...)
	if l.sealed {
		b = binary.LittleEndian.AppendUint32(b, recordSum(b[start:], offset))
	}
	return b
}

// recordSum is the checksum of a record's bytes before the checksum, and of its
// offset. The offset goes through tables here, since handing its bytes to
// crc32.Update would cost an allocation a record.
func recordSum(b []byte, offset int64) uint32 {
	x := ^crc32.Checksum(b, castagnoli) ^ uint32(offset)
	high := uint32(offset >> 32)
	return ^(behind[7][byte(x)] ^ behind[6][byte(x>>8)] ^ behind[5][byte(x>>16)] ^ behind[4][x>>24] ^
		behind[3][byte(high)] ^ behind[2][byte(high>>8)])
}

// behind[n] is the table of the polynomial with n zero bytes behind: what a byte adds
// to the checksum of the eight that it is the first, second, ... of. MaxFile leaves the
// last two of an offset zero.
var behind = func() (t [8]crc32.Table) {
	t[0] = *castagnoli
	for n := 1; n < len(t); n++ {
		for i, sum := range t[n-1] {
			t[n][i] = castagnoli[byte(sum)] ^ sum>>8
		}
	}
	return t
}()

// fault is why bytes are no record.
type fault string

const (
	tooShort  fault = "the record is cut short"
	unknownOp fault = "the operation is unknown"
	badSum    fault = "the checksum does not fit"
	badShape  fault = "the lengths do not fit the operation"
	tooLong   fault = "its key is longer than a key can be"
	endOfLog  fault = "zero bytes end the log"

	cutSnapshot fault = "an index snapshot is cut short"
)

// lengths reads the lengths of the key and the value of the record at the start of
// b, if b holds as much.
func (l layout) lengths(b []byte) (key int, value int64, ok bool) {
	if len(b) < valueAtKey {
		return 0, 0, false
	}
	n := int64(binary.LittleEndian.Uint32(b[2:]))
	if valueAtKey+n+4 > int64(len(b)) {
		return 0, 0, false
	}
	return int(n), int64(binary.LittleEndian.Uint32(b[valueAtKey+n:])), true
}

// decode reads the record at the start of b, which is all of it and stands at
// offset. It checks everything that a record says of itself but not a batch's
// parts.
func (l layout) decode(b []byte, offset int64) (record, fault) {
	key, long, ok := l.lengths(b)
	if !ok || int64(l.size(key, 0))+long > int64(len(b)) {
		return record{}, tooShort
	}
	value := int(long)
	r := record{op: b[0], col: b[1], size: l.size(key, value)}
	r.key = b[valueAtKey : valueAtKey+key : valueAtKey+key]
	at := recordFrame + key
	r.value = b[at : at+value : at+value]
	if l.sealed {
		end := r.size - sumSize
		if binary.LittleEndian.Uint32(b[end:]) != recordSum(b[:end], offset) {
			return record{}, badSum
		}
	}
	return r, l.shape(r)
}

// shape checks that the lengths of a record are those of its operation.
func (l layout) shape(r record) fault {
	ok := len(r.key) <= MaxKey
	switch {
	case r.op == opPut:
		ok = ok && len(r.value) <= MaxValue
		if !l.sealed && r.col == 0 && len(r.key) == 0 && len(r.value) == 0 {
			return endOfLog
		}
	case r.op == opDelete:
		ok = ok && len(r.value) == 0
	case r.op == opBatch && l.sealed:
		ok = len(r.key) == batchKey
	case r.op == opSnapshot && l.sealed:
		ok = len(r.key) == 0
	default:
		return unknownOp
	}
	if !ok {
		return badShape
	}
	return ""
}

// meant tells whether bytes with a fault have a checksum that fits: then they were
// written so, and no crash tore them.
func (l layout) meant(bad fault) bool { return l.sealed && (bad == unknownOp || bad == badShape) }

// eachInBatch calls fn with the parts of a batch that stands at offset, and the
// offset of each. It tells whether they are as many and as long as they should be.
func (l layout) eachInBatch(batch record, offset int64, fn func(part record, offset int64)) bool {
	b, at := batch.value, offset+recordFrame+batchKey
	n := binary.LittleEndian.Uint32(batch.key)
	for ; n > 0 && len(b) > 0; n-- {
		part, bad := l.decode(b, at)
		if bad != "" || part.op > opDelete {
			return false
		}
		fn(part, at)
		b, at = b[part.size:], at+int64(part.size)
	}
	return n == 0 && len(b) == 0
}

// location is where a record stands and how long it is: what the index holds for
// a key.
//
//	offset (48 bits) | size (16 bits)
//
// A size that does not fit is unknownSize, and is read from the record.
type location uint64

const unknownSize = 1<<16 - 1

func locate(offset int64, size int) location {
	return location(offset)<<16 | location(min(size, unknownSize))
}

func (l location) offset() int64 { return int64(l >> 16) }

// size is the record's length in bytes, if known.
func (l location) size() (int, bool) {
	n := int(l & unknownSize)
	return n, n != unknownSize
}
