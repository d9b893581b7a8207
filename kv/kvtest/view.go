package kvtest

import (
	"errors"

	"github.com/crabstore/crabstore/kv"
)

func viewPromises() []promise {
	return []promise{
		{name: "ViewReads", test: viewReads, everywhere: true},
		{name: "ViewRefusesWrites", test: viewRefusesWrites, everywhere: true},
		{name: "ViewReturnsTheErrorOfItsFunction", test: viewReturnsTheError, everywhere: true},
		{name: "ViewDies", test: viewDies},
		{name: "ViewIsFrozen", test: viewIsFrozen, isolated: true},
	}
}

// view runs fn in a View that has to succeed.
func (f *fixture) view(fn func(tx *fixture)) {
	f.Helper()
	f.must(kv.View(f.ctx, f.store, func(tx kv.KVStorage) error {
		fn(f.on(tx))
		return nil
	}), "View")
}

func viewReads(f *fixture) {
	_, want := ascending(20, numbered)
	f.fill(20, numbered)
	f.view(func(tx *fixture) {
		tx.wantValue(numbered(3), numbered(3))
		tx.wantAbsent("absent")
		tx.wantScan("", want...)
		tx.wantRange(col, want, kv.Range{Reverse: true, After: []byte(numbered(9)), KeysOnly: true})
		tx.view(func(inner *fixture) { inner.wantScan("", want...) })
	})
}

func viewRefusesWrites(f *fixture) {
	f.put("k", "v")
	write := func(tx *fixture) {
		tx.wantError(tx.store.Put(tx.ctx, col, []byte("new"), nil), kv.ErrReadOnly, "Put in a View")
		tx.wantError(tx.store.Put(tx.ctx, col, []byte("k"), nil), kv.ErrReadOnly, "Put in a View")
		_, err := tx.store.Delete(tx.ctx, col, []byte("k"))
		tx.wantError(err, kv.ErrReadOnly, "Delete in a View")
	}
	f.view(func(tx *fixture) {
		write(tx)
		err := kv.Update(tx.ctx, tx.store, func(inner kv.KVStorage) error {
			write(tx.on(inner))
			return nil
		})
		if err != nil && !errors.Is(err, kv.ErrReadOnly) {
			tx.Fatalf("Update in a View: %v; want ErrReadOnly, or that its writes are refused", err)
		}
		tx.wantScan("", entry{"k", "v"})
	})
	f.wantScan("", entry{"k", "v"})
}

func viewReturnsTheError(f *fixture) {
	boom := errors.New("boom")
	err := kv.View(f.ctx, f.store, func(kv.KVStorage) error { return boom })
	f.wantError(err, boom, "View whose function returned an error")
	got := recovered(func() {
		_ = kv.View(f.ctx, f.store, func(kv.KVStorage) error { panic("boom") })
	})
	if got != "boom" {
		f.Fatalf("the panic in a View came out as %v, want boom", got)
	}
	f.put("k", "the store goes on")
}

func viewDies(f *fixture) {
	f.put("k", "v")
	var dead kv.KVStorage
	f.view(func(tx *fixture) { dead = tx.store })
	f.on(dead).wantClosed()
}

// viewIsFrozen writes to the store from inside a View, which waits for nothing
// and shows nothing.
func viewIsFrozen(f *fixture) {
	const n = 100
	_, want := ascending(n, numbered)
	f.fill(n, numbered)
	f.within("writing while a View is open", func() {
		f.view(func(tx *fixture) {
			f.put(numbered(0), "replaced")
			f.delete(numbered(1))
			f.update(func(write *fixture) {
				write.put(numbered(2), "replaced")
				write.put("new", "")
			})
			tx.wantScan("", want...)
			tx.wantValue(numbered(0), numbered(0))
			tx.wantValue(numbered(1), numbered(1))
			tx.wantAbsent("new")
			f.deletePrefix("")
			f.wantEmpty()
			tx.wantScan("", want...)
			tx.wantRange(col, want, kv.Range{Reverse: true})
			tx.view(func(inner *fixture) { inner.wantScan("", want...) })
		})
	})
	f.view(func(tx *fixture) { tx.wantEmpty() })
}
