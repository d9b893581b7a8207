package textsearch

import (
	"bytes"
	"slices"
)

// Lists of documents are sorted by key, escaped as it is in the store, and have a
// document once.

// listed is an element of such a list.
type listed[T any] interface {
	document() []byte
	plus(T) T // what both say of one document
}

// occurrence is what a document holds of what a lookup asks for.
type occurrence struct {
	key       []byte
	frequency uint64 // of all the terms looked up
	exact     uint64 // of these, in the form that was asked for
	length    uint64 // of the document
	weight    float64
}

func newOccurrence(key, value []byte, exact bool) (occurrence, error) {
	p, err := readPosting(value)
	if err != nil {
		return occurrence{}, err
	}
	o := occurrence{key: key, frequency: p.frequency, length: p.length, weight: p.weight}
	if exact {
		o.exact = p.frequency
	}
	return o, nil
}

func (o occurrence) document() []byte { return o.key }

func (o occurrence) plus(other occurrence) occurrence {
	o.frequency += other.frequency
	o.exact += other.exact
	return o
}

// match is a document with its score for a lookup, a clause or a query.
type match struct {
	key   []byte
	score float64
}

func (m match) document() []byte { return m.key }

func (m match) plus(other match) match { return match{m.key, m.score + other.score} }

// union merges lists.
func union[T listed[T]](lists [][]T) []T {
	switch len(lists) {
	case 0:
		return nil
	case 1:
		return lists[0]
	}
	half := len(lists) / 2
	return merge(union(lists[:half]), union(lists[half:]))
}

func merge[T listed[T]](a, b []T) []T {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	out := make([]T, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch order := bytes.Compare(a[0].document(), b[0].document()); {
		case order < 0:
			out, a = append(out, a[0]), a[1:]
		case order > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0].plus(b[0])), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// intersection returns what of list is in other too.
func intersection(list, other []match) []match {
	var out []match
	for _, m := range list {
		n, ok := find(other, m.key)
		other = other[n:]
		if ok {
			out = append(out, m)
		}
	}
	return out
}

// find returns where a document is, or would be, in a list.
func find(list []match, key []byte) (int, bool) {
	return slices.BinarySearchFunc(list, key, func(m match, key []byte) int { return bytes.Compare(m.key, key) })
}

// withPrefix returns the part of a list whose keys begin with prefix, escaped.
func withPrefix(list []match, prefix []byte) []match {
	start, _ := find(list, prefix)
	end := start
	for end < len(list) && bytes.HasPrefix(list[end].key, prefix) {
		end++
	}
	return list[start:end]
}
