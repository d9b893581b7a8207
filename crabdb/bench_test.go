package crabdb

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
)

// The benchmarks run on the machine's file system, without syncs unless they say so.
// CRABDB_LONG opens and scans a million keys instead of benchKeys.
const benchKeys = 20_000

func benchSize() int {
	if long() {
		return 1_000_000
	}
	return benchKeys
}

var benchValue = make([]byte, 100)

// benchKey is a key like those of an application: a long beginning that many share.
func benchKey(b []byte, i int) []byte {
	return fmt.Appendf(b[:0], "local/session/%06d/msg/%012d", i/100, i%100)
}

// benchStore returns a store of n keys.
func benchStore(b *testing.B, n int, opts Options) *DB {
	b.Helper()
	db := mustOpen(b, filepath.Join(b.TempDir(), "store"), opts)
	fill(b, db, n)
	return db
}

func fill(b *testing.B, db *DB, n int) {
	b.Helper()
	var key []byte
	for from := 0; from < n; from += 1000 {
		in(b, db, func(tx *Tx) {
			for i := from; i < min(from+1000, n); i++ {
				key = benchKey(key, i)
				must(b, tx.Put(1, key, benchValue))
			}
		})
	}
}

// ok ends a benchmark that fails. Unlike must it costs nothing.
func ok(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

// random is i, scattered over n.
func random(i, n int) int { return int(uint64(i) * 0x9E3779B97F4A7C15 % uint64(n)) }

func BenchmarkPut(b *testing.B) {
	for name, c := range map[string]struct {
		opts Options
		next func(i int) int
	}{
		"ascending":         {quiet(), func(i int) int { return i }},
		"replacing":         {quiet(), func(i int) int { return random(i, benchKeys) }},
		"replacing/plain":   {quietPlain(), func(i int) int { return random(i, benchKeys) }},
		"replacing/compact": {Options{}, func(i int) int { return random(i, benchKeys) }},
		"ascending/synced":  {quiet().with(SyncWrite), func(i int) int { return i }},
	} {
		b.Run(name, func(b *testing.B) {
			db := mustOpen(b, filepath.Join(b.TempDir(), "store"), c.opts)
			var key []byte
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				key = benchKey(key, c.next(i))
				ok(b, db.Put(ctx, 1, key, benchValue))
			}
		})
	}
}

// BenchmarkPutWhileRead puts beside readers, so that each change meets a version that
// somebody has.
func BenchmarkPutWhileRead(b *testing.B) {
	db := benchStore(b, benchKeys, quiet())
	var key []byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key = benchKey(key, random(i, benchKeys))
		ok(b, db.Put(ctx, 1, key, benchValue))
		if _, err := db.Has(ctx, 1, key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSyncedWriters(b *testing.B) {
	db := benchStore(b, 0, quiet().with(SyncWrite))
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		var key []byte
		for i := 0; pb.Next(); i++ {
			key = benchKey(key, i)
			if err := db.Put(ctx, 1, key, benchValue); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkGet(b *testing.B) {
	db := benchStore(b, benchKeys, quiet())
	var key []byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key = benchKey(key, random(i, benchKeys))
		if _, err := db.Get(ctx, 1, key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGetAbsent(b *testing.B) {
	db := benchStore(b, benchKeys, quiet())
	var key []byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key = append(benchKey(key, random(i, benchKeys)), 'x')
		if _, err := db.Get(ctx, 1, key); err != ErrNotFound {
			b.Fatal(err)
		}
	}
}

func BenchmarkGetParallel(b *testing.B) {
	db := benchStore(b, benchKeys, quiet())
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		var key []byte
		for i := 0; pb.Next(); i++ {
			key = benchKey(key, random(i, benchKeys))
			if _, err := db.Get(ctx, 1, key); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkScan100 scans the hundred messages of a session.
func BenchmarkScan100(b *testing.B) {
	db := benchStore(b, benchKeys, quiet())
	for name, r := range map[string]Range{"keys": {KeysOnly: true}, "values": {}, "reverse": {Reverse: true}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				n := 0
				r.Prefix = fmt.Appendf(r.Prefix[:0], "local/session/%06d/msg/", random(i, benchKeys/100))
				for _, err := range db.Scan(ctx, 1, r) {
					ok(b, err)
					n++
				}
				if n != 100 {
					b.Fatalf("%d keys", n)
				}
			}
		})
	}
}

func BenchmarkUpdate100(b *testing.B) {
	for name, opts := range map[string]Options{"sealed": quiet(), "plain": quietPlain()} {
		b.Run(name, func(b *testing.B) {
			db := benchStore(b, benchKeys, opts)
			var key []byte
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ok(b, db.Update(ctx, func(tx *Tx) error {
					for j := range 100 {
						key = benchKey(key, i%1000*100+j)
						ok(b, tx.Put(1, key, benchValue))
					}
					return nil
				}))
			}
		})
	}
}

// BenchmarkDelete deletes a key and puts it again.
func BenchmarkDelete(b *testing.B) {
	db := benchStore(b, benchKeys, quiet())
	var key []byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key = benchKey(key, random(i, benchKeys))
		if existed, err := db.Delete(ctx, 1, key); err != nil || !existed {
			b.Fatal(existed, err)
		}
		ok(b, db.Put(ctx, 1, key, benchValue))
	}
}

func BenchmarkOpen(b *testing.B) {
	for name, c := range map[string]struct {
		opts  Options
		close bool // else the snapshot is of an empty store
	}{
		"sealed/snapshot": {quiet(), true}, "plain/snapshot": {quietPlain(), true},
		"sealed/replay": {quiet(), false}, "plain/replay": {quietPlain(), false},
	} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "store")
			db := mustOpen(b, path, c.opts)
			fill(b, db, benchSize())
			if c.close {
				ok(b, db.Checkpoint(ctx))
			}
			b.ReportAllocs()
			for b.Loop() {
				r, err := Open(path, readOnly())
				ok(b, err)
				ok(b, r.Close())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(benchSize()), "ns/key")
		})
	}
}

func BenchmarkCheckpoint(b *testing.B) {
	db := benchStore(b, benchSize(), quiet())
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		put(b, db, "k", fmt.Sprint(i))
		ok(b, db.Checkpoint(ctx))
	}
}

func BenchmarkCompact(b *testing.B) {
	db := benchStore(b, benchSize(), quiet())
	b.ReportAllocs()
	for b.Loop() {
		ok(b, db.Compact(ctx))
	}
}

func BenchmarkBackup(b *testing.B) {
	db := benchStore(b, benchSize(), quiet())
	b.ReportAllocs()
	for b.Loop() {
		ok(b, db.Backup(ctx, io.Discard))
	}
}

func BenchmarkCheck(b *testing.B) {
	db := benchStore(b, benchSize(), quiet())
	b.ReportAllocs()
	for b.Loop() {
		wantSound(b, db)
	}
}
