package kvtest

import (
	"errors"

	"github.com/crabstore/crabstore/kv"
)

func basicPromises() []promise {
	return []promise{
		{name: "PutThenGet", test: putThenGet, everywhere: true},
		{name: "PutReplaces", test: putReplaces, everywhere: true},
		{name: "GetOfAbsent", test: getOfAbsent, everywhere: true},
		{name: "DeleteTellsWhatWas", test: deleteTellsWhatWas, everywhere: true},
		{name: "ColumnsAreHardPartitions", test: columnsAreHardPartitions, everywhere: true},
		{name: "ScanEndsWithItsColumn", test: scanEndsWithItsColumn, everywhere: true},
		{name: "StatsCountKeys", test: statsCountKeys},
		{name: "MaintenanceChangesNothing", test: maintenanceChangesNothing},
	}
}

func putThenGet(f *fixture) {
	f.wantEmpty()
	f.put("a", "1")
	f.wantValue("a", "1")
	f.wantScan("", entry{"a", "1"})
	f.wantKeys("", "a")
}

func putReplaces(f *fixture) {
	for _, value := range []string{"first", "second, which is longer", "3", "", "last"} {
		f.put("k", value)
		f.wantValue("k", value)
		f.wantScan("", entry{"k", value})
	}
}

func getOfAbsent(f *fixture) {
	f.put("middle", "m")
	f.wantAbsent("middl", "middle\x00", "middle/", "a", "z")
	if ok, err := kv.Has(f.ctx, f.store, col, []byte("middle")); !ok || err != nil {
		f.Fatalf("Has of a key: %v, %v", ok, err)
	}
	if ok, err := kv.Has(f.ctx, f.store, col, []byte("a")); ok || err != nil {
		f.Fatalf("Has of an absent key: %v, %v", ok, err)
	}
}

func deleteTellsWhatWas(f *fixture) {
	for _, value := range []string{"v", ""} {
		if f.delete("k") {
			f.Fatalf("Delete of an absent key told that it was there")
		}
		f.put("k", value)
		f.put("k/1", "neighbour")
		if !f.delete("k") {
			f.Fatalf("Delete of a key with the value %q told that it was absent", value)
		}
		f.wantAbsent("k")
		f.wantScan("", entry{"k/1", "neighbour"})
	}
	if f.delete("k") {
		f.Fatalf("second Delete told that the key was there")
	}
}

// everyColumn is the columns there are, and the greatest there can be.
func everyColumn() []kv.Column { return append(kv.Columns(), 255) }

func columnsAreHardPartitions(f *fixture) {
	key := []byte("same")
	for _, c := range everyColumn() {
		if _, err := f.store.Get(f.ctx, c, key); !errors.Is(err, kv.ErrNotFound) {
			f.Fatalf("%s: Get before Put: %v", c, err)
		}
		f.must(f.store.Put(f.ctx, c, key, []byte(c.String())), "Put in %s", c)
	}
	for _, c := range everyColumn() {
		value, err := f.store.Get(f.ctx, c, key)
		f.must(err, "Get in %s", c)
		if string(value) != c.String() {
			f.Fatalf("%s: got the value %q", c, value)
		}
		if got := f.collect(f.store.Scan(f.ctx, c, nil)); len(got) != 1 || got[0] != (entry{"same", c.String()}) {
			f.Fatalf("%s: Scan yields %q", c, got)
		}
	}
	existed, err := f.store.Delete(f.ctx, kv.Session, key)
	if !existed || err != nil {
		f.Fatalf("Delete: %v, %v", existed, err)
	}
	for _, c := range everyColumn() {
		if ok, err := kv.Has(f.ctx, f.store, c, key); err != nil || ok != (c != kv.Session) {
			f.Fatalf("after a Delete in %s: Has in %s: %v, %v", kv.Session, c, ok, err)
		}
	}
}

// scanEndsWithItsColumn has the greatest key of one column meet the least one of
// the next, in both directions.
func scanEndsWithItsColumn(f *fixture) {
	greatest := string(repeat(0xFF, kv.MaxKeySize))
	for _, c := range everyColumn() {
		for _, key := range []string{greatest, "\x00", "\xff"} {
			f.must(f.store.Put(f.ctx, c, []byte(key), []byte(c.String())), "Put in %s", c)
		}
	}
	for _, c := range everyColumn() {
		all := []entry{{"\x00", c.String()}, {"\xff", c.String()}, {greatest, c.String()}}
		for _, r := range []kv.Range{
			{}, {Reverse: true}, {Prefix: []byte{0xFF}}, {Prefix: []byte{0xFF}, Reverse: true},
			{After: []byte(greatest)}, {After: []byte{0}, Reverse: true}, {After: []byte{}, Reverse: true},
		} {
			f.wantRange(c, all, r)
		}
	}
}

func repeat(b byte, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = b
	}
	return out
}

func statsCountKeys(f *fixture) {
	s, ok := kv.As[kv.Statser](f.store)
	if !ok {
		f.Skip("the store has no Stats")
	}
	f.fill(10, numbered)
	f.delete(numbered(3))
	f.put(numbered(4), "again")
	stats, err := s.Stats(f.ctx)
	f.must(err, "Stats")
	if stats.Engine == "" {
		f.Errorf("Stats does not name the engine")
	}
	if stats.Keys != 9 && stats.Keys != 0 { // zero means unknown
		f.Errorf("Stats tells of %d keys, want 9", stats.Keys)
	}
}

// counter counts the bytes written to it.
type counter int

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}

func maintenanceChangesNothing(f *fixture) {
	_, want := ascending(50, numbered)
	f.fill(60, numbered)
	for i := 50; i < 60; i++ {
		f.delete(numbered(i))
	}
	if s, ok := kv.As[kv.Checkpointer](f.store); ok {
		f.must(s.Checkpoint(f.ctx), "Checkpoint")
		f.wantScan("", want...)
	}
	if s, ok := kv.As[kv.Compactor](f.store); ok {
		f.must(s.Compact(f.ctx), "Compact")
		f.wantScan("", want...)
	}
	if s, ok := kv.As[kv.Backuper](f.store); ok {
		var written counter
		f.must(s.Backup(f.ctx, &written), "Backup")
		if written == 0 {
			f.Errorf("Backup wrote nothing")
		}
		f.wantScan("", want...)
	}
	f.put("after", "it")
	f.wantValue("after", "it")
}
