package textsearch

import (
	"bytes"
	"slices"
)

// entry is a document in the list of what a lookup, a clause or a query matched.
// Lists are sorted by key, and have a document once.
type entry struct {
	key       []byte // of the document, escaped
	frequency uint64 // of all the terms looked up
	exact     uint64 // of these, how often in the form that was asked for
	length    uint64
	weight    float64
	score     float64
}

func newEntry(key, value []byte, exact bool) (entry, error) {
	p, err := readPosting(value)
	if err != nil {
		return entry{}, err
	}
	e := entry{key: key, frequency: p.frequency, length: p.length, weight: p.weight}
	if exact {
		e.exact = p.frequency
	}
	return e, nil
}

// union merges lists. What they say of one document adds up.
func union(lists [][]entry) []entry {
	switch len(lists) {
	case 0:
		return nil
	case 1:
		return lists[0]
	}
	half := len(lists) / 2
	return merge(union(lists[:half]), union(lists[half:]))
}

func merge(a, b []entry) []entry {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	out := make([]entry, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch order := bytes.Compare(a[0].key, b[0].key); {
		case order < 0:
			out, a = append(out, a[0]), a[1:]
		case order > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			both := a[0]
			both.frequency += b[0].frequency
			both.exact += b[0].exact
			both.score += b[0].score
			out, a, b = append(out, both), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// intersection returns the entries of list whose documents are in other too.
func intersection(list, other []entry) []entry {
	var out []entry
	for _, e := range list {
		n, ok := find(other, e.key)
		other = other[n:]
		if ok {
			out = append(out, e)
		}
	}
	return out
}

// find returns where a document is, or would be, in a list.
func find(list []entry, key []byte) (int, bool) {
	return slices.BinarySearchFunc(list, key, func(e entry, key []byte) int { return bytes.Compare(e.key, key) })
}

// withPrefix returns the part of a list whose keys begin with prefix, escaped.
func withPrefix(list []entry, prefix []byte) []entry {
	start, _ := find(list, prefix)
	end := start
	for end < len(list) && bytes.HasPrefix(list[end].key, prefix) {
		end++
	}
	return list[start:end]
}
