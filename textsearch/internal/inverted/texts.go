package inverted

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// texts is a list of texts in one piece of memory, which are numbered from 0.
type texts struct {
	bytes []byte
	ends  []uint32
}

func (t *texts) add(text []byte) {
	t.bytes = append(t.bytes, text...)
	t.ends = append(t.ends, uint32(len(t.bytes)))
}

func (t *texts) count() int { return len(t.ends) }

func (t *texts) at(n uint32) []byte {
	from := uint32(0)
	if n > 0 {
		from = t.ends[n-1]
	}
	return t.bytes[from:t.ends[n]]
}

// sorted returns the numbers in the order of the texts.
func (t *texts) sorted() []uint32 {
	type begun struct {
		begin  uint64
		number uint32
	}
	all := make([]begun, t.count())
	for i := range all {
		all[i] = begun{keyBegin(t.at(uint32(i))), uint32(i)}
	}
	slices.SortFunc(all, func(a, b begun) int {
		if a.begin != b.begin {
			return cmp.Compare(a.begin, b.begin)
		}
		return bytes.Compare(t.at(a.number), t.at(b.number))
	})
	numbers := make([]uint32, len(all))
	for i, b := range all {
		numbers[i] = b.number
	}
	return numbers
}

// keyBegin is the first eight bytes of a key, or as many as it has and zeros, as a
// number that is no greater than that of a greater key. Most keys are told apart by
// it, at a tenth of the cost.
func keyBegin(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	begin := uint64(0)
	for i, c := range key {
		begin |= uint64(c) << (56 - 8*i)
	}
	return begin
}

var hashSeed = maphash.MakeSeed()

// vocabulary is texts that differ, and are found. A map from strings to numbers costs
// twice the time where there are thousands.
type vocabulary struct {
	texts
	slots []uint64 // 0, or the upper half of the hash of a text, by which it lies, and its number and one
}

// number returns the number of a text, which is added unless it is there.
func (v *vocabulary) number(text string) uint32 {
	if 2*v.count() >= len(v.slots) {
		v.grow(2 * len(v.slots))
	}
	hash := maphash.String(hashSeed, text) >> 32
	mask := uint64(len(v.slots) - 1)
	at := hash & mask
	for ; v.slots[at] != 0; at = (at + 1) & mask {
		if slot := v.slots[at]; slot>>32 == hash && string(v.at(uint32(slot)-1)) == text {
			return uint32(slot) - 1
		}
	}
	v.bytes = append(v.bytes, text...)
	v.ends = append(v.ends, uint32(len(v.bytes)))
	v.slots[at] = hash<<32 | uint64(v.count())
	return uint32(v.count() - 1)
}

// grow makes room for half of so many slots, a power of two.
func (v *vocabulary) grow(slots int) {
	old := v.slots
	v.slots = make([]uint64, max(slots, 16))
	mask := uint64(len(v.slots) - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := slot >> 32 & mask
		for v.slots[at] != 0 {
			at = (at + 1) & mask
		}
		v.slots[at] = slot
	}
}
