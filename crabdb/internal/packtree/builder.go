package packtree

import (
	"bytes"
	"fmt"
	"slices"
)

// Builder makes a tree from entries in ascending key order, in less time and
// memory than inserting them would: its leaves are full.
type Builder struct {
	limits     limits
	block      block    // the leaf being filled, in memory that is used again, or empty
	last       []byte   // the key added last
	spare      []byte   // memory for the next
	leaves     []*node  // those filled
	separators [][]byte // between each of them and the next
	count      int
}

const (
	// foreignVersion is that of a leaf whose bytes belong to someone else. No
	// tree has it, so none writes to them.
	foreignVersion = 0

	// firstVersion is the version of a new tree and, in a built one, of the nodes
	// that the builder made.
	firstVersion = 1
)

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

// AddLeaf appends the entries of a whole leaf, as View.Leaves gave it, and makes
// the leaf itself part of the tree: the bytes are kept, and must not change any
// more. The tree copies them before it writes, so they may be memory that cannot
// be written. A leaf that is not well formed is ErrInvalidLeaf, one that does
// not follow what was added ErrOutOfOrder; both leave it out.
func (b *Builder) AddLeaf(leaf []byte) error {
	l := block(leaf)
	last, err := l.validate(b.spare)
	if err != nil {
		return err
	}
	e := l.entry(headerSize)
	first := l[e.rest:e.next]
	if err := b.follows(first); err != nil {
		return err
	}
	if len(b.block) > 0 {
		b.closeLeaf()
	}
	b.separate(first)
	b.leaves = append(b.leaves, &node{version: foreignVersion, block: slices.Clip(l)})
	b.last, b.spare = last, b.last
	b.count += l.count()
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
// begins with key: the shortest bytes that part them.
func (b *Builder) separate(key []byte) {
	if len(b.leaves) > 0 {
		b.separators = append(b.separators, bytes.Clone(key[:commonPrefix(b.last, key)+1]))
	}
}

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
	if b.count > 0 {
		if len(b.block) > 0 {
			b.closeLeaf()
		}
		nodes, separators := b.leaves, b.separators
		for len(nodes) > 1 {
			nodes, separators = branches(nodes, separators, b.limits.maxChildren)
		}
		t.root = nodes[0]
	}
	*b = Builder{limits: b.limits}
	return t
}

// branches puts a level of branches above nodes, as few as will do, all with
// the same number of children or one more, and returns it with its separators.
func branches(nodes []*node, separators [][]byte, most int) ([]*node, [][]byte) {
	n := (len(nodes) + most - 1) / most
	level, between := make([]*node, n), make([][]byte, 0, n-1)
	for i := range level {
		from, to := i*len(nodes)/n, (i+1)*len(nodes)/n
		level[i] = &node{
			version:  firstVersion,
			block:    separatorBlock(separators[from : to-1]),
			children: append([]*node(nil), nodes[from:to]...),
		}
		if i+1 < n {
			between = append(between, separators[to-1])
		}
	}
	return level, between
}

// separatorBlock returns the block of a branch with the given separators.
func separatorBlock(separators [][]byte) block {
	b, last := emptyBlock(0), []byte(nil)
	for _, key := range separators {
		b = b.add(commonPrefix(last, key), key, 0)
		last = key
	}
	return b.clone(0)
}
