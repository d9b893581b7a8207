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
//	mode       width of a packed number, or modeVarint, or modeRice and a width; with
//	           withFrequencies when these follow
//	numbers    each as its distance from the one before, less one: packed in that
//	           many bits, low bits first; or in uvarints; or by a Rice code, so many
//	           of the low bits of each packed, and behind these for each as many
//	           zeros as the rest of it says and a one. Where that width is 0 this is
//	           a bitmap.
//	frequencies  width byte, and each less one packed; or, with width sparse, a
//	           count byte and for each above one its place, a byte, and a uvarint
const (
	modeVarint      = 33
	modeRice        = 34 // and up to modeMask
	modeMask        = 0x3f
	withFrequencies = 0x80
	sparse          = 0xff
)

// appendBlock appends numbers, which ascend and lie above before, and their
// frequencies. The first block of a list lies above -1. One that is to be small takes
// half again as long to read.
func appendBlock(b []byte, before int64, numbers, frequencies []uint32, small bool) []byte {
	flag := byte(0)
	for _, f := range frequencies {
		if f != 1 {
			flag = withFrequencies
			break
		}
	}
	b = appendNumbers(b, flag, before, numbers, small)
	if flag != 0 {
		b = appendFrequencies(b, frequencies)
	}
	return b
}

// appendNumbers takes the smallest of the three forms; unless small, a Rice code only
// as a bitmap.
func appendNumbers(b []byte, flag byte, before int64, numbers []uint32, small bool) []byte {
	var all [blockSize]uint32
	gaps := all[:len(numbers)]
	either, inVarints := uint32(0), 0
	last := before
	for i, n := range numbers {
		gap := uint32(int64(n) - last - 1)
		gaps[i] = gap
		either |= gap
		inVarints += uvarintSize(gap)
		last = int64(n)
	}
	width := bits.Len32(either)
	packed := (width*len(numbers) + 7) / 8
	low, rice := 0, 0
	if small {
		low, rice = riceWidth(gaps, uint64(last-before))
	} else {
		rice = int((last - before + 7) / 8)
	}
	switch {
	case rice < packed && rice < inVarints:
		return appendRice(append(b, flag|byte(modeRice+low)), gaps, low, rice)
	case inVarints < packed:
		b = append(b, flag|modeVarint)
		for _, gap := range gaps {
			b = binary.AppendUvarint(b, uint64(gap))
		}
		return b
	}
	return appendPacked(append(b, flag|byte(width)), gaps, width)
}

// riceWidth returns how many low bits of each gap are packed in the smallest Rice
// code, and how many bytes that has. span is the sum of the gaps and one for each.
func riceWidth(gaps []uint32, span uint64) (low, size int) {
	// The best width is near the logarithm of the mean.
	mean := span / uint64(len(gaps))
	low = min(max(bits.Len64(mean)-2, 0), modeMask-modeRice-1)
	size = riceSize(gaps, low)
	if more := riceSize(gaps, low+1); more < size {
		return low + 1, more
	}
	return low, size
}

func riceSize(gaps []uint32, low int) int {
	zeros := uint64(0)
	for _, gap := range gaps {
		zeros += uint64(gap >> low)
	}
	return (len(gaps)*low+7)/8 + int((zeros+uint64(len(gaps))+7)/8)
}

func appendRice(b []byte, gaps []uint32, low, size int) []byte {
	var lows [blockSize]uint32
	for i, gap := range gaps {
		lows[i] = gap & (1<<low - 1)
	}
	end := len(b) + size
	b = appendPacked(b, lows[:len(gaps)], low)
	at := 8 * len(b) // in bits
	b = append(b, make([]byte, end-len(b))...)
	for _, gap := range gaps {
		at += int(gap >> low)
		b[at/8] |= 1 << (at % 8)
		at++
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
	case mode >= modeRice:
		return decodeRice(data, next, int(mode-modeRice), numbers)
	}
	return nil, false
}

func decodeRice(data []byte, next uint64, low int, numbers []uint32) (rest []byte, ok bool) {
	if low == 0 {
		return decodeBitmap(data, next, numbers)
	}
	if data, ok = unpack(data, low, numbers); !ok {
		return nil, false
	}
	// next is what the low bits and the ones add up to, and the zeros in front of a
	// one all that the others do.
	done, behind := 0, 0
	for at := 0; done < len(numbers); at += 64 {
		if at/8 >= len(data) {
			return nil, false
		}
		word := littleEndian(data[at/8:])
		left := numbers[done:]
		left = left[:min(bits.OnesCount64(word), len(left))]
		zeros := uint64(at - done)
		for i, v := range left {
			one := bits.TrailingZeros64(word)
			word &= word - 1
			next += uint64(v)
			left[i] = uint32(next + (zeros+uint64(one-i))<<(low&63))
			next++
			behind = at + one + 1
		}
		done += len(left)
	}
	return data[(behind+7)/8:], next+uint64(behind-done)<<low <= 1<<32
}

func decodeBitmap(data []byte, base uint64, numbers []uint32) (rest []byte, ok bool) {
	done, behind := 0, 0
	for at := 0; done < len(numbers); at += 64 {
		if at/8 >= len(data) {
			return nil, false
		}
		word := littleEndian(data[at/8:])
		left := numbers[done:]
		left = left[:min(bits.OnesCount64(word), len(left))]
		for i := range left {
			behind = at + bits.TrailingZeros64(word)
			left[i] = uint32(base) + uint32(behind)
			word &= word - 1
		}
		done += len(left)
	}
	return data[behind/8+1:], base+uint64(behind) < 1<<32
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
	mask := uint64(1)<<width - 1
	i, at := 0, uint(0) // at is in bits
	if width <= 8 {
		// Eight values are in so many bytes, and come of one load.
		rest := data
		for ; i+8 <= len(values) && len(rest) >= 8; i += 8 {
			word, to := binary.LittleEndian.Uint64(rest), values[i:i+8:i+8]
			to[0] = uint32(word & mask)
			to[1] = uint32(word >> width & mask)
			to[2] = uint32(word >> (2 * width) & mask)
			to[3] = uint32(word >> (3 * width) & mask)
			to[4] = uint32(word >> (4 * width) & mask)
			to[5] = uint32(word >> (5 * width) & mask)
			to[6] = uint32(word >> (6 * width) & mask)
			to[7] = uint32(word >> (7 * width) & mask)
			rest = rest[width:]
		}
		at = uint(i * width)
	}
	for ; i < len(values) && at/8+8 <= uint(len(data)); i++ {
		values[i] = uint32(binary.LittleEndian.Uint64(data[at/8:]) >> (at & 7) & mask)
		at += uint(width)
	}
	for ; i < len(values); i++ {
		values[i] = uint32(littleEndian(data[at/8:]) >> (at & 7) & mask)
		at += uint(width)
	}
	return data[size:], true
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
