// Package packtree is the resident index of the crabdb engine: an ordered map
// from keys (any bytes, the empty key included) to unsigned integers (offsets
// into the store's file), held in less memory than the keys themselves take.
//
// # What it promises
//
// A [Tree] has one writer at a time; the caller's lock sees to that, and covers
// every method of Tree. [Tree.View] freezes the tree as it stands, in constant
// time. A [View] never changes, needs no lock, and may be read by any number of
// goroutines while the writer goes on. It costs nothing to drop: the garbage
// collector takes back what only it could reach. [View.Tree] makes a view the
// beginning of another tree, as cheaply, for changes that may come to nothing.
//
// Keys handed in are copied, never kept. Memory is given back as keys are
// deleted: a tree that was emptied holds nothing.
//
// # How it is laid out
//
// It is a B+tree. A leaf is one []byte of about a KiB in which neighbouring
// keys share their common prefix (block.go states the encoding to the byte), so
// a key costs its few distinguishing bytes, its value and two lengths, no
// pointer, and the garbage collector has nothing to follow inside a leaf. The
// separators of a branch are a block of the same encoding, cut to the shortest
// bytes that part two leaves. One routine searches both.
//
// A leaf's bytes hold no address and refer to nothing outside themselves, so
// they can be written to a file and read back as they are: [View.Leaves] hands
// them out, and [Load] checks and takes what came from outside.
//
// Nodes are copied on write, but only once for each view: every node carries
// the version of the tree that made it, View ends a version, and a node of the
// current version is edited in place. A first write after a view copies one
// leaf and the pointers of the branches above it; separators are shared until a
// leaf splits or goes.
//
//	block.go     the encoding, and the search
//	edit.go      changes to a block: insert, remove, widen, split, join
//	validate.go  checks for a leaf from outside
//	node.go      nodes: sizes, copies, children
//	tree.go      Tree: lookup and change
//	balance.go   Tree: splits and joins after a change
//	view.go      View
//	cursor.go    Cursor: iteration both ways
//	builder.go   Builder: a full tree from sorted entries
//	load.go      Load: a tree from leaves
//	errors.go    what can be wrong with them
package packtree
