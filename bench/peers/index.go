package main

import (
	"fmt"
	"strings"
)

// index is an open full-text index of some engine.
type index interface {
	// add indexes documents in one commit, durable as the mode of opening says.
	add(docs []document) error

	// top returns the keys of the best topHits documents for a query, or of any where
	// the engine ranks nothing.
	top(q query) ([]string, error)

	// count returns how many documents match.
	count(q query) (int, error)

	// optimize makes the index as quick and small as the engine can.
	optimize() error

	close() error
}

// topHits is how many documents a search is for.
const topHits = 10

type document struct{ key, text string }

// indexer is a kind of index. What its settings are is printed with the results.
type indexer struct {
	name     string // as -engines names it
	title    string // as tables name it
	module   string // where its version is found
	settings string // in words, with the reason
	open     func(dir string, synced bool) (index, error)
	literals bool // it answers these, and nothing else
	ours     bool // no peer
}

// column is the engine as the table shows it.
func (e indexer) column() engine {
	return engine{name: e.name, title: e.title, module: e.module, settings: e.settings, ours: e.ours}
}

func (e indexer) answers(kind queryKind) bool { return e.literals == (kind.id == literal) }

// indexers are all engines, ours first.
func indexers() []indexer {
	return append([]indexer{crabtextIndexer, crabliteralIndexer, bleveIndexer}, fts5Indexers()...)
}

func indexerNamed(name string) (indexer, error) {
	var names []string
	for _, e := range indexers() {
		if e.name == name {
			return e, nil
		}
		names = append(names, e.name)
	}
	return indexer{}, fmt.Errorf("no search engine %q; there are %s", name, strings.Join(names, ", "))
}
