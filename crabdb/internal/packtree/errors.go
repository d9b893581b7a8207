package packtree

import "errors"

var (
	// ErrOutOfOrder reports a key given to Builder.Add, or the first key of a leaf
	// given to Load, that does not follow the one before it. The caller's input is
	// not sorted, or holds a key twice.
	ErrOutOfOrder = errors.New("packtree: key out of order")

	// ErrInvalidLeaf reports bytes that are no leaf. They were damaged, or were
	// never one; build the tree from its entries instead.
	ErrInvalidLeaf = errors.New("packtree: invalid leaf")
)
