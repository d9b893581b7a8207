package packtree

// Tree is an ordered map from keys to unsigned integers. One goroutine at a
// time may use it, for reading too; a View serves the others.
type Tree struct {
	limits limits
	root   *node // nil if the tree is empty
	count  int

	// version is stamped on every node that is made. viewed tells that a View
	// has seen the nodes of this version, so that the next change begins
	// another.
	version uint64
	viewed  bool
}

// New returns an empty tree.
func New() *Tree { return &Tree{limits: defaultLimits, version: firstVersion} }

// Get returns the value of key, and whether it is there.
func (t *Tree) Get(key []byte) (value uint64, ok bool) { return t.root.get(key) }

// Len returns the number of keys.
func (t *Tree) Len() int { return t.count }

// Bytes returns the bytes of heap that the tree holds, as the allocator rounds
// them, without what only older views still hold. It visits every node: some
// hundreds of microseconds for a million keys.
func (t *Tree) Bytes() int64 { return t.root.heapBytes() }

// View returns the tree as it stands. Later changes do not show in it, and the
// first change to each node after it has to copy that node.
func (t *Tree) View() View {
	t.viewed = true
	return View{root: t.root, count: t.count, limits: t.limits, version: t.version}
}

// Set maps key to value and returns what it was mapped to before. The key is
// copied. Values that fit fewer bytes take fewer: a leaf stores all its values
// in as many bytes as its greatest one needs.
func (t *Tree) Set(key []byte, value uint64) (old uint64, existed bool) {
	if t.root == nil {
		t.root = &node{version: t.version, block: emptyBlock(0)}
	}
	var steps [8]step
	path, leaf := t.root.descend(key, steps[:0])
	p := leaf.block.search(key)
	leaf = t.own(path, leaf, maxHead+len(key)-max(p.before, p.after))
	if width := valueWidth(value); width > leaf.block.width() {
		leaf.widen(width)
		p = leaf.block.search(key)
	}
	if p.found {
		at := leaf.block.entry(p.offset).value
		old = leaf.block.valueAt(at)
		leaf.block.setValueAt(at, value)
	} else {
		leaf.insert(p, key, value)
		t.count++
	}
	t.splitUp(path, leaf)
	return old, p.found
}

// Delete removes key and returns what it was mapped to.
func (t *Tree) Delete(key []byte) (old uint64, existed bool) {
	if t.root == nil {
		return 0, false
	}
	var steps [8]step
	path, leaf := t.root.descend(key, steps[:0])
	p := leaf.block.search(key)
	if !p.found {
		return 0, false
	}
	old = leaf.block.valueAt(leaf.block.entry(p.offset).value)
	leaf = t.own(path, leaf, 0)
	leaf.remove(p.offset)
	t.count--
	t.joinUp(path, leaf)
	return old, true
}

// step is one branch on the way down to a leaf, and the child taken.
type step struct {
	node  *node
	index int
}

// descend appends to path the way from n to the leaf in which key belongs.
func (n *node) descend(key []byte, path []step) ([]step, *node) {
	for !n.isLeaf() {
		i := n.childIndex(key)
		path = append(path, step{n, i})
		n = n.children[i]
	}
	return path, n
}

// get looks key up under n, which may be nil.
func (n *node) get(key []byte) (value uint64, ok bool) {
	if n == nil {
		return 0, false
	}
	for !n.isLeaf() {
		n = n.children[n.childIndex(key)]
	}
	p := n.block.search(key)
	if !p.found {
		return 0, false
	}
	return n.block.valueAt(n.block.entry(p.offset).value), true
}

// own makes the leaf and the branches of the path to it the tree's to edit, by
// copying those that a view may hold, and returns the leaf, with room for extra
// more bytes if it was copied. The path is brought up to date.
func (t *Tree) own(path []step, leaf *node, extra int) *node {
	if t.viewed {
		t.version++
		t.viewed = false
	}
	if leaf.version == t.version {
		return leaf // and so are the branches: it was reached through them
	}
	leaf = leaf.clone(t.version, extra)
	child := leaf
	for i := len(path) - 1; i >= 0; i-- {
		s := &path[i]
		if s.node.version == t.version {
			s.node.children[s.index] = child
			return leaf
		}
		s.node = s.node.clone(t.version, 0)
		s.node.children[s.index] = child
		child = s.node
	}
	t.root = child
	return leaf
}
