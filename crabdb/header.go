package crabdb

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The header, little-endian:
//
//	 0  magic     6  "CRMEM\0"
//	 6  version   4  1
//	10  flags     2  bit 0: sealed
//	12  reserved  4  plain: 0; sealed: CRC-32C of the header with these four bytes zero
//	16  index_at  8  where the index snapshot begins, 0 if there is none
//	24  index_len 8  its length in bytes; index_at + index_len is the watermark
const (
	headerSize = 32
	magic      = "CRMEM\x00"
	version    = 1

	flagSealed = 1 << 0
)

// castagnoli is CRC-32C, RFC 3720 appendix B.4.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is what the first 32 bytes of a file say.
type header struct {
	sealed   bool
	indexAt  int64
	indexLen int64
	damaged  bool // the checksum does not fit, or the numbers cannot be: trust only sealed
}

// watermark is the offset below which everything was synced when the header was
// written: bad bytes below it are corruption, and not a tail torn by a crash.
func (h header) watermark() int64 {
	if h.indexAt == 0 {
		return headerSize
	}
	return h.indexAt + h.indexLen
}

func (h header) encode() []byte {
	b := make([]byte, headerSize)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[6:], version)
	binary.LittleEndian.PutUint64(b[16:], uint64(h.indexAt))
	binary.LittleEndian.PutUint64(b[24:], uint64(h.indexLen))
	if h.sealed {
		binary.LittleEndian.PutUint16(b[10:], flagSealed)
		binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b, castagnoli))
	}
	return b
}

// decodeHeader reads a header. It fails for what is no store, or one that this
// version does not know; damage that leaves the records readable is told in the
// header's damaged.
func decodeHeader(path string, b []byte) (header, error) {
	if len(b) < headerSize || string(b[:len(magic)]) != magic {
		return header{}, fmt.Errorf("%w: %s: it does not begin with %q", ErrNotStore, path, magic)
	}
	if v := binary.LittleEndian.Uint32(b[6:]); v != version {
		return header{}, fmt.Errorf("%w: %s has format version %d, this program knows %d", ErrVersion, path, v, version)
	}
	flags := binary.LittleEndian.Uint16(b[10:])
	if unknown := flags &^ flagSealed; unknown != 0 {
		return header{}, fmt.Errorf("%w: %s has the unknown flags %#x", ErrVersion, path, unknown)
	}
	h := header{
		sealed:   flags&flagSealed != 0,
		indexAt:  int64(binary.LittleEndian.Uint64(b[16:])),
		indexLen: int64(binary.LittleEndian.Uint64(b[24:])),
	}
	reserved := binary.LittleEndian.Uint32(b[12:])
	if !h.sealed && reserved != 0 {
		return header{}, corrupt(path, 12, "the reserved bytes of a plain header are %#x, not 0", reserved)
	}
	h.damaged = !h.possible() || h.sealed && reserved != headerSum(b)
	return h, nil
}

// possible tells whether the two numbers can name a snapshot at all. They are
// checked against the file's length by who loads it.
func (h header) possible() bool {
	if h.indexAt == 0 {
		return h.indexLen == 0
	}
	return h.indexAt >= headerSize && h.indexLen > 0 && h.indexAt <= MaxFile && h.indexLen <= MaxFile
}

func headerSum(b []byte) uint32 {
	var zeroed [headerSize]byte
	copy(zeroed[:], b[:headerSize])
	clear(zeroed[12:16])
	return crc32.Checksum(zeroed[:], castagnoli)
}
