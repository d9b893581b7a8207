package kvtest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/crabstore/crabstore/kv"
)

// model is what a store should hold: the plainest map there is.
type model map[kv.Column]map[string]string

func newModel() model {
	m := model{}
	for _, c := range everyColumn() {
		m[c] = map[string]string{}
	}
	return m
}

func (m model) clone() model {
	c := model{}
	for column, held := range m {
		c[column] = maps.Clone(held)
	}
	return c
}

// entries returns what a column holds, ascending.
func (m model) entries(c kv.Column) []entry {
	var all []entry
	for key, value := range m[c] {
		all = append(all, entry{key, value})
	}
	sortEntries(all)
	return all
}

// sortEntries sorts by the bytes of the keys, which is how Go compares strings.
func sortEntries(entries []entry) {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
}
