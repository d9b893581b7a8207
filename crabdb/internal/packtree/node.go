package packtree

import "slices"

const (
	// leafBytes is the size at which a leaf splits. Larger leaves hold a key in
	// less, smaller ones are searched and copied faster.
	leafBytes = 1024

	// A leaf of at most fewEntries may grow to manyBytes before it splits, lest
	// long keys make a tree of leaves with one key each.
	fewEntries = 8
	manyBytes  = 4 * leafBytes

	// maxChildren is the most children of a branch. Every first write after a
	// view copies that many pointers a level.
	maxChildren = 32
)

// limits are the sizes at which nodes split and join; tests make them small,
// for deep trees of few keys.
type limits struct {
	leafBytes   int
	manyBytes   int
	maxChildren int
}

var defaultLimits = limits{leafBytes: leafBytes, manyBytes: manyBytes, maxChildren: maxChildren}

// leafOverfull tells whether a leaf of that size has to split. One entry cannot.
func (l limits) leafOverfull(size, count int) bool {
	return size > l.leafBytes && count > 1 && (count > fewEntries || size > l.manyBytes)
}

// minChildren is the fewest children of a branch that is not the root. It
// bounds the height of a tree.
func (l limits) minChildren() int { return max(2, l.maxChildren/8) }

func (l limits) overfull(n *node) bool {
	if n.isLeaf() {
		return l.leafOverfull(len(n.block), n.block.count())
	}
	return len(n.children) > l.maxChildren
}

// underfull tells whether n should be joined with a neighbour.
func (l limits) underfull(n *node) bool {
	if n.isLeaf() {
		return len(n.block) < l.leafBytes/4
	}
	return len(n.children) < max(l.minChildren(), l.maxChildren/4)
}

// node is a leaf, whose block holds entries, or a branch, whose block holds the
// separators of its children: the keys of child i are less than separator i,
// and those of child i+1 are not.
type node struct {
	// version is the version of the tree that made the node. A tree may edit
	// the nodes of its current version; others belong to views as well.
	version uint64

	// block is edited in place in a leaf. That of a branch is replaced when it
	// changes, so that copies of the branch can share it.
	block    block
	children []*node // nil in a leaf

	// last is the latest insert: in a leaf the offset of the entry, 0 if there
	// was none since; in a branch the index of the child. runStart is where, in
	// a leaf, the inserts began of which each came right behind the one before.
	last, runStart int32
}

func (n *node) isLeaf() bool { return n.children == nil }

// childIndex returns which child holds key, if any does.
func (n *node) childIndex(key []byte) int {
	p := n.block.search(key)
	if p.found {
		return p.index + 1
	}
	return p.index
}

// clone copies n for the given version, a leaf with room for extra more bytes.
func (n *node) clone(version uint64, extra int) *node {
	c := &node{version: version, block: n.block, last: n.last, runStart: n.runStart}
	if n.isLeaf() {
		c.block = n.block.clone(extra)
	} else {
		c.children = slices.Clone(n.children)
	}
	return c
}

// insert adds to a leaf the key that its block's search did not find, at p.
func (n *node) insert(p place, key []byte, value uint64) {
	if n.last == 0 || n.block.entry(int(n.last)).next != p.offset {
		n.runStart = int32(p.offset)
	}
	n.last = int32(p.offset)
	n.block = n.block.insert(p, key, value)
}

// remove drops from a leaf the entry at offset.
func (n *node) remove(offset int) {
	n.block = n.block.remove(offset)
	n.forgetRun()
}

// widen makes the values of a leaf wider.
func (n *node) widen(width int) {
	n.block = n.block.widened(width)
	n.forgetRun()
}

func (n *node) forgetRun() { n.last, n.runStart = 0, 0 }

// insertChild adds to a branch the child that follows child i, and the
// separator between the two.
func (n *node) insertChild(i int, separator []byte, child *node) {
	shared := slices.Clip(n.block) // without room, so that insert makes a new one
	n.block = shared.insert(shared.search(separator), separator, 0)
	n.children = slices.Insert(n.children, i+1, child)
	n.last = int32(i + 1)
}

// removeChild drops from a branch child i, and with it the separator before it.
func (n *node) removeChild(i int) {
	n.block = n.block.clone(0).remove(n.block.offsetOf(max(i-1, 0)))
	n.children = slices.Delete(n.children, i, i+1)
}

// separator returns the separator between child i and the next.
func (n *node) separator(i int) []byte {
	offset := n.block.offsetOf(i)
	return n.block.keyBefore(n.block.entry(offset).next, nil)
}

// split moves the upper part of n into a new node, and returns it with the
// separator of the two.
func (n *node) split(l limits) (separator []byte, right *node) {
	if n.isLeaf() {
		return n.splitLeaf(l)
	}
	return n.splitBranch(l)
}

func (n *node) splitLeaf(l limits) (separator []byte, right *node) {
	offset, run := n.runCut(l)
	if !run {
		offset = n.block.middle()
	}
	left, upper, first, shared := n.block.split(offset)
	right = &node{version: n.version, block: upper}
	if !run || offset == int(n.last) {
		n.forgetRun()
	}
	n.block = left
	return first[:shared+1], right
}

// runCut returns where to cut a leaf in which a run of inserts takes up a
// quarter of a leaf by now: behind the entry inserted last, so that the left
// leaf has room for the run to go on, or before it, if the run has filled the
// left leaf. Leaves filled in order end up full rather than half full. The
// quarter keeps short runs from making many small leaves.
func (n *node) runCut(l limits) (offset int, ok bool) {
	if int(n.last-n.runStart) < l.leafBytes/4 {
		return 0, false
	}
	if end := n.block.entry(int(n.last)).next; end <= l.leafBytes {
		return end, true
	}
	return int(n.last), true
}

// splitBranch cuts a branch in the middle, or near its end if the last child
// was the latest to come, for then more of them are likely to come there.
func (n *node) splitBranch(l limits) (separator []byte, right *node) {
	cut := len(n.children) / 2
	if int(n.last) == len(n.children)-1 {
		cut = len(n.children) - l.minChildren()
	}
	left, upper, separator, _ := n.block.split(n.block.offsetOf(cut - 1))
	right = &node{
		version:  n.version,
		block:    upper.remove(headerSize), // it goes up
		children: slices.Clone(n.children[cut:]),
	}
	n.block, n.children, n.last = left, slices.Clone(n.children[:cut]), 0
	return separator, right
}

// join returns a new node with what n and next hold, two neighbours of one
// level with the given separator.
func (n *node) join(separator []byte, next *node, version uint64) *node {
	if n.isLeaf() {
		return &node{version: version, block: n.block.join(next.block)}
	}
	between := emptyBlock(0).add(0, separator, 0)
	return &node{
		version:  version,
		block:    n.block.join(between).join(next.block),
		children: slices.Concat(n.children, next.children),
	}
}
