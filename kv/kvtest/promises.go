package kvtest

import (
	"errors"

	"github.com/crabstore/crabstore/kv"
)

// promise is one sentence of kv and the test of it.
type promise struct {
	name string
	test func(f *fixture)

	everywhere bool // a transaction keeps it too
	isolated   bool // only of stores that have transactions of their own
	persistent bool // only of stores that persist
}

// check tests the promise on an open store.
func (p promise) check(f *fixture) {
	f.Helper()
	switch {
	case p.isolated && !f.isolated():
		f.Skip("the store has no transactions")
	case p.persistent && f.Reopen == nil:
		f.Skip("the store persists nothing")
	}
	p.test(f)
}

// isolated tells whether the store is a kv.Transactor: what kv does in its place
// does not keep updates and views apart.
func (f *fixture) isolated() bool {
	_, ok := kv.As[kv.Transactor](f.store)
	return ok
}

// errRollBack ends a transaction whose writes are not wanted.
var errRollBack = errors.New("kvtest: roll back")

// checkInTransaction tests the promise on a transaction, which is rolled back.
func (p promise) checkInTransaction(f *fixture) {
	err := kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
		p.test(f.on(tx))
		return errRollBack
	})
	f.wantError(err, errRollBack, "Update whose function returned an error")
	f.wantEmpty()
}

// promises lists all of them.
func promises() []promise {
	var all []promise
	for _, some := range [][]promise{
		basicPromises(), orderPromises(), valuePromises(), limitPromises(), ownershipPromises(),
		scanPromises(), frozenPromises(), rangePromises(), transactionPromises(), viewPromises(),
		isolationPromises(), contextPromises(), closePromises(), realmPromises(),
		wrapperPromises(), persistencePromises(), historyPromises(), concurrencyPromises(),
	} {
		all = append(all, some...)
	}
	return all
}
