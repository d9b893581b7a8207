package packtree

import (
	"iter"
	"unsafe"
)

// View is a tree as it stood when the View was taken. It never changes, and is
// safe for any number of goroutines. The zero View is empty.
type View struct {
	root    *node
	count   int
	limits  limits
	version uint64
}

// Tree returns a new tree that begins as the view, in constant time. It shares
// the view's memory and copies what it changes: a change to it shows neither in
// the view nor in the tree that the view is of. The two may be changed at the
// same time, each by its own writer.
func (v View) Tree() *Tree {
	if v.root == nil {
		return New()
	}
	return &Tree{limits: v.limits, root: v.root, count: v.count, version: v.version, viewed: true}
}

// Get returns the value of key, and whether it is there.
func (v View) Get(key []byte) (value uint64, ok bool) { return v.root.get(key) }

// Len returns the number of keys.
func (v View) Len() int { return v.count }

// Bytes is Tree.Bytes of the tree as it stood.
func (v View) Bytes() int64 { return v.root.heapBytes() }

// Cursor returns a cursor over the view, which is not at an entry yet.
func (v View) Cursor() *Cursor { return &Cursor{root: v.root} }

// Leaves returns the leaves in key order, each as its bytes (block.go states
// the encoding; Load reads it). They are the tree's own memory: the
// caller may keep them and must not change them.
func (v View) Leaves() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if v.root != nil {
			v.root.leaves(yield)
		}
	}
}

// leaves yields the leaves under n until yield returns false, and tells whether
// it never did.
func (n *node) leaves(yield func([]byte) bool) bool {
	if n.isLeaf() {
		return yield(n.block[:len(n.block):len(n.block)])
	}
	for _, child := range n.children {
		if !child.leaves(yield) {
			return false
		}
	}
	return true
}

// What a node takes beside its block and its list of children, and each of those.
const (
	nodeBytes  = int(unsafe.Sizeof(node{}))
	childBytes = int(unsafe.Sizeof((*node)(nil)))
)

// heapBytes returns the bytes of heap of n, which may be nil, and of all below
// it. Capacities are sizes that the allocator has, so this is what it gave out;
// of a leaf from outside it counts the length.
func (n *node) heapBytes() int64 {
	if n == nil {
		return 0
	}
	total := int64(nodeBytes + cap(n.block) + childBytes*cap(n.children))
	for _, child := range n.children {
		total += child.heapBytes()
	}
	return total
}
