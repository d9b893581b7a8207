package main

import (
	"errors"
	"fmt"
	"strings"
)

// errAbsent is what get returns for a key that is not there.
var errAbsent = errors.New("absent")

// store is an open store of some engine. put, get, delete and scan are safe for
// concurrent use, and compact beside them where stallKind does not say otherwise.
type store interface {
	// put sets one key, durable as the mode of opening says.
	put(key, value []byte) error

	// putBatch sets many keys in one commit that is there whole or not at all.
	putBatch(entries []entry) error

	// get returns a copy of a value, which may use the space of buf and lasts as
	// long as that. It returns errAbsent when there is none.
	get(key, buf []byte) ([]byte, error)

	// delete removes a key.
	delete(key []byte) error

	// scan calls visit for the keys with a prefix, in order; value is nil unless
	// values are asked for. The slices are visit's until it returns.
	scan(prefix []byte, values bool, visit func(key, value []byte)) error

	// compact gives back what was overwritten and deleted, and returns when it has.
	compact() error

	close() error
}

type entry struct{ key, value []byte }

// mode is how a store is opened for a line.
type mode struct {
	// synced makes every write reach the disk before it returns.
	synced bool

	// manual leaves compaction to compact where the engine allows that, so that the
	// time of the whole of it is measured.
	manual bool
}

// engine is a kind of store. What its settings are is printed with the results.
type engine struct {
	name     string // as -stores names it
	title    string // as tables name it
	module   string // where its version is found
	settings string // in words, with the reason
	open     func(dir string, m mode) (store, error)
	stall    stallKind
	ours     bool // no peer
}

// stallKind says what a writer can be measured beside.
type stallKind int

const (
	besideCompact  stallKind = iota // compact runs while others write
	besideItself                    // the engine's own compactors only, since compact must be alone
	excludesWriter                  // writers wait for all of compact: there is no figure
)

// engines are all that this program was built with, crabdb first.
func engines() []engine {
	all := []engine{crabdbEngine, pebbleEngine, bboltEngine, badgerEngine, moderncEngine}
	return append(all, cgoEngines...)
}

func engineNamed(name string) (engine, error) {
	var names []string
	for _, e := range engines() {
		if e.name == name {
			return e, nil
		}
		names = append(names, e.name)
	}
	return engine{}, fmt.Errorf("no store %q; there are %s", name, strings.Join(names, ", "))
}

// prefixEnd returns the first key behind all with a prefix.
func prefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for len(end) > 0 {
		if end[len(end)-1]++; end[len(end)-1] != 0 {
			return end
		}
		end = end[:len(end)-1]
	}
	return nil
}
