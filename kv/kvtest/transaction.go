package kvtest

import (
	"errors"
	"iter"
	"runtime"

	"github.com/crabstore/crabstore/kv"
)

func transactionPromises() []promise {
	return []promise{
		{name: "UpdateCommits", test: updateCommits, everywhere: true},
		{name: "UpdateReadsItsOwnWrites", test: updateReadsItsOwnWrites, everywhere: true},
		{name: "UpdateIsUnseenUntilItCommits", test: updateIsUnseenUntilItCommits},
		{name: "ErrorRollsBack", test: errorRollsBack},
		{name: "PanicRollsBack", test: panicRollsBack},
		{name: "GoexitRollsBack", test: goexitRollsBack},
		{name: "RefusedWritesLeaveTheRest", test: refusedWritesLeaveTheRest},
		{name: "InnerUpdateJoins", test: innerUpdateJoins},
		{name: "OuterUpdateDecides", test: outerUpdateDecides},
		{name: "DeadTransactionIsClosed", test: deadTransactionIsClosed},
		{name: "ScanOutlivesItsTransaction", test: scanOutlivesItsTransaction},
	}
}

func updateCommits(f *fixture) {
	f.put("kept", "1")
	f.put("replaced", "2")
	f.put("deleted", "3")
	f.update(func(tx *fixture) {
		tx.put("new", "")
		tx.put("replaced", "two")
		if !tx.delete("deleted") || tx.delete("absent") {
			tx.Fatalf("Delete in an Update tells wrongly what was there")
		}
		tx.must(tx.store.Put(tx.ctx, kv.Text, []byte("new"), []byte("in text")), "Put in another column")
	})
	f.wantScan("", entry{"kept", "1"}, entry{"new", ""}, entry{"replaced", "two"})
	value, err := f.store.Get(f.ctx, kv.Text, []byte("new"))
	if err != nil || string(value) != "in text" {
		f.Fatalf("the write to another column: %q, %v", value, err)
	}
	f.update(func(*fixture) {})
	f.wantKeys("", "kept", "new", "replaced")
}

func updateReadsItsOwnWrites(f *fixture) {
	f.put("b", "old")
	f.put("d", "old")
	f.put("f", "old")
	f.update(func(tx *fixture) {
		for _, key := range []string{"a", "c", "e"} {
			tx.put(key, "new")
		}
		tx.put("b", "replaced")
		tx.delete("d")
		tx.wantAbsent("d")
		tx.wantValue("b", "replaced")
		want := []entry{{"a", "new"}, {"b", "replaced"}, {"c", "new"}, {"e", "new"}, {"f", "old"}}
		tx.wantScan("", want...)
		for _, r := range []kv.Range{
			{Reverse: true}, {After: []byte("a"), KeysOnly: true}, {After: []byte("d")}, {After: []byte("f"), Reverse: true},
		} {
			tx.wantRange(col, want, r)
		}
		e, err := kv.Last(tx.ctx, tx.store, col, nil)
		if err != nil || string(e.Key) != "f" {
			tx.Fatalf("Last in an Update: %q, %v", e.Key, err)
		}
		tx.delete("f")
		tx.put("d", "back")
		tx.delete("a")
		tx.put("a", "once more")
		tx.wantScan("", entry{"a", "once more"}, entry{"b", "replaced"}, entry{"c", "new"}, entry{"d", "back"}, entry{"e", "new"})
	})
	f.wantScan("", entry{"a", "once more"}, entry{"b", "replaced"}, entry{"c", "new"}, entry{"d", "back"}, entry{"e", "new"})
}

func updateIsUnseenUntilItCommits(f *fixture) {
	f.put("k", "old")
	f.within("reading a store while it is updated", func() {
		f.update(func(tx *fixture) {
			tx.put("k", "new")
			tx.put("l", "new")
			f.wantScan("", entry{"k", "old"})
			f.wantValue("k", "old")
			f.wantAbsent("l")
			f.must(kv.View(f.ctx, f.store, func(view kv.KVStorage) error {
				f.on(view).wantScan("", entry{"k", "old"})
				return nil
			}), "View")
		})
	})
	f.wantScan("", entry{"k", "new"}, entry{"l", "new"})
}

// change makes every kind of write.
func (f *fixture) change() {
	f.Helper()
	f.put("new", "1")
	f.put("old", "changed")
	f.delete("other")
	f.put("other/1", "2")
}

// unchanged runs do, which makes changes, and wants none of them to be there, and
// the store to go on.
func (f *fixture) unchanged(do func()) {
	f.Helper()
	before := []entry{{"old", "value"}, {"other", ""}}
	for range 2 {
		f.put("old", "value")
		f.put("other", "")
		f.within("an Update that does not commit, and what follows it", func() {
			do()
			f.wantScan("", before...)
			f.update(func(tx *fixture) { tx.put("next", "works") })
			f.wantValue("next", "works")
			f.delete("next")
		})
	}
}

func errorRollsBack(f *fixture) {
	boom := errors.New("boom")
	f.unchanged(func() {
		err := kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
			f.on(tx).change()
			return boom
		})
		f.wantError(err, boom, "Update whose function returned an error")
	})
}

func panicRollsBack(f *fixture) {
	f.unchanged(func() {
		got := recovered(func() {
			err := kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
				f.on(tx).change()
				panic("boom")
			})
			f.Errorf("Update whose function panicked returned %v", err)
		})
		if got != "boom" {
			f.Fatalf("the panic in an Update came out as %v, want boom", got)
		}
	})
}

func recovered(fn func()) (value any) {
	defer func() { value = recover() }()
	fn()
	return nil
}

// goexitRollsBack is what a test's FailNow does in an Update.
func goexitRollsBack(f *fixture) {
	f.unchanged(func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
				f.on(tx).change()
				runtime.Goexit()
				return nil
			})
		}()
		f.wait(done, "Update whose goroutine ended")
	})
}

func refusedWritesLeaveTheRest(f *fixture) {
	f.update(func(tx *fixture) {
		tx.put("a", "1")
		tx.wantError(tx.store.Put(tx.ctx, col, nil, nil), kv.ErrKeyEmpty, "Put of the empty key")
		tx.wantError(tx.store.Put(tx.ctx, col, repeat('k', kv.MaxKeySize+1), nil), kv.ErrKeyTooLarge, "Put")
		_, err := tx.store.Get(tx.ctx, col, []byte("absent"))
		tx.wantError(err, kv.ErrNotFound, "Get")
		tx.put("b", "2")
	})
	f.wantScan("", entry{"a", "1"}, entry{"b", "2"})
}

func innerUpdateJoins(f *fixture) {
	boom := errors.New("boom")
	f.within("an Update inside an Update", func() {
		f.update(func(tx *fixture) {
			tx.put("outer", "1")
			tx.update(func(inner *fixture) {
				inner.wantValue("outer", "1")
				inner.put("inner", "2")
				inner.update(func(innermost *fixture) { innermost.put("innermost", "3") })
			})
			tx.wantKeys("", "inner", "innermost", "outer")
			tx.must(kv.View(tx.ctx, tx.store, func(view kv.KVStorage) error {
				v := tx.on(view)
				v.wantKeys("", "inner", "innermost", "outer")
				v.wantError(v.store.Put(v.ctx, col, []byte("x"), nil), kv.ErrReadOnly, "Put in a View of a transaction")
				return nil
			}), "View in an Update")
			err := kv.Update(tx.ctx, tx.store, func(inner kv.KVStorage) error {
				tx.on(inner).put("failed", "4")
				return boom
			})
			tx.wantError(err, boom, "inner Update whose function returned an error")
		})
	})
	// The outer function returned nil, so it took what the failed inner one wrote.
	f.wantKeys("", "failed", "inner", "innermost", "outer")
}

func outerUpdateDecides(f *fixture) {
	f.unchanged(func() {
		err := kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
			f.on(tx).update(func(inner *fixture) { inner.change() })
			return errRollBack
		})
		f.wantError(err, errRollBack, "outer Update whose function returned an error")
	})
}

func deadTransactionIsClosed(f *fixture) {
	f.put("k", "v")
	var dead kv.KVStorage
	var scan iter.Seq2[kv.Entry, error]
	for _, end := range []error{nil, errRollBack} {
		err := kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
			dead, scan = tx, tx.Scan(f.ctx, col, nil)
			f.on(tx).put("new", "")
			return end
		})
		if !errors.Is(err, end) {
			f.Fatalf("Update: got %v, want %v", err, end)
		}
		f.delete("new")
		f.on(dead).wantClosed()
		for _, err := range scan {
			f.wantError(err, kv.ErrClosed, "scan of a dead transaction")
		}
		f.wantScan("", entry{"k", "v"})
	}
}

// scanOutlivesItsTransaction goes on with a scan when its transaction has ended:
// it may end with ErrClosed, or yield what it would have yielded.
func scanOutlivesItsTransaction(f *fixture) {
	const n = 500
	_, want := ascending(n, numbered)
	f.fill(n, numbered)
	for _, run := range []func(func(kv.KVStorage) error) error{
		func(fn func(kv.KVStorage) error) error { return kv.Update(f.ctx, f.store, fn) },
		func(fn func(kv.KVStorage) error) error { return kv.View(f.ctx, f.store, fn) },
	} {
		var next func() (kv.Entry, error, bool)
		var stop func()
		f.must(run(func(tx kv.KVStorage) error {
			next, stop = iter.Pull2(tx.Scan(f.ctx, col, nil))
			_, err, _ := next()
			return err
		}), "transaction with a scan in it")
		for i := 1; i <= n; i++ {
			e, err, ok := next()
			if !ok && i == n {
				break
			}
			if err != nil {
				f.wantError(err, kv.ErrClosed, "scan of a dead transaction")
				break
			}
			if !ok || (entry{string(e.Key), string(e.Value)}) != want[i] {
				f.Fatalf("scan of a dead transaction yields %q, %v, want %q or ErrClosed", e.Key, ok, want[i])
			}
		}
		stop()
	}
	f.put("after", "it")
}
