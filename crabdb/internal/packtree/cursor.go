package packtree

import "slices"

// Cursor walks over the entries of a View, in both directions. It is at an
// entry or, before the first seek and past either end, at none. It may be used
// by one goroutine at a time; a view can have any number of them.
type Cursor struct {
	root  *node
	path  []step // to the leaf
	block block  // the leaf's entries; nil at no entry

	index int   // of the entry in the leaf
	entry entry // its parts
	key   []byte

	// starts lists where the leaf's entries begin. It is empty until the cursor
	// moves backwards in the leaf.
	starts []int32
}

// Valid tells whether the cursor is at an entry.
func (c *Cursor) Valid() bool { return c.block != nil }

// Key returns the key of the entry. It is the cursor's memory, valid until the
// cursor moves: copy it to keep it. The cursor must be at an entry.
func (c *Cursor) Key() []byte { return c.key[:len(c.key):len(c.key)] }

// Value returns the value of the entry. The cursor must be at one.
func (c *Cursor) Value() uint64 { return c.block.valueAt(c.entry.value) }

// Seek moves to the first entry whose key is not less than key, the first of
// all if key is empty, and tells whether there is one.
func (c *Cursor) Seek(key []byte) bool {
	p, ok := c.find(key)
	if !ok || p.offset == len(c.block) {
		return c.nextLeaf()
	}
	// What the entry shares with the one before it, key shares too: else it
	// would not stand between them.
	shared := c.block.entry(p.offset).shared
	c.key = append(c.key[:0], key[:shared]...)
	c.load(p.offset, p.index)
	return true
}

// SeekBefore moves to the last entry whose key is less than key, and tells
// whether there is one.
func (c *Cursor) SeekBefore(key []byte) bool {
	p, ok := c.find(key)
	if !ok || p.index == 0 {
		return c.previousLeaf()
	}
	c.loadBackwards(p.index-1, 0)
	return true
}

// SeekLast moves to the last entry, and tells whether there is one.
func (c *Cursor) SeekLast() bool {
	c.leave()
	c.path = c.path[:0]
	if c.root == nil {
		return false
	}
	c.enterLast(c.root)
	return true
}

// Next moves to the next entry and tells whether there is one. A cursor that is
// at no entry stays there.
func (c *Cursor) Next() bool {
	switch {
	case !c.Valid():
		return false
	case c.entry.next == len(c.block):
		return c.nextLeaf()
	}
	c.load(c.entry.next, c.index+1)
	return true
}

// Prev moves to the entry before and tells whether there is one. A cursor that
// is at no entry stays there.
func (c *Cursor) Prev() bool {
	switch {
	case !c.Valid():
		return false
	case c.index == 0:
		return c.previousLeaf()
	}
	c.loadBackwards(c.index-1, c.entry.shared)
	return true
}

// find goes to the leaf in which key belongs, and returns its place there. The
// cursor is at no entry of it yet. It is false if the view is empty.
func (c *Cursor) find(key []byte) (p place, ok bool) {
	c.leave()
	c.path = c.path[:0]
	if c.root == nil {
		return place{}, false
	}
	path, leaf := c.root.descend(key, c.path)
	c.path = path
	c.enter(leaf)
	return leaf.block.search(key), true
}

func (c *Cursor) enter(leaf *node) {
	c.block = leaf.block
	c.starts = c.starts[:0]
}

func (c *Cursor) leave() { c.block = nil }

// nextLeaf moves to the first entry of the next leaf, if there is one.
func (c *Cursor) nextLeaf() bool {
	c.leave()
	for last := len(c.path) - 1; last >= 0; last-- {
		s := &c.path[last]
		if s.index+1 < len(s.node.children) {
			s.index++
			c.enterFirst(s.node.children[s.index])
			return true
		}
		c.path = c.path[:last]
	}
	return false
}

// previousLeaf moves to the last entry of the leaf before, if there is one.
func (c *Cursor) previousLeaf() bool {
	c.leave()
	for last := len(c.path) - 1; last >= 0; last-- {
		s := &c.path[last]
		if s.index > 0 {
			s.index--
			c.enterLast(s.node.children[s.index])
			return true
		}
		c.path = c.path[:last]
	}
	return false
}

// enterFirst moves to the first entry under n.
func (c *Cursor) enterFirst(n *node) {
	for !n.isLeaf() {
		c.path = append(c.path, step{n, 0})
		n = n.children[0]
	}
	c.enter(n)
	c.load(headerSize, 0)
}

// enterLast moves to the last entry under n.
func (c *Cursor) enterLast(n *node) {
	for !n.isLeaf() {
		last := len(n.children) - 1
		c.path = append(c.path, step{n, last})
		n = n.children[last]
	}
	c.enter(n)
	c.loadBackwards(n.block.count()-1, 0)
}

// load moves to the entry at offset. The cursor's key begins with what the
// entry shares with the one before it.
func (c *Cursor) load(offset, index int) {
	c.index = index
	c.entry = c.block.entry(offset)
	c.key = append(c.key[:c.entry.shared], c.block[c.entry.rest:c.entry.next]...)
}

// loadBackwards moves to the entry with the given index, of whose key the
// cursor's key holds the first known bytes. The others that the entry shares
// are found in the entries before it, each the nearest that has it.
func (c *Cursor) loadBackwards(index, known int) {
	c.listStarts()
	start := int(c.starts[index])
	missing := c.block.entry(start).shared
	c.key = slices.Grow(c.key, max(missing-len(c.key), 0))[:missing]
	for i := index - 1; missing > known; i-- {
		e := c.block.entry(int(c.starts[i]))
		if e.shared < missing {
			copy(c.key[e.shared:missing], c.block[e.rest:])
			missing = e.shared
		}
	}
	c.load(start, index)
}

// listStarts fills starts for the current leaf.
func (c *Cursor) listStarts() {
	if len(c.starts) > 0 {
		return
	}
	for offset := headerSize; offset < len(c.block); offset = c.block.entry(offset).next {
		c.starts = append(c.starts, int32(offset))
	}
}
