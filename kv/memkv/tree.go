package memkv

import (
	"iter"
	"math/rand/v2"
)

// tree is a map from strings that keeps its keys in byte order and never changes:
// put and delete return another tree, which shares with the old one all that did
// not change. Whoever holds a tree therefore holds a frozen snapshot, for nothing
// and without a lock. The zero value is an empty one.
//
// It is a treap: a binary tree ordered by key, and a heap by a priority that each
// key draws at random, which keeps it some 1.4 log2(n) deep on average whatever
// the order of the writes. A write copies the nodes on the way to its key.
type tree struct {
	root *node
	size int
}

// node is never changed once a tree that holds it was handed out.
type node struct {
	key         string
	value       []byte
	priority    uint64 // no less than those of left and right
	left, right *node
}

// get returns the value of a key, and whether t holds it.
func (t tree) get(key string) (value []byte, ok bool) {
	for n := t.root; n != nil; {
		switch {
		case key < n.key:
			n = n.left
		case key > n.key:
			n = n.right
		default:
			return n.value, true
		}
	}
	return nil, false
}

// put returns t with a key set to value.
func (t tree) put(key string, value []byte) tree {
	if _, ok := t.get(key); !ok {
		t.size++
	}
	t.root = t.root.put(key, value)
	return t
}

// put returns a fresh root, so that the caller above may still turn it.
func (n *node) put(key string, value []byte) *node {
	if n == nil {
		return &node{key: key, value: value, priority: rand.Uint64()}
	}
	fresh := *n
	switch {
	case key < n.key:
		child := n.left.put(key, value)
		if child.priority > n.priority {
			fresh.left, child.right = child.right, &fresh
			return child
		}
		fresh.left = child
	case key > n.key:
		child := n.right.put(key, value)
		if child.priority > n.priority {
			fresh.right, child.left = child.left, &fresh
			return child
		}
		fresh.right = child
	default:
		fresh.value = value
	}
	return &fresh
}

// delete returns t without a key.
func (t tree) delete(key string) tree {
	if _, ok := t.get(key); !ok {
		return t
	}
	return tree{t.root.without(key), t.size - 1}
}

// without expects that n holds key.
func (n *node) without(key string) *node {
	if key == n.key {
		return join(n.left, n.right)
	}
	fresh := *n
	if key < n.key {
		fresh.left = n.left.without(key)
	} else {
		fresh.right = n.right.without(key)
	}
	return &fresh
}

// join makes one tree of two, all keys of a being less than those of b.
func join(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority > b.priority:
		fresh := *a
		fresh.right = join(a.right, b)
		return &fresh
	default:
		fresh := *b
		fresh.left = join(a, b.left)
		return &fresh
	}
}

// ascend yields the keys that are not less than from, ascending.
func (t tree) ascend(from string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) { t.root.ascend(from, yield) }
}

func (n *node) ascend(from string, yield func(string, []byte) bool) bool {
	if n == nil {
		return true
	}
	if n.key >= from && !(n.left.ascend(from, yield) && yield(n.key, n.value)) {
		return false
	}
	return n.right.ascend(from, yield)
}

// descend yields the keys that are less than before, descending; all of them when
// before is empty.
func (t tree) descend(before string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) { t.root.descend(before, yield) }
}

func (n *node) descend(before string, yield func(string, []byte) bool) bool {
	if n == nil {
		return true
	}
	if (before == "" || n.key < before) && !(n.right.descend(before, yield) && yield(n.key, n.value)) {
		return false
	}
	return n.left.descend(before, yield)
}
