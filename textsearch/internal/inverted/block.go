package inverted

import (
	"encoding/binary"
	"math/bits"
)

// blockSize is how many postings a block has; the last one of a list may have
// fewer.
const blockSize = 128

// A block is a mode byte, the numbers of documents and, unless all are one, the
// frequencies:
//
//	mode       width of a packed number, or modeVarint or modeBitmap; with
//	           withFrequencies when these follow
//	numbers    each as its distance from the one before, less one: packed in that
//	           many bits, low bits first; or in uvarints; or as a bitmap with a
//	           uvarint in front that says how many bytes it has
//	frequencies  width byte, and each less one packed; or, with width sparse, a
//	           count byte and for each above one its place, a byte, and a uvarint
const (
	modeVarint      = 33
	modeBitmap      = 34
	modeMask        = 0x3f
	withFrequencies = 0x80
	sparse          = 0xff
)

// appendBlock appends numbers, which ascend and lie above before, and their
// frequencies. The first block of a list lies above -1.
func appendBlock(b []byte, before int64, numbers, frequencies []uint32) []byte {
	flag := byte(0)
	for _, f := range frequencies {
		if f != 1 {
			flag = withFrequencies
			break
		}
	}
	b = appendNumbers(b, flag, before, numbers)
	if flag != 0 {
		b = appendFrequencies(b, frequencies)
	}
	return b
}

// appendNumbers takes the smallest of the three forms.
func appendNumbers(b []byte, flag byte, before int64, numbers []uint32) []byte {
	var gaps [blockSize]uint32
	all, inVarints := uint32(0), 0
	last := before
	for i, n := range numbers {
		gap := uint32(int64(n) - last - 1)
		gaps[i] = gap
		all |= gap
		inVarints += uvarintSize(gap)
		last = int64(n)
	}
	width := bits.Len32(all)
	packed := (width*len(numbers) + 7) / 8
	span := last - before // bits of a bitmap
	bitmap := int((span+7)/8) + 2
	switch {
	case bitmap < packed && bitmap < inVarints && span <= 1<<17:
		b = append(b, flag|modeBitmap)
		return appendBitmap(b, before, int(span+7)/8, numbers)
	case inVarints < packed:
		b = append(b, flag|modeVarint)
		for _, gap := range gaps[:len(numbers)] {
			b = binary.AppendUvarint(b, uint64(gap))
		}
		return b
	}
	return appendPacked(append(b, flag|byte(width)), gaps[:len(numbers)], width)
}

func appendBitmap(b []byte, before int64, size int, numbers []uint32) []byte {
	b = binary.AppendUvarint(b, uint64(size))
	at := len(b)
	b = append(b, make([]byte, size)...)
	for _, n := range numbers {
		i := int64(n) - before - 1
		b[at+int(i/8)] |= 1 << (i % 8)
	}
	return b
}

func appendPacked(b []byte, values []uint32, width int) []byte {
	if width == 0 {
		return b
	}
	acc, have := uint64(0), 0
	for _, v := range values {
		acc |= uint64(v) << have
		for have += width; have >= 8; have -= 8 {
			b = append(b, byte(acc))
			acc >>= 8
		}
	}
	if have > 0 {
		b = append(b, byte(acc))
	}
	return b
}

func appendFrequencies(b []byte, frequencies []uint32) []byte {
	all, above, list := uint32(0), 0, 1
	for _, f := range frequencies {
		all |= f - 1
		if f > 1 {
			above++
			list += 1 + uvarintSize(f-1)
		}
	}
	width := bits.Len32(all)
	if (width*len(frequencies)+7)/8 <= list {
		var less [blockSize]uint32
		for i, f := range frequencies {
			less[i] = f - 1
		}
		return appendPacked(append(b, byte(width)), less[:len(frequencies)], width)
	}
	b = append(b, sparse, byte(above))
	for i, f := range frequencies {
		if f > 1 {
			b = binary.AppendUvarint(append(b, byte(i)), uint64(f-1))
		}
	}
	return b
}

// decodeBlock reads a block of len(numbers) postings above before. What is behind
// it in data is not looked at. It returns false for bytes that are no such block.
func decodeBlock(data []byte, before int64, numbers, frequencies []uint32) bool {
	if len(data) == 0 {
		return false
	}
	mode := data[0]
	rest, ok := decodeNumbers(data[1:], mode&modeMask, before, numbers)
	if !ok {
		return false
	}
	if mode&withFrequencies != 0 {
		return decodeFrequencies(rest, frequencies)
	}
	for i := range frequencies {
		frequencies[i] = 1
	}
	return true
}

func decodeNumbers(data []byte, mode byte, before int64, numbers []uint32) (rest []byte, ok bool) {
	next := uint64(before + 1)
	switch {
	case mode <= 32:
		if rest, ok = unpack(data, int(mode), numbers); !ok {
			return nil, false
		}
		for i, gap := range numbers {
			next += uint64(gap)
			numbers[i] = uint32(next)
			next++
		}
		return rest, next <= 1<<32
	case mode == modeVarint:
		for i := range numbers {
			gap, n := binary.Uvarint(data)
			if n <= 0 || gap > 1<<32-1 {
				return nil, false
			}
			data = data[n:]
			next += gap
			numbers[i] = uint32(next)
			next++
		}
		return data, next <= 1<<32
	case mode == modeBitmap:
		return decodeBitmap(data, next, numbers)
	}
	return nil, false
}

func decodeBitmap(data []byte, base uint64, numbers []uint32) (rest []byte, ok bool) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) || base+8*size > 1<<32 {
		return nil, false
	}
	bitmap, rest := data[n:n+int(size)], data[n+int(size):]
	found := 0
	for at := 0; at < len(bitmap); at += 8 {
		word := littleEndian(bitmap[at:])
		for ; word != 0; word &= word - 1 {
			if found == len(numbers) {
				return nil, false
			}
			numbers[found] = uint32(base) + uint32(at*8+bits.TrailingZeros64(word))
			found++
		}
	}
	return rest, found == len(numbers)
}

// littleEndian reads up to eight bytes.
func littleEndian(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	word := uint64(0)
	for i, c := range b {
		word |= uint64(c) << (8 * i)
	}
	return word
}

func unpack(data []byte, width int, values []uint32) (rest []byte, ok bool) {
	size := (width*len(values) + 7) / 8
	if size > len(data) {
		return nil, false
	}
	packed, rest := data[:size], data[size:]
	mask := uint64(1)<<width - 1
	acc, have := uint64(0), 0
	for i := range values {
		if have < width {
			if len(packed) >= 4 {
				acc |= uint64(binary.LittleEndian.Uint32(packed)) << have
				have += 32
				packed = packed[4:]
			} else {
				acc |= littleEndian(packed) << have
				have += 8 * len(packed)
				packed = nil
			}
		}
		values[i] = uint32(acc & mask)
		acc >>= width
		have -= width
	}
	return rest, true
}

func decodeFrequencies(data []byte, frequencies []uint32) bool {
	if len(data) == 0 {
		return false
	}
	width, data := data[0], data[1:]
	if width != sparse {
		if width > 32 {
			return false
		}
		_, ok := unpack(data, int(width), frequencies)
		for i := range frequencies {
			frequencies[i]++
		}
		return ok
	}
	for i := range frequencies {
		frequencies[i] = 1
	}
	if len(data) == 0 {
		return false
	}
	above, data := int(data[0]), data[1:]
	for range above {
		if len(data) == 0 {
			return false
		}
		f, n := binary.Uvarint(data[1:])
		at := int(data[0])
		if n <= 0 || at >= len(frequencies) || f > 1<<32-2 {
			return false
		}
		frequencies[at] = uint32(f) + 1
		data = data[1+n:]
	}
	return true
}

func uvarintSize(v uint32) int { return (bits.Len32(v|1) + 6) / 7 }
