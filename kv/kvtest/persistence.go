package kvtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/crabstore/crabstore/kv"
)

func persistencePromises() []promise {
	return []promise{
		{name: "ReopenKeepsEverything", test: reopenKeepsEverything, persistent: true},
		{name: "A25_EmptyValuesSurviveReopening", test: emptyValuesSurvive, persistent: true},
		{name: "A13_DeletedKeysStayDeleted", test: deletedKeysStayDeleted, persistent: true},
		{name: "ReopenKeepsWholeUpdates", test: reopenKeepsWholeUpdates, persistent: true},
		{name: "ReopenAgainAndAgain", test: reopenAgainAndAgain, persistent: true},
	}
}

// reopen closes the store and opens what it persisted.
func (f *fixture) reopen() {
	f.Helper()
	f.within("Reopen", func() { f.store = f.Reopen(f.tb, f.store) })
}

func reopenKeepsEverything(f *fixture) {
	f.reopen()
	f.wantEmpty()
	keys := inByteOrder()
	entries := f.putAll(keys)
	for _, c := range everyColumn() {
		f.must(f.store.Put(f.ctx, c, []byte("\xff in every column"), []byte(c.String())), "Put in %s", c)
	}
	entries = append(entries, entry{"\xff in every column", col.String()})
	sortEntries(entries)
	large := strings.Repeat(everyByte(), 1<<12)
	f.put("\xff\xff\xff large", large)
	entries = append(entries, entry{"\xff\xff\xff large", large})
	realm := kv.RealmOf(f.store)
	for range 2 {
		f.reopen()
		f.wantScan("", entries...)
		for _, c := range everyColumn() {
			value, err := f.store.Get(f.ctx, c, []byte("\xff in every column"))
			if err != nil || string(value) != c.String() {
				f.Fatalf("%s: %q, %v", c, value, err)
			}
		}
		if got := kv.RealmOf(f.store); got != realm {
			f.Fatalf("the realm became %q, it was %q", got, realm)
		}
	}
}

func emptyValuesSurvive(f *fixture) {
	f.must(f.store.Put(f.ctx, col, []byte("empty"), []byte{}), "Put of an empty value")
	f.must(f.store.Put(f.ctx, col, []byte("nil"), nil), "Put of a nil value")
	f.update(func(tx *fixture) { tx.put("updated", "") })
	for range 2 {
		f.reopen()
		f.wantEmptyValues("empty", "nil", "updated")
		f.must(f.maintain(), "maintenance")
		f.wantEmptyValues("empty", "nil", "updated")
	}
}

func (f *fixture) maintain() error { return maintain(f.ctx, f.store) }

// deletedKeysStayDeleted deletes all there is, before and after what compacts and
// takes snapshots: none may come back.
func deletedKeysStayDeleted(f *fixture) {
	for range 3 {
		f.fill(10, numbered)
		f.must(f.maintain(), "maintenance")
		f.reopen()
		for i := range 10 {
			if !f.delete(numbered(i)) {
				f.Fatalf("%q was lost", numbered(i))
			}
		}
		f.reopen()
		f.wantEmpty()
		f.must(f.maintain(), "maintenance")
		f.reopen()
		f.wantEmpty()
	}
}

func reopenKeepsWholeUpdates(f *fixture) {
	f.put("gone", "")
	f.update(func(tx *fixture) {
		tx.put("a", "1")
		tx.delete("gone")
		tx.must(tx.store.Put(tx.ctx, kv.Text, []byte("b"), []byte("2")), "Put in another column")
	})
	err := kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
		f.on(tx).put("never", "")
		return errRollBack
	})
	if !errors.Is(err, errRollBack) {
		f.Fatalf("Update: %v", err)
	}
	f.reopen()
	f.wantScan("", entry{"a", "1"})
	if got := f.collect(f.store.Scan(f.ctx, kv.Text, nil)); len(got) != 1 || got[0] != (entry{"b", "2"}) {
		f.Fatalf("the write to another column came back as %q", got)
	}
}

func reopenAgainAndAgain(f *fixture) {
	var want []entry
	for i := range 10 {
		f.put(numbered(i), fmt.Sprint(i))
		want = append(want, entry{numbered(i), fmt.Sprint(i)})
		if i%3 == 2 {
			f.put(numbered(i-1), "replaced")
			want[i-1].value = "replaced"
		}
		f.reopen()
		f.wantScan("", want...)
	}
}
