package packtree

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestValidateRefuses(t *testing.T) {
	cases := map[string]string{
		"nothing":                   "",
		"half a header":             "0100",
		"no entries":                "010000",
		"values of nine bytes":      "090100" + "0001" + "000000000000000000" + "61",
		"no first entry":            "000100",
		"one length":                "000100" + "00",
		"a cut length":              "000100" + "0080",
		"an overlong length":        "000100" + "008100" + "61",
		"an overlong share":         "000100" + "800001" + "61",
		"a length past 64 bits":     "000100" + "00ffffffffffffffffff7f" + "61",
		"a length near 64 bits":     "000100" + "00ffffffffffffffffff01" + "61",
		"a value outside":           "020100" + "000000",
		"a key outside":             "000100" + "000261",
		"a first key that shares":   "000100" + "010161",
		"sharing more than there":   "000200" + "000161" + "020162",
		"sharing 2^63":              "000200" + "000161" + "80808080808080808001" + "0162",
		"the same key":              "000200" + "000161" + "0100",
		"a lesser key":              "000200" + "000162" + "000161",
		"two empty keys":            "000200" + "0000" + "0000",
		"sharing more than stated":  "000200" + "000161" + "00026162",
		"fewer entries than stated": "000200" + "000161",
		"more entries than stated":  "000100" + "000161" + "000162",
		"a byte behind the end":     "000100" + "000161" + "00",
	}
	for name, text := range cases {
		leaf, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := block(leaf).validate(nil, nil); !errors.Is(err, ErrInvalidLeaf) {
			t.Errorf("%s: validate(%s): %v", name, text, err)
		}
	}
}

// TestValidateBoundsTheCount refuses one entry more than the most.
func TestValidateBoundsTheCount(t *testing.T) {
	m := model{}
	for i := range maxCount {
		m[fmt.Sprintf("%06d", i)] = 0
	}
	if _, _, err := blockOf(m, 0).validate(nil, nil); err != nil {
		t.Errorf("%d entries: %v", len(m), err)
	}
	m["x"] = 0
	if _, _, err := blockOf(m, 0).validate(nil, nil); !errors.Is(err, ErrInvalidLeaf) {
		t.Errorf("%d entries: %v", len(m), err)
	}
}

// TestValidateNoticesEveryCut cuts a leaf at each byte.
func TestValidateNoticesEveryCut(t *testing.T) {
	leaf, _ := hex.DecodeString(example)
	for n := range leaf {
		if _, _, err := block(leaf[:n]).validate(nil, nil); !errors.Is(err, ErrInvalidLeaf) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
}

// anyValue has nothing to say against any entries.
func anyValue([]Entry) error { return nil }

// TestValidateListsEntries wants the length of each key and each value.
func TestValidateListsEntries(t *testing.T) {
	long := strings.Repeat("k", 300)
	leaf := blockOf(model{"": 7, "a": 0, "ab": 1<<56 - 1, long: 9, long + "x": 1 << 55}, 7)
	want := []Entry{{0, 7}, {1, 0}, {2, 1<<56 - 1}, {300, 9}, {301, 1 << 55}}
	for _, list := range [][]Entry{nil, make([]Entry, 2), make([]Entry, 9)} {
		if got, _, err := leaf.validate(nil, list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
}

// FuzzValidate holds validate to the tests' own decoder, and what it
// accepts to everything that is done with a leaf.
func FuzzValidate(f *testing.F) {
	leaf, _ := hex.DecodeString(example)
	f.Add(leaf)
	f.Add([]byte{})
	f.Add([]byte("\x00\x01\x00\x00\x00"))
	long := strings.Repeat("p", 130)
	f.Add([]byte(blockOf(model{"": 1, long: 1 << 40, long + "a": 3, long + "b" + long: 4}, 6)))
	f.Add([]byte(blockOf(model{"\x00": 0, "\xff": 1<<64 - 1, "\xff\x00": 2}, 8)))
	f.Fuzz(func(t *testing.T, leaf []byte) {
		entries, last, err := block(leaf).validate(nil, nil)
		pairs, broken := decode(leaf)
		if refuse := broken != nil || len(pairs) == 0 || len(pairs) > maxCount; refuse != (err != nil) {
			t.Fatalf("validate says %v, the decoder says %v, %d entries", err, broken, len(pairs))
		}
		if err != nil {
			if !errors.Is(err, ErrInvalidLeaf) {
				t.Fatal(err)
			}
			return
		}
		if want := pairs[len(pairs)-1].key; string(last) != want {
			t.Fatalf("the last key is %q, want %q", last, want)
		}
		for i, p := range pairs {
			if want := (Entry{len(p.key), p.value}); entries[i] != want {
				t.Fatalf("entry %d is %v, want %v", i, entries[i], want)
			}
		}
		useLeaf(t, leaf, pairs)
	})
}

// useLeaf makes a leaf from outside part of a tree, as a snapshot's will be,
// reads it, takes it apart, and expects its bytes as they were.
func useLeaf(t *testing.T, leaf []byte, pairs []pair) {
	before := bytes.Clone(leaf)
	tree, err := Load([][]byte{leaf}, anyValue)
	if err != nil {
		t.Fatal(err)
	}
	h := &history{tree: tree, model: model{}}
	for _, p := range pairs {
		h.model[p.key] = p.value
	}
	h.freeze()
	agree(t, h.tree.View(), h.model)
	for i, p := range pairs {
		if i%2 == 0 {
			h.delete(t, p.key)
		}
		h.set(t, p.key+"\x00", uint64(i))
	}
	h.agree(t)
	for _, p := range h.model.sorted() {
		h.delete(t, p.key)
	}
	if h.tree.root != nil || !bytes.Equal(leaf, before) {
		t.Fatal("the tree is not empty, or the leaf was changed")
	}
	if got := forwards(h.views[0].view); !slices.Equal(got, pairs) {
		t.Fatalf("the view of the leaf changed: %s", difference(got, pairs))
	}
}
