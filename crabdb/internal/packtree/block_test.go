package packtree

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// example is the block that the comment on block spells out.
const example = "020300" + "00030100636172" + "03012c0174" + "0201020074"

func TestWorkedExample(t *testing.T) {
	tree := New()
	for i, key := range []string{"car", "cat", "cart"} {
		tree.Set([]byte(key), []uint64{1, 2, 300}[i])
	}
	if got := hex.EncodeToString(tree.root.block); got != example {
		t.Errorf("the leaf is\n%s, want\n%s", got, example)
	}
	if _, last, err := tree.root.block.validate(nil, nil); string(last) != "cat" || err != nil {
		t.Errorf("validate = %q, %v", last, err)
	}
}

// blockOf encodes the entries of a model at a width, by the layout alone.
func blockOf(m model, width int) block {
	b := emptyBlock(width)
	last := ""
	for _, p := range m.sorted() {
		shared := 0
		for shared < len(last) && shared < len(p.key) && last[shared] == p.key[shared] {
			shared++
		}
		b = appendHead(b, shared, len(p.key)-shared, width, p.value)
		b = append(b, p.key[shared:]...)
		last = p.key
	}
	b.setCount(len(m))
	return b
}

// TestBlockEdits puts every key of a set between the others and takes each
// away again. The bytes have to be those of the entries encoded afresh, for the
// encoding is unique.
func TestBlockEdits(t *testing.T) {
	p := func(n int) string { return strings.Repeat("p", n) }
	sets := map[string][]string{
		"short":          {"", "a", "aa", "ab", "abc", "b", "\x00", "\xff", "\xff\xff"},
		"prefixes":       {p(1), p(2), p(126), p(127), p(128), p(129), p(254), p(255), p(256), p(1100)},
		"long rests":     {"a" + p(126), "b" + p(127), "c" + p(128), "d" + p(130), "e" + p(258), "f" + p(386), "g" + p(130)},
		"long shares":    {p(127) + "a", p(127) + "b", p(128) + "a", p(128) + "b", p(129) + "aaaaa", p(129) + "baaaa", "pzaaaa", "q"},
		"lead bytes":     {"xa" + p(129), "xb" + p(129), "xc" + p(257), "xd" + p(128), "y"},
		"about a share":  {p(300) + "a", p(300) + "aa", p(300) + "b", p(299) + "z", p(299) + "zz" + p(200)},
		"same last byte": {"1", "11", "111", "12", "121", "2", "21", "211", "22"},
	}
	for name, keys := range sets {
		for width := 0; width <= 8; width += 4 {
			for skip := range keys {
				m := model{}
				for i, key := range keys {
					if i != skip {
						m[key] = uint64(i) & (1<<(8*width) - 1)
					}
				}
				without := blockOf(m, width)
				place := without.search([]byte(keys[skip]))
				if place.found {
					t.Fatalf("%s: found %q, which is not there", name, keys[skip])
				}
				with := without.clone(0).insert(place, []byte(keys[skip]), 0)
				m[keys[skip]] = 0
				if want := blockOf(m, width); !bytes.Equal(with, want) {
					t.Fatalf("%s: with %q at width %d\n%x, want\n%x", name, keys[skip], width, with, want)
				}
				for i, p := range m.sorted() {
					found := with.search([]byte(p.key))
					if !found.found || found.index != i || with.valueAt(with.entry(found.offset).value) != p.value {
						t.Fatalf("%s: %q is at %+v, want index %d", name, p.key, found, i)
					}
				}
				again := with.remove(with.search([]byte(keys[skip])).offset)
				if !bytes.Equal(again, without) {
					t.Fatalf("%s: without %q at width %d\n%x, want\n%x", name, keys[skip], width, again, without)
				}
			}
		}
	}
}

// TestMiddle compares with the best of all places to split.
func TestMiddle(t *testing.T) {
	r := random(t)
	for range 500 {
		m := model{}
		for i := range 2 + r.IntN(20) {
			m[string(rune('a'+i))+strings.Repeat("x", r.IntN(1+r.IntN(400)))] = 0
		}
		b := blockOf(m, r.IntN(3))
		uneven := func(offset int) int {
			left, right := offset-headerSize, len(b)-offset
			return max(left-right, right-left)
		}
		best := b.offsetOf(1)
		for index := 2; index < len(m); index++ {
			if at := b.offsetOf(index); uneven(at) < uneven(best) {
				best = at
			}
		}
		// Half of an odd length is rounded: of two places, a byte off on either
		// side, it may take the other one.
		if got := b.middle(); uneven(got) > uneven(best)+2 {
			t.Fatalf("splits %d bytes at %d, better at %d", len(b), got, best)
		}
	}
}

// TestBlockSplitsAndJoins splits blocks everywhere and joins the parts, at
// equal and at different widths.
func TestBlockSplitsAndJoins(t *testing.T) {
	m := model{"": 1, "a": 2, "ab": 3, strings.Repeat("ab", 100): 4, strings.Repeat("ab", 100) + "c": 5, "b": 6}
	whole := blockOf(m, 4)
	for index := 1; index < len(m); index++ {
		left, right, first, shared := whole.split(whole.offsetOf(index))
		var parts [2]model
		for half := range parts {
			parts[half] = model{}
		}
		for i, p := range m.sorted() {
			if i < index {
				parts[0][p.key] = p.value
			} else {
				parts[1][p.key] = p.value
			}
		}
		if !bytes.Equal(left, blockOf(parts[0], 4)) || !bytes.Equal(right, blockOf(parts[1], 4)) {
			t.Fatalf("split at %d: %x and %x", index, left, right)
		}
		last, next := parts[0].sorted()[index-1].key, parts[1].sorted()[0].key
		if string(first) != next || next[:shared] != last[:shared] || next[:shared+1] <= last {
			t.Fatalf("split at %d: %q sharing %d with %q", index, first, shared, last)
		}
		if joined := left.join(right); !bytes.Equal(joined, whole) {
			t.Fatalf("joined at %d: %x, want %x", index, joined, whole)
		}
		for _, pair := range [][2]block{{left.widened(6), right}, {left, right.widened(6)}} {
			if joined := pair[0].join(pair[1]); !bytes.Equal(joined, blockOf(m, 6)) {
				t.Fatalf("joined at %d at two widths: %x", index, joined)
			}
		}
	}
}
