// Package frozen holds what stores in memory have in common: an ordered map that
// never changes, and the reading of one as a kv.Snapshot.
package frozen

import (
	"iter"
	"math/rand/v2"
)

// Map is a map from strings that keeps its keys in byte order and never changes:
// Put and Delete return another map, which shares with the old one all that did
// not change. Whoever holds a map therefore holds a frozen snapshot, for nothing
// and without a lock. The zero value is an empty one.
//
// It is a treap: a binary tree ordered by key, and a heap by a priority that each
// key draws at random, which keeps it some 1.4 log2(n) deep on average whatever
// the order of the writes. A write copies the nodes on the way to its key.
type Map[V any] struct {
	root *node[V]
	size int
}

// node is never changed once a map that holds it was handed out.
type node[V any] struct {
	key         string
	value       V
	priority    uint64 // no less than those of left and right
	left, right *node[V]
}

// Len returns the number of keys.
func (m Map[V]) Len() int { return m.size }

// Get returns the value of a key, and whether m holds it.
func (m Map[V]) Get(key string) (value V, ok bool) {
	for n := m.root; n != nil; {
		switch {
		case key < n.key:
			n = n.left
		case key > n.key:
			n = n.right
		default:
			return n.value, true
		}
	}
	return value, false
}

// Put returns m with a key set to value.
func (m Map[V]) Put(key string, value V) Map[V] {
	if _, ok := m.Get(key); !ok {
		m.size++
	}
	m.root = m.root.put(key, value)
	return m
}

// put returns a fresh root, so that the caller above may still turn it.
func (n *node[V]) put(key string, value V) *node[V] {
	if n == nil {
		return &node[V]{key: key, value: value, priority: rand.Uint64()}
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

// Delete returns m without a key.
func (m Map[V]) Delete(key string) Map[V] {
	if _, ok := m.Get(key); !ok {
		return m
	}
	return Map[V]{m.root.without(key), m.size - 1}
}

// without expects that n holds key.
func (n *node[V]) without(key string) *node[V] {
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
func join[V any](a, b *node[V]) *node[V] {
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

// Ascend yields the keys that are not less than from, ascending.
func (m Map[V]) Ascend(from string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) { m.root.ascend(from, yield) }
}

func (n *node[V]) ascend(from string, yield func(string, V) bool) bool {
	if n == nil {
		return true
	}
	if n.key >= from && !(n.left.ascend(from, yield) && yield(n.key, n.value)) {
		return false
	}
	return n.right.ascend(from, yield)
}

// Descend yields the keys that are less than before, descending; all of them when
// before is empty.
func (m Map[V]) Descend(before string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) { m.root.descend(before, yield) }
}

func (n *node[V]) descend(before string, yield func(string, V) bool) bool {
	if n == nil {
		return true
	}
	if (before == "" || n.key < before) && !(n.right.descend(before, yield) && yield(n.key, n.value)) {
		return false
	}
	return n.left.descend(before, yield)
}
