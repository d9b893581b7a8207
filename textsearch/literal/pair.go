package literal

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// pattern is what a byte of a match looks like: c|mask == want.
type pattern struct{ want, mask byte }

// allow widens the pattern to c.
func (p *pattern) allow(c byte) {
	p.mask |= (p.want ^ c) &^ p.mask
	p.want |= p.mask
}

// pair is two places in a needle whose bytes are seldom seen together, by which it
// is looked for.
type pair struct {
	at   [2]int
	byte [2]pattern
}

// choosePair takes the two places with the rarest bytes.
func choosePair(patterns []pattern) pair {
	first, second := -1, -1
	var rarity [2]int
	for i, p := range patterns {
		n := p.frequency()
		switch {
		case first < 0 || n < rarity[0]:
			first, second = i, first
			rarity[0], rarity[1] = n, rarity[0]
		case second < 0 || n < rarity[1]:
			second, rarity[1] = i, n
		}
	}
	return pair{[2]int{first, second}, [2]pattern{patterns[first], patterns[second]}}
}

// frequency estimates how often one meets a byte like this in what people and
// programs write.
func (p pattern) frequency() int {
	n := 0
	for c := range 256 {
		if byte(c)|p.mask == p.want {
			n += frequency(byte(c))
		}
	}
	return n
}

func frequency(c byte) int {
	const ascending = "\t@^`~?!&%$#|\\+[]{}<>;*:()9876543zqjxkQZXJKVYUWGHBFLODNMPRACEIST'\",=-0_21./\nvbygpwfumcdlhrsnioa te"
	if c >= 0x80 {
		return 60 // in the scripts that use it, as often as a letter
	}
	return 1 + strings.IndexByte(ascending, c)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// next returns the first place from i on, and before limit, where both bytes are as
// in a match; limit without one. The text goes on behind limit for at least as long
// as the places are apart from the needle's beginning.
func (p *pair) next(text string, i, limit int) int {
	if i >= limit {
		return limit
	}
	// What a match would begin at is text[i:], and its two bytes are a[i] and b[i].
	a, b := text[p.at[0]:limit+p.at[0]], text[p.at[1]:limit+p.at[1]]
	maskA, maskB := uint64(p.byte[0].mask)*ones, uint64(p.byte[1].mask)*ones
	wantA, wantB := uint64(p.byte[0].want)*ones, uint64(p.byte[1].want)*ones
	for ; i+8 <= limit; i += 8 {
		differ := (load(a, i) | maskA) ^ wantA | (load(b, i) | maskB) ^ wantB
		if zero := (differ - ones) &^ differ & highs; zero != 0 {
			return i + bits.TrailingZeros64(zero)/8
		}
	}
	for ; i < limit; i++ {
		if a[i]|p.byte[0].mask == p.byte[0].want && b[i]|p.byte[1].mask == p.byte[1].want {
			return i
		}
	}
	return limit
}

// load returns text[i:i+8], the first byte lowest.
func load(text string, i int) uint64 {
	s := text[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// asciiEnd returns a place from i on before which all bytes from i on are ASCII: that
// of the first which is not, if it is before limit.
func asciiEnd(text string, i, limit int) int {
	for ; i+32 <= limit; i += 32 {
		s := text[i : i+32]
		if (load(s, 0)|load(s, 8)|load(s, 16)|load(s, 24))&highs != 0 {
			break
		}
	}
	for ; i+8 <= limit; i += 8 {
		if high := load(text, i) & highs; high != 0 {
			return i + bits.TrailingZeros64(high)/8
		}
	}
	for i < limit && text[i] < utf8.RuneSelf {
		i++
	}
	return i
}
