// Package crashtest is for the tests of packages that keep more than one thing in a
// store, such as content and an index of it: it makes histories of their changes in a
// crabdb, kills the process and loses the power in the middle of them, and asks of what
// is left whether all of it agrees. The disk is that of package crashdisk.
//
//	subject.go    what a package has to say of itself
//	history.go    a store that is written to, and what may be found after a crash
//	random.go     Random: any changes, under any options, crashes anywhere
//	each.go       EachCall: chosen changes, a crash before each call
//	documents.go  the subject that an index of documents is
//
// # What is demanded
//
// In the sealed format, in which a transaction is all or nothing, the store has to be,
// to the byte, as it was after one of the commits: of a killed process after the last
// one that was acknowledged, or the one at hand; after a power loss after any of these
// that is not older than the sync mode promises. What it holds then has to be Sound,
// and stay so while the history goes on.
//
// In the plain format a crash leaves the first of the writes of a transaction. Bear
// reads them, and says what may not happen even so; after Repair all has to be Sound.
package crashtest

import (
	"math/rand/v2"

	"github.com/crabstore/crabstore/kv"
)

// Subject is what writes to a store, and knows what has to agree in it. It keeps
// nothing of the store in memory, since a crash takes a store back: what it has to
// know it reads there.
type Subject struct {
	Steps []Step

	// Sound returns an error unless all in the store agrees. It writes nothing.
	Sound func(s kv.KVStorage, rng *rand.Rand) error

	// Bear reads a store of the plain format as a crash left it, and returns an error
	// for what no crash may bring about.
	Bear func(s kv.KVStorage, rng *rand.Rand) error

	// Repair makes such a store Sound.
	Repair func(s kv.KVStorage) error
}

// Step is a change, of any number of transactions, or of none where the store has
// nothing to change.
type Step struct {
	Name  string
	Often int // compared with the others, in a random history
	Do    func(s kv.KVStorage, rng *rand.Rand) error
}

// step returns that of a name; nil of none.
func (u *Subject) step(name string) *Step {
	for i := range u.Steps {
		if u.Steps[i].Name == name {
			return &u.Steps[i]
		}
	}
	return nil
}

// any returns a step, each as often as it says.
func (u *Subject) any(rng *rand.Rand) *Step {
	all := 0
	for _, s := range u.Steps {
		all += s.Often
	}
	n := rng.IntN(all)
	for i := range u.Steps {
		if n -= u.Steps[i].Often; n < 0 {
			return &u.Steps[i]
		}
	}
	panic("unreachable")
}
