package textsearch

import (
	"cmp"
	"slices"

	"github.com/crabstore/crabstore/kv"
)

// rank returns the page of matches that a query asks for, in order.
func rank(matches []match, q Query) []match {
	if q.After != nil {
		matches = behind(matches, *q.After)
	}
	limit := q.Limit
	switch {
	case limit == 0:
		limit = DefaultLimit
	case limit < 0:
		limit = len(matches)
	}
	return best(matches, limit)
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

// behind returns the matches that follow a cursor. The document it names is taken
// by the score it has now, since every score moves with the statistics.
func behind(matches []match, c Cursor) []match {
	at := match{key: kv.AppendPart(nil, c.Key), score: c.Score}
	if i, ok := find(matches, at.key); ok {
		at = matches[i]
	}
	var rest []match
	for _, e := range matches {
		if byRank(e, at) > 0 {
			rest = append(rest, e)
		}
	}
	return rest
}
