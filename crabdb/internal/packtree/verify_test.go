package packtree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unsafe"

	"pgregory.net/rapid"
)

// verify checks everything that a tree promises itself. It decodes blocks on
// its own, by the layout that block.go states.
func verify(t rapid.TB, tree *Tree) {
	t.Helper()
	if tree.root == nil {
		if tree.count != 0 {
			t.Fatalf("no root, but %d keys", tree.count)
		}
		return
	}
	s := verifier{tree: tree, leafDepth: -1}
	if err := s.node(tree.root, 0, nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := tree.Bytes(); got != s.bytes {
		t.Fatalf("Bytes = %d, want %d", got, s.bytes)
	}
	if s.entries != tree.count {
		t.Fatalf("the leaves hold %d entries, Len is %d", s.entries, tree.count)
	}
}

type verifier struct {
	tree      *Tree
	leafDepth int
	entries   int
	bytes     int64
}

// node checks n and what is below it. All keys are at least low and, unless
// high is nil, less than high.
func (s *verifier) node(n *node, depth int, low, high []byte) error {
	pairs, err := decode(n.block)
	switch {
	case err != nil:
		return err
	case n.version > s.tree.version:
		return fmt.Errorf("a node of version %d in a tree of %d", n.version, s.tree.version)
	case s.tree.limits.overfull(n):
		return fmt.Errorf("a node at depth %d is overfull: %d bytes, %d children", depth, len(n.block), len(n.children))
	case cap(n.block) > 2*len(n.block)+64:
		return fmt.Errorf("a block of %d bytes holds %d", len(n.block), cap(n.block))
	}
	s.bytes += int64(unsafe.Sizeof(*n)) + int64(cap(n.block)) + int64(cap(n.children))*int64(unsafe.Sizeof(n))
	for _, p := range pairs {
		if p.key < string(low) || high != nil && p.key >= string(high) {
			return fmt.Errorf("key %q outside of %q to %q", p.key, low, high)
		}
	}
	if n.isLeaf() {
		return s.leaf(n, pairs, depth)
	}
	return s.branch(n, pairs, depth, low, high)
}

func (s *verifier) leaf(n *node, pairs []pair, depth int) error {
	if s.leafDepth < 0 {
		s.leafDepth = depth
	}
	switch {
	case depth != s.leafDepth:
		return fmt.Errorf("leaves at depths %d and %d", depth, s.leafDepth)
	case len(pairs) == 0:
		return fmt.Errorf("an empty leaf")
	case n.last != 0 && n.block.offsetOf(n.block.indexOf(int(n.last))) != int(n.last):
		return fmt.Errorf("last = %d is not where an entry begins", n.last)
	}
	s.entries += len(pairs)
	return nil
}

func (s *verifier) branch(n *node, pairs []pair, depth int, low, high []byte) error {
	least := s.tree.limits.minChildren()
	if depth == 0 {
		least = 2
	}
	switch {
	case n.block.width() != 0:
		return fmt.Errorf("separators with values of %d bytes", n.block.width())
	case len(n.children) != len(pairs)+1:
		return fmt.Errorf("%d children and %d separators", len(n.children), len(pairs))
	case len(n.children) < least:
		return fmt.Errorf("a branch at depth %d has %d children", depth, len(n.children))
	}
	for _, stale := range n.children[len(n.children):cap(n.children)] {
		if stale != nil {
			return fmt.Errorf("a branch holds on to a node that it no longer has")
		}
	}
	for i, child := range n.children {
		if child.version > n.version {
			return fmt.Errorf("a child of version %d below a branch of %d", child.version, n.version)
		}
		from, to := low, high
		if i > 0 {
			from = []byte(pairs[i-1].key)
		}
		if i < len(pairs) {
			to = []byte(pairs[i].key)
		}
		if err := s.node(child, depth+1, from, to); err != nil {
			return err
		}
	}
	return nil
}

// height returns how many levels of nodes there are.
func (t *Tree) height() int {
	h := 0
	for n := t.root; n != nil; n = n.children[0] {
		h++
		if n.isLeaf() {
			break
		}
	}
	return h
}

// decode reads a block entry by entry and checks that it is the only encoding
// of what it holds: the answer that search and the edits are held to.
func decode(b []byte) ([]pair, error) {
	if len(b) < 3 {
		return nil, fmt.Errorf("a block of %d bytes", len(b))
	}
	width, count := int(b[0]), int(binary.LittleEndian.Uint16(b[1:]))
	if width > 8 {
		return nil, fmt.Errorf("values of %d bytes", width)
	}
	rest := b[3:]
	var pairs []pair
	var key []byte
	for len(rest) > 0 {
		shared, n := binary.Uvarint(rest)
		if n <= 0 {
			return nil, fmt.Errorf("entry %d has no length", len(pairs))
		}
		own, m := binary.Uvarint(rest[n:])
		if m <= 0 {
			return nil, fmt.Errorf("entry %d has no second length", len(pairs))
		}
		shortest := binary.AppendUvarint(binary.AppendUvarint(nil, shared), own)
		if !bytes.Equal(shortest, rest[:n+m]) {
			return nil, fmt.Errorf("entry %d has overlong lengths", len(pairs))
		}
		rest = rest[n+m:]
		if own > uint64(len(rest)) || int(own)+width > len(rest) || shared > uint64(len(key)) {
			return nil, fmt.Errorf("entry %d does not fit", len(pairs))
		}
		var value [8]byte
		copy(value[:], rest[:width])
		next := append(bytes.Clone(key[:shared]), rest[width:width+int(own)]...)
		rest = rest[width+int(own):]
		if len(pairs) > 0 {
			alike := 0
			for alike < len(key) && alike < len(next) && key[alike] == next[alike] {
				alike++
			}
			if bytes.Compare(key, next) >= 0 || alike != int(shared) {
				return nil, fmt.Errorf("entry %d: %q sharing %d after %q", len(pairs), next, shared, key)
			}
		}
		key = next
		pairs = append(pairs, pair{string(key), binary.LittleEndian.Uint64(value[:])})
	}
	if len(pairs) != count {
		return nil, fmt.Errorf("%d entries, the header says %d", len(pairs), count)
	}
	return pairs, nil
}
