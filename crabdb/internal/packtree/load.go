package packtree

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// foreignVersion is that of a leaf whose bytes belong to someone else. No tree
// has it, so none writes to them.
const foreignVersion = 0

// stretchLeaves is how many leaves are checked at a time: some tens of
// microseconds of work, worth handing to another processor.
const stretchLeaves = 256

// roomyKey is room for most keys and the word more that makes appendShort fast.
const roomyKey = 512

// Load returns a tree of whole leaves, as View.Leaves gave them, in key order.
// The tree keeps their bytes, which must not change any more, and copies a leaf
// before it writes to it; what the leaves are slices of stays in memory until
// the last of them was copied or dropped.
//
// A leaf that is not well formed is ErrInvalidLeaf, one that does not follow the
// leaf before it ErrOutOfOrder. check is asked about the entries of every leaf, in a
// slice that it may not keep, by several goroutines at once; what it returns is the
// error, too. Of several leaves with something wrong the first in key order is told.
func Load(leaves [][]byte, check func([]Entry) error) (*Tree, error) {
	return loadLeaves(defaultLimits, leaves, check)
}

func loadLeaves(limits limits, leaves [][]byte, check func([]Entry) error) (*Tree, error) {
	l := &load{
		leaves:     leaves,
		check:      check,
		nodes:      make([]node, len(leaves)),
		separators: make([][]byte, max(len(leaves), 1)-1),
		stretches:  make([]stretch, (len(leaves)+stretchLeaves-1)/stretchLeaves),
	}
	l.run()
	t := &Tree{limits: limits, version: firstVersion}
	for _, s := range l.stretches {
		if s.err != nil {
			return nil, s.err
		}
		t.count += s.count
	}
	nodes := make([]*node, len(l.nodes))
	for i := range nodes {
		nodes[i] = &l.nodes[i]
	}
	t.root = rootOf(nodes, l.separators, limits)
	return t, nil
}

// load is one under way. The nodes are one piece of memory, which is no waste:
// they go when the bytes go to which they point.
type load struct {
	leaves     [][]byte
	check      func([]Entry) error
	nodes      []node
	separators [][]byte // between each leaf and the next, in the memory of the latter
	stretches  []stretch
}

// stretch is what was found out about stretchLeaves leaves.
type stretch struct {
	count int // entries
	err   error
}

// run checks all stretches, on all processors.
func (l *load) run() {
	var taken atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(l.stretches)) {
		workers.Go(func() {
			for i := taken.Add(1) - 1; i < int64(len(l.stretches)); i = taken.Add(1) - 1 {
				s := &l.stretches[i]
				s.count, s.err = l.add(int(i)*stretchLeaves, min(int(i+1)*stretchLeaves, len(l.leaves)))
			}
		})
	}
	workers.Wait()
}

// add checks a stretch of leaves, and makes their nodes and separators. The leaf
// before it is checked once more, for the sake of its last key.
func (l *load) add(from, to int) (count int, err error) {
	var entries []Entry
	last, spare := make([]byte, 0, roomyKey), make([]byte, 0, roomyKey)
	for i := max(from-1, 0); i < to; i++ {
		leaf, before := block(l.leaves[i]), last
		if entries, last, err = leaf.validate(spare, entries); err != nil {
			return 0, err
		}
		spare = before
		if i < from {
			continue
		}
		if i > 0 {
			e := leaf.entry(headerSize)
			first := leaf[e.rest:e.next]
			if bytes.Compare(first, before) <= 0 {
				return 0, fmt.Errorf("%w: %.80q after %.80q", ErrOutOfOrder, first, before)
			}
			l.separators[i-1] = separator(before, first)
		}
		if err := l.check(entries); err != nil {
			return 0, err
		}
		l.nodes[i] = node{version: foreignVersion, block: leaf[:len(leaf):len(leaf)]}
		count += len(entries)
	}
	return count, nil
}
