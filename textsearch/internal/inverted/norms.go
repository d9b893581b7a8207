package inverted

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Window is how many documents of a source are looked at together.
const Window = 4096

// Norms are what is known of the documents of a window: of the document n it is at
// n % Window.
type Norms struct {
	Lengths []byte // see Length
	weights []float64
	which   []byte // of weights; nil when there is one
}

// Weight returns the weight of a document.
func (n *Norms) Weight(i uint32) float64 {
	switch {
	case n.which != nil:
		return n.weights[n.which[i]]
	case len(n.weights) == 1:
		return n.weights[0]
	}
	return n.weights[i]
}

// Uniform returns the weight of all documents of the window, if it is one.
func (n *Norms) Uniform() (weight float64, ok bool) {
	return n.weights[0], len(n.weights) == 1
}

// Length returns the number of words that a byte of Norms.Lengths stands for: the
// very number up to 40, and above that what its four highest bits say, rounded down.
func Length(b byte) uint32 {
	if b <= exactLengths {
		return uint32(b)
	}
	b -= firstRounded
	return uint32(b%8+8) << (b/8 + 2)
}

const (
	exactLengths = 40
	firstRounded = exactLengths + 1 - 2 // 40 is 10<<2
)

func lengthByte(length uint32) byte {
	if length <= exactLengths {
		return byte(length)
	}
	n := bits.Len32(length)
	return byte(n-6)*8 + byte(length>>(n-4)) - 8 + firstRounded
}

// A window of norms is
//
//	count     uint16, of its documents
//	weights   uint16, how many follow: 1, the different ones up to 255, or one for
//	          each document
//	          float64 each
//	which     a byte for each document, when there are 2 to 255
//	lengths   a byte for each document
type normsWriter struct {
	lengths []byte
	weights []float64
}

func (w *normsWriter) add(length uint32, weight float64) {
	w.lengths = append(w.lengths, lengthByte(length))
	w.weights = append(w.weights, weight)
}

func (w *normsWriter) full() bool { return len(w.lengths) == Window }

// take returns the window and begins the next one.
func (w *normsWriter) take() []byte {
	index := map[float64]byte{}
	var different []float64
	for _, weight := range w.weights {
		if _, known := index[weight]; !known && len(different) < 256 {
			index[weight] = byte(len(different))
			different = append(different, weight)
		}
	}
	stored := different
	if len(different) > 255 {
		stored = w.weights
	}
	b := binary.LittleEndian.AppendUint16(nil, uint16(len(w.lengths)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(stored)))
	for _, weight := range stored {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(weight))
	}
	if len(different) > 1 && len(different) < 256 {
		for _, weight := range w.weights {
			b = append(b, index[weight])
		}
	}
	b = append(b, w.lengths...)
	w.lengths, w.weights = w.lengths[:0], w.weights[:0]
	return b
}

func readNorms(data []byte) (*Norms, int, error) {
	if len(data) < 4 {
		return nil, 0, ErrCorrupt
	}
	count, weights := int(binary.LittleEndian.Uint16(data)), int(binary.LittleEndian.Uint16(data[2:]))
	rest := data[4:]
	if weights == 0 || count == 0 || count > Window || len(rest) < 8*weights || weights > 255 && weights != count {
		return nil, 0, ErrCorrupt
	}
	n := &Norms{}
	for i := range weights {
		w := math.Float64frombits(binary.LittleEndian.Uint64(rest[8*i:]))
		if !(w > 0) || math.IsInf(w, 0) {
			return nil, 0, ErrCorrupt
		}
		n.weights = append(n.weights, w)
	}
	rest = rest[8*weights:]
	if weights > 1 && weights < 256 {
		if len(rest) < count {
			return nil, 0, ErrCorrupt
		}
		n.which, rest = rest[:count], rest[count:]
		for _, w := range n.which {
			if int(w) >= weights {
				return nil, 0, ErrCorrupt
			}
		}
	}
	if len(rest) != count {
		return nil, 0, ErrCorrupt
	}
	n.Lengths = rest
	return n, len(data) + 8*weights + 100, nil
}

// bitmap is the documents of a window that are gone.
type bitmap [Window / 64]uint64

func (b *bitmap) has(i uint32) bool { return b != nil && b[i/64]&(1<<(i%64)) != 0 }

func (b *bitmap) set(i uint32) (was bool) {
	was = b.has(i)
	b[i/64] |= 1 << (i % 64)
	return was
}

func (b *bitmap) append(out []byte) []byte {
	for _, w := range b {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

func readBitmap(data []byte) (*bitmap, int, error) {
	if len(data) != Window/8 {
		return nil, 0, ErrCorrupt
	}
	b := &bitmap{}
	for i := range b {
		b[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	return b, len(data) + 64, nil
}
