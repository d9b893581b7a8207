package textsearch

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/crabstore/crabstore/kv"
)

// rank returns the page of matches that a query asks for, in order.
func rank(matches []entry, q Query) []entry {
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
func best(matches []entry, n int) []entry {
	if n == 0 || len(matches) == 0 {
		return nil
	}
	n = min(n, len(matches))
	top := make([]entry, 0, min(2*n, len(matches)))
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
func byRank(a, b entry) int {
	return cmp.Or(cmp.Compare(b.score, a.score), compareKeys(a.key, b.key))
}

// compareKeys compares escaped keys as they are unescaped.
func compareKeys(a, b []byte) int {
	if bytes.IndexByte(a, '%') < 0 && bytes.IndexByte(b, '%') < 0 {
		return bytes.Compare(a, b)
	}
	return cmp.Compare(unescaped(a), unescaped(b))
}

func unescaped(key []byte) string {
	if s, err := part(key, nil); err == nil {
		return s
	}
	return string(key) // reported where it becomes a hit
}

// behind returns the matches that follow a cursor. The document it names is taken
// by the score it has now, since every score moves with the statistics.
func behind(matches []entry, c Cursor) []entry {
	at := entry{key: kv.AppendPart(nil, c.Key), score: c.Score}
	if i, ok := find(matches, at.key); ok {
		at = matches[i]
	}
	var rest []entry
	for _, e := range matches {
		if byRank(e, at) > 0 {
			rest = append(rest, e)
		}
	}
	return rest
}
