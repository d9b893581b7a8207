package textsearch

import (
	"cmp"
	"slices"

	"github.com/crabstore/crabstore/kv"
)

// page returns the matches that a query asks for, in order, and how many come
// before them.
func page(matches []match, q Query) (hits []match, before int) {
	limit := q.Limit
	switch {
	case limit == 0:
		limit = DefaultLimit
	case limit < 0:
		limit = len(matches)
	}
	if q.After == nil {
		return best(matches, limit), 0
	}
	if i, ok := find(matches, kv.AppendPart(nil, q.After.Key)); ok {
		rest := behind(matches, matches[i])
		return best(rest, limit), len(matches) - len(rest)
	}
	before = min(max(q.After.Rank-1, 0), len(matches))
	return best(matches, before+min(limit, len(matches)))[before:], before
}

// best returns the first n of matches in the order of hits. It holds twice as
// many at a time and sorts those, so that a common word costs no sorting of all
// documents that have it.
func best(matches []match, n int) []match {
	if n == 0 || len(matches) == 0 {
		return nil
	}
	n = min(n, len(matches))
	top := make([]match, 0, min(2*n, len(matches)))
	sorted := false // whether top[n-1] is the last that may enter
	for _, e := range matches {
		if sorted && byRank(e, top[n-1]) > 0 {
			continue
		}
		if len(top) == 2*n {
			slices.SortFunc(top, byRank)
			top, sorted = top[:n], true
		}
		top = append(top, e)
	}
	slices.SortFunc(top, byRank)
	return top[:n]
}

// byRank is the order of hits: by score, and by key where scores are equal. No two
// documents are equal.
func byRank(a, b match) int {
	return cmp.Or(cmp.Compare(b.score, a.score), compareKeys(a.key, b.key))
}

// compareKeys compares escaped keys as they are unescaped. Equal scores are common,
// so it takes no memory.
func compareKeys(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		first, n := unescapedByte(a)
		second, m := unescapedByte(b)
		if first != second {
			return cmp.Compare(first, second)
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// unescapedByte returns the first byte of an escaped key and how many stand for it.
func unescapedByte(key []byte) (byte, int) {
	if key[0] != '%' || len(key) < 3 {
		return key[0], 1
	}
	return hexDigit(key[1])<<4 | hexDigit(key[2]), 3
}

func hexDigit(c byte) byte {
	if c >= 'A' {
		return c - 'A' + 10
	}
	return c - '0'
}

// behind returns the matches that rank behind one of them.
func behind(matches []match, at match) []match {
	var rest []match
	for _, m := range matches {
		if byRank(m, at) > 0 {
			rest = append(rest, m)
		}
	}
	return rest
}
