package packtree

import (
	"bytes"
	"fmt"
)

// Builder makes a tree from entries in ascending key order, in less time and
// memory than inserting them would: its leaves are full.
type Builder struct {
	limits     limits
	block      block    // the leaf being filled, in memory that is used again, or empty
	last       []byte   // the key added last
	leaves     []*node  // those filled
	separators [][]byte // between each of them and the next
	count      int
}

// firstVersion is the version of a new tree and, in a built or loaded one, of the
// nodes that were made for it.
const firstVersion = 1

// NewBuilder returns a builder without entries.
func NewBuilder() *Builder { return &Builder{limits: defaultLimits} }

// Add appends an entry. The key is copied. If it does not follow the one before
// it, Add returns ErrOutOfOrder and leaves the entry out.
func (b *Builder) Add(key []byte, value uint64) error {
	if err := b.follows(key); err != nil {
		return err
	}
	if len(b.block) == 0 {
		b.separate(key)
		b.begin(key, value)
		return nil
	}
	shared, grown := commonPrefix(b.last, key), b.block
	if width := valueWidth(value); width > grown.width() {
		grown = grown.widened(width)
	}
	grown = grown.add(shared, key, value)
	if b.limits.leafOverfull(len(grown), grown.count()) {
		b.block.setCount(grown.count() - 1) // which may be in the same memory
		b.closeLeaf()
		b.separate(key)
		b.begin(key, value)
		return nil
	}
	b.block = grown
	b.last = append(b.last[:shared], key[shared:]...)
	b.count++
	return nil
}

// follows returns ErrOutOfOrder if key does not come behind all that were added.
func (b *Builder) follows(key []byte) error {
	if b.count > 0 && bytes.Compare(key, b.last) <= 0 {
		return fmt.Errorf("%w: %q after %q", ErrOutOfOrder, key, b.last)
	}
	return nil
}

// separate notes the separator between the leaves so far, if any, and one that
// begins with key.
func (b *Builder) separate(key []byte) {
	if len(b.leaves) > 0 {
		b.separators = append(b.separators, bytes.Clone(separator(b.last, key)))
	}
}

// separator returns the shortest bytes that part a leaf whose last key is last
// from one whose first is first, which are the beginning of first.
func separator(last, first []byte) []byte { return first[:commonPrefix(last, first)+1] }

// begin starts a leaf with its first entry.
func (b *Builder) begin(key []byte, value uint64) {
	header := emptyBlock(valueWidth(value))
	b.block = append(b.block[:0], header...).add(0, key, value)
	b.last = append(b.last[:0], key...)
	b.count++
}

// closeLeaf makes a leaf of what was filled.
func (b *Builder) closeLeaf() {
	b.leaves = append(b.leaves, &node{version: firstVersion, block: b.block.clone(0)})
	b.block = b.block[:0]
}

// Finish returns the tree with the entries that were added. The builder is
// empty after it.
func (b *Builder) Finish() *Tree {
	t := &Tree{limits: b.limits, count: b.count, version: firstVersion}
	if len(b.block) > 0 {
		b.closeLeaf()
	}
	t.root = rootOf(b.leaves, b.separators, b.limits)
	*b = Builder{limits: b.limits}
	return t
}

// rootOf puts branches above leaves and returns the root, nil if there are none.
func rootOf(nodes []*node, separators [][]byte, l limits) *node {
	if len(nodes) == 0 {
		return nil
	}
	for len(nodes) > 1 {
		nodes, separators = branches(nodes, separators, l.maxChildren)
	}
	return nodes[0]
}

// branches puts a level of branches above nodes, as few as will do, all with
// the same number of children or one more, and returns it with its separators.
func branches(nodes []*node, separators [][]byte, most int) ([]*node, [][]byte) {
	n := (len(nodes) + most - 1) / most
	level, between := make([]*node, n), make([][]byte, 0, n-1)
	var scratch block
	for i := range level {
		from, to := i*len(nodes)/n, (i+1)*len(nodes)/n
		scratch = appendSeparators(scratch[:0], separators[from:to-1])
		level[i] = &node{
			version:  firstVersion,
			block:    scratch.clone(0),
			children: append([]*node(nil), nodes[from:to]...),
		}
		if i+1 < n {
			between = append(between, separators[to-1])
		}
	}
	return level, between
}

// appendSeparators appends the block of a branch with the given separators.
func appendSeparators(b block, separators [][]byte) block {
	b = append(b, emptyBlock(0)...)
	var last []byte
	for _, key := range separators {
		b = b.add(commonPrefix(last, key), key, 0)
		last = key
	}
	return b
}
