package crabdb

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
)

// measure completes an index that was loaded from a plain snapshot with what the
// snapshot does not say, the sizes of the records, and so finds how many bytes
// are live. It reads the records in the order of the file, and checks that each is
// the one that the index means: a snapshot of another file, or of an older state
// of this one, is found out.
func (l *loader) measure(view packtree.View) (sized *packtree.Tree, live int64, reason, err error) {
	type place struct {
		index int
		at    int64
	}
	places := make([]place, 0, view.Len())
	ids := make([][]byte, 0, view.Len())
	var keys carver
	for c, ok := first(view); ok; ok = c.Next() {
		places = append(places, place{len(ids), location(c.Value()).offset()})
		ids = append(ids, keys.copy(c.Key()))
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	sizes := make([]int, len(ids))
	offsets := make([]int64, len(ids))
	end := int64(0)
	for _, p := range places {
		n, reason, err := l.sizeIndexed(ids[p.index], p.at)
		if reason != nil || err != nil {
			return nil, 0, reason, err
		}
		if p.at < end {
			return nil, 0, fmt.Errorf("it points at %d, into another of its records", p.at), nil
		}
		end = p.at + int64(n)
		sizes[p.index], offsets[p.index] = n, p.at
		live += int64(n)
	}
	b := packtree.NewBuilder()
	for i, id := range ids {
		if err := b.Add(id, uint64(locate(offsets[i], sizes[i]))); err != nil {
			return nil, 0, nil, err
		}
	}
	return b.Finish(), live, nil, nil
}

// sizeIndexed returns the size of the put that the index has at an offset, or why
// what stands there is not it.
func (l *loader) sizeIndexed(id []byte, at int64) (n int, reason, err error) {
	need := valueAtKey + len(id) - 1 + 4
	if at+int64(need) > l.head.indexAt {
		return 0, fmt.Errorf("it points at %d, where no record fits", at), nil
	}
	b, err := l.peek(at, need)
	if err != nil {
		return 0, nil, err
	}
	key := int(binary.LittleEndian.Uint32(b[2:]))
	if b[0] != opPut || b[1] != id[0] || key != len(id)-1 || string(b[valueAtKey:need-4]) != string(id[1:]) {
		return 0, fmt.Errorf("it points at %d, where another record stands", at), nil
	}
	value := int64(binary.LittleEndian.Uint32(b[need-4:]))
	if value > MaxValue || at+int64(l.log.size(key, 0))+value > l.head.indexAt {
		return 0, fmt.Errorf("it points at %d, to a record that ends behind it", at), nil
	}
	return l.log.size(key, int(value)), nil, nil
}
