package crabdb

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
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

// BenchmarkAppendValue gets into the caller's memory.
func BenchmarkAppendValue(b *testing.B) {
	db := benchStore(b, benchKeys, quiet())
	var key, value []byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key = benchKey(key, random(i, benchKeys))
		var err error
		value, err = db.AppendValue(ctx, 1, key, value[:0])
		ok(b, err)
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

// interleaved returns a store of n keys whose sessions took turns, so that the values of
// one are scattered over the file, and are together after a compaction.
func interleaved(b *testing.B, n int) *DB {
	b.Helper()
	db := benchStore(b, 0, quiet())
	value := bytes.Repeat([]byte{'v'}, 256)
	var key []byte
	for i := range 100 {
		in(b, db, func(tx *Tx) {
			for session := range n / 100 {
				key = benchKey(key, session*100+i)
				must(b, tx.Put(1, key, value))
			}
		})
	}
	return db
}

// BenchmarkScan100 scans the hundred messages of a session.
func BenchmarkScan100(b *testing.B) {
	n := benchSize()
	db := interleaved(b, n)
	ranges := []struct {
		name string
		r    Range
	}{{"keys", Range{KeysOnly: true}}, {"values", Range{}}, {"lent", Range{Lend: true}}, {"reverse", Range{Reverse: true}}}
	for _, state := range []string{"loaded", "compacted"} {
		if state == "compacted" {
			ok(b, db.Compact(ctx))
		}
		for _, c := range ranges {
			b.Run(c.name+"/"+state, func(b *testing.B) { scanSessions(b, db, n, c.r) })
		}
	}
}

func scanSessions(b *testing.B, db *DB, n int, r Range) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Prefix = fmt.Appendf(r.Prefix[:0], "local/session/%06d/msg/", random(i, n/100))
		seen := 0
		for _, err := range db.Scan(ctx, 1, r) {
			ok(b, err)
			seen++
		}
		if seen != 100 {
			b.Fatalf("%d keys", seen)
		}
	}
}

// BenchmarkScanAll scans a compacted store from end to end.
func BenchmarkScanAll(b *testing.B) {
	n := benchSize()
	db := interleaved(b, n)
	ok(b, db.Compact(ctx))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range db.Scan(ctx, 1, Range{}) {
			ok(b, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
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

// BenchmarkOpen opens a store from its snapshot, and one with ten times the keys, or
// replays its log.
func BenchmarkOpen(b *testing.B) {
	for name, keys := range map[string]int{"sealed/snapshot": benchSize(), "sealed/snapshot/tenfold": 10 * benchSize()} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "store")
			writeIndexed(b, path, keys)
			benchOpen(b, path, keys)
		})
	}
	for name, c := range map[string]struct {
		opts  Options
		close bool // else the snapshot is of an empty store
	}{
		"plain/snapshot": {quietPlain(), true},
		"sealed/replay":  {quiet(), false}, "plain/replay": {quietPlain(), false},
	} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "store")
			db := mustOpen(b, path, c.opts)
			fill(b, db, benchSize())
			if c.close {
				ok(b, db.Checkpoint(ctx))
			}
			benchOpen(b, path, benchSize())
		})
	}
}

func benchOpen(b *testing.B, path string, keys int) {
	b.ReportAllocs()
	for b.Loop() {
		r, err := Open(path, readOnly())
		ok(b, err)
		ok(b, r.Close())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(keys), "ns/key")
}

// writeIndexed makes a file with the snapshot of a store of n keys, of sessions that
// wrote a hundred messages each in turns, and a hole where the records would be, since
// opening does not read them.
func writeIndexed(b *testing.B, path string, n int) {
	b.Helper()
	size := layout{true}.size(len("local/session/01JABCDEFGHJKMNPQRSTVWXYZ0/msg/000000000000"), 256)
	at := int64(headerSize + n*size)
	builder := packtree.NewBuilder()
	for i := range n {
		session, message := i/100, i%100
		key := fmt.Appendf(nil, "\x01local/session/01J%07d%016x/msg/%012d", session, uint64(session)*0x9E3779B97F4A7C15, message)
		written := message*(n/100) + session
		ok(b, builder.Add(key, uint64(locate(int64(headerSize+written*size), size))))
	}
	value, err := snapshotValue(&snapshot{view: builder.Finish().View(), live: at - headerSize, end: at})
	ok(b, err)
	record := layout{true}.appendRecord(nil, at, opSnapshot, 0, nil, value)
	f, err := os.Create(path)
	ok(b, err)
	_, err = f.WriteAt(header{sealed: true, indexAt: at, indexLen: int64(len(record))}.encode(), 0)
	ok(b, err)
	_, err = f.WriteAt(record, at)
	ok(b, err)
	ok(b, f.Close())
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
