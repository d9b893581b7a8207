package kvtest

import (
	"context"
	"errors"
	"time"

	"github.com/crabstore/crabstore/kv"
)

func contextPromises() []promise {
	return []promise{
		{name: "EndedContextIsRefused", test: endedContextIsRefused, everywhere: true},
		{name: "EndedContextEndsAScan", test: endedContextEndsAScan, everywhere: true},
		{name: "ContextEndsInAnUpdate", test: contextEndsInAnUpdate},
	}
}

func endedContextIsRefused(f *fixture) {
	f.put("k", "v")
	cancelled, cancel := context.WithCancel(f.ctx)
	cancel()
	late, cancel := context.WithDeadline(f.ctx, time.Unix(0, 0))
	defer cancel()
	for want, ctx := range map[error]context.Context{context.Canceled: cancelled, context.DeadlineExceeded: late} {
		f.wantAllFail(ctx, want)
		for name, run := range transactionsOf(f.store) {
			called := false
			err := run(ctx, func(kv.KVStorage) error { called = true; return nil })
			f.wantError(err, want, "%s with an ended context", name)
			if called {
				f.Fatalf("%s with an ended context called its function", name)
			}
		}
	}
	f.wantScan("", entry{"k", "v"})
}

// transactionsOf returns Update and View, by name.
func transactionsOf(s kv.KVStorage) map[string]func(context.Context, func(kv.KVStorage) error) error {
	return map[string]func(context.Context, func(kv.KVStorage) error) error{
		"Update": func(ctx context.Context, fn func(kv.KVStorage) error) error { return kv.Update(ctx, s, fn) },
		"View":   func(ctx context.Context, fn func(kv.KVStorage) error) error { return kv.View(ctx, s, fn) },
	}
}

// wantAllFail wants that each method on the key k, and on a new one, returns an
// error, and each scan yields it alone.
func (f *fixture) wantAllFail(ctx context.Context, want error) {
	f.Helper()
	_, err := f.store.Get(ctx, col, []byte("k"))
	f.wantError(err, want, "Get")
	f.wantWritesFail(ctx, want)
	f.wantScansFail(ctx, want)
}

func (f *fixture) wantWritesFail(ctx context.Context, want ...error) {
	f.Helper()
	for _, key := range []string{"k", "new"} {
		_, deleted := f.store.Delete(ctx, col, []byte(key))
		for name, err := range map[string]error{"Put": f.store.Put(ctx, col, []byte(key), nil), "Delete": deleted} {
			if !isAny(err, want) {
				f.Fatalf("%s: got error %v, want %v", name, err, want)
			}
		}
	}
}

func isAny(err error, targets []error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func (f *fixture) wantScansFail(ctx context.Context, want error) {
	f.Helper()
	yields := map[string]int{}
	yield := func(name string, key []byte, err error) {
		f.wantError(err, want, "%s", name)
		if yields[name]++; key != nil || yields[name] > 1 {
			f.Fatalf("%s: error number %d comes with the key %q; want one error with a nil key", name, yields[name], key)
		}
	}
	for key, err := range f.store.ScanKeys(ctx, col, nil) {
		yield("ScanKeys", key, err)
	}
	for e, err := range f.store.Scan(ctx, col, nil) {
		yield("Scan", e.Key, err)
	}
	for e, err := range kv.ScanRange(ctx, f.store, col, kv.Range{}) {
		yield("ScanRange", e.Key, err)
	}
	for e, err := range kv.ScanRange(ctx, f.store, col, kv.Range{Reverse: true, KeysOnly: true}) {
		yield("ScanRange in reverse", e.Key, err)
	}
	if len(yields) != 4 {
		f.Fatalf("only of these scans came the error %v: %v", want, yields)
	}
	_, err := kv.Last(ctx, f.store, col, nil)
	f.wantError(err, want, "Last")
}

// endedContextEndsAScan ends the context in the body of a long scan.
func endedContextEndsAScan(f *fixture) {
	n := 5000 // more than any store fetches at once
	f.fill(n, numbered)
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	seen, errs := 0, 0
	for e, err := range f.store.Scan(ctx, col, nil) {
		if err != nil {
			f.wantError(err, context.Canceled, "scan whose context ended")
			if errs++; errs > 1 || e.Key != nil {
				f.Fatalf("error number %d of a scan, with the key %q", errs, e.Key)
			}
			continue
		}
		if errs > 0 {
			f.Fatalf("a scan goes on behind its error")
		}
		cancel()
		seen++
	}
	if errs == 0 || seen == n {
		f.Fatalf("%d of %d entries and %d errors after the context ended; want the scan to end with its error", seen, n, errs)
	}
	f.put("after", "it")
}

// contextEndsInAnUpdate ends the context when all is written: the Update may
// succeed or fail, and what it says is so.
func contextEndsInAnUpdate(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	err := kv.Update(ctx, f.store, func(tx kv.KVStorage) error {
		f.on(tx).put("a", "1")
		f.on(tx).put("b", "2")
		cancel()
		return nil
	})
	if err == nil {
		f.wantKeys("", "a", "b")
	} else {
		f.wantError(err, context.Canceled, "Update whose context ended in its function")
		f.wantEmpty()
	}
	f.put("after", "it")
}
