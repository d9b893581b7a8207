package packtree

// After a change, whose nodes the tree owns all along the path, the two
// functions below bring the nodes of the path back to their sizes: splitUp
// those that became too large, joinUp those that became too small.

// splitUp splits n, the node that path leads to, if it is overfull, and then
// the branches above it that the new children made so.
func (t *Tree) splitUp(path []step, n *node) {
	for t.limits.overfull(n) {
		var parent step
		if last := len(path) - 1; last >= 0 {
			path, parent = path[:last], path[last]
		} else {
			parent.node = &node{version: t.version, block: emptyBlock(0), children: []*node{n}}
			t.root = parent.node
		}
		t.divide(parent.node, parent.index)
		n = parent.node
	}
}

// divide splits child i of parent until no part of it is overfull. Two parts are
// enough, unless an entry is larger than a leaf or a leaf's values became wider.
func (t *Tree) divide(parent *node, i int) {
	child := parent.children[i]
	if !t.limits.overfull(child) {
		return
	}
	separator, right := child.split(t.limits)
	parent.insertChild(i, separator, right)
	t.divide(parent, i+1)
	t.divide(parent, i)
}

// joinUp joins n, the node that path leads to, with a neighbour if it is
// underfull, and then the branches above it that have become so. It takes away
// the root if one child is all it has left, or nothing.
func (t *Tree) joinUp(path []step, n *node) {
	for i := len(path) - 1; i >= 0 && t.limits.underfull(n); i-- {
		t.refill(path[i].node, path[i].index)
		n = path[i].node
	}
	for !t.root.isLeaf() && len(t.root.children) == 1 {
		t.root = t.root.children[0]
	}
	if t.root.isLeaf() && t.root.block.count() == 0 {
		t.root = nil
	}
}

// refill mends child i of parent, which is underfull, with the smaller of its
// neighbours. Two branches are joined, and halved if that is too many children:
// no branch but the root may have less than the minimum. Two leaves are joined
// only if they fit: a small leaf between full ones does no harm.
func (t *Tree) refill(parent *node, i int) {
	child := parent.children[i]
	if child.isLeaf() && child.block.count() == 0 {
		parent.removeChild(i)
		return
	}
	left := i
	if i+1 == len(parent.children) || i > 0 && size(parent.children[i-1]) < size(parent.children[i+1]) {
		left = i - 1
	}
	a, b := parent.children[left], parent.children[left+1]
	if child.isLeaf() && !t.fit(a.block, b.block) {
		return
	}
	joined := a.join(parent.separator(left), b, t.version)
	parent.removeChild(left + 1)
	parent.children[left] = joined
	t.divide(parent, left)
}

// size ranks the nodes of one level by what they hold.
func size(n *node) int {
	if n.isLeaf() {
		return len(n.block)
	}
	return len(n.children)
}

// fit tells whether two neighbouring leaves make one that is not overfull.
func (t *Tree) fit(a, b block) bool {
	width := max(a.width(), b.width())
	size := len(a) + len(b) + a.count()*(width-a.width()) + b.count()*(width-b.width())
	return !t.limits.leafOverfull(size, a.count()+b.count())
}
