// Package kvtest is the conformance suite of kv: every promise that the package
// makes of a store is a named test here, and a store is one that passes them.
//
// An adapter's own test opens the store and runs the suite:
//
//	func TestConformance(t *testing.T) {
//		kvtest.Run(t, kvtest.Config{
//			Open: func(t testing.TB) kv.KVStorage { … },
//			Reopen: func(t testing.TB, s kv.KVStorage) kv.KVStorage { … },
//		})
//	}
//
// What a transaction must keep as a store is tested on one: those promises run a
// second time inside an Update, below "InTransaction". Names that begin with a
// letter and digits, as B03, are those of reported faults of comparable software.
//
// The suite is held to its own standard: its tests run it over a store of the five
// methods alone, over views and overlays, and over stores that each break one
// promise, which it has to notice.
//
// config.go holds Config and Run, promises.go the list of promises, fixture.go
// what they are written with; each of the other files holds the promises of one
// subject.
package kvtest
