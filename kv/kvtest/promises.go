package kvtest

// promise is one sentence of kv and the test of it.
type promise struct {
	name string
	test func(f *fixture)

	everywhere bool // a transaction keeps it too
	atomic     bool // only of stores that have transactions
	persistent bool // only of stores that persist
}

func (p promise) skip(c Config) bool {
	return p.atomic && c.NonAtomic || p.persistent && c.Reopen == nil
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
