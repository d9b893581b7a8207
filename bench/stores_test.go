package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
	"github.com/crabstore/crabstore/kv/etcdkv"
	"github.com/crabstore/crabstore/kv/etcdkv/etcdtest"
	"github.com/crabstore/crabstore/kv/jsonkv"
	"github.com/crabstore/crabstore/kv/memkv"
	"github.com/crabstore/crabstore/kv/pebblekv"
	"github.com/crabstore/crabstore/kv/pgkv"
	"github.com/crabstore/crabstore/kv/pgkv/pgtest"
	"github.com/crabstore/crabstore/kv/sqlitekv"
)

// store is one way to open a store in a directory.
type store struct {
	name string
	open func(b *testing.B, dir string) kv.KVStorage
}

func stores() []store {
	crab := func(opts crabdb.Options) func(b *testing.B, dir string) kv.KVStorage {
		return func(b *testing.B, dir string) kv.KVStorage {
			s, err := crabkv.Open(filepath.Join(dir, "store.crmem"), opts)
			if err != nil {
				b.Fatal(err)
			}
			return s
		}
	}
	return []store{
		{"crabdb", crab(crabdb.Options{})},
		{"crabdb-synced", crab(crabdb.Options{Sync: crabdb.SyncWrite})},
		{"crabdb-plain", crab(crabdb.Options{Plain: true})},
		{"memkv", func(*testing.B, string) kv.KVStorage { return memkv.New() }},
		{"pebble", opened(func(dir string) (kv.KVStorage, error) {
			return pebblekv.Open(filepath.Join(dir, "pebble"), pebblekv.Options{})
		})},
		{"sqlite", opened(func(dir string) (kv.KVStorage, error) {
			return sqlitekv.Open(context.Background(), filepath.Join(dir, "sqlite"), sqlitekv.Options{})
		})},
		{"json", opened(func(dir string) (kv.KVStorage, error) {
			return jsonkv.Open(filepath.Join(dir, "json"), jsonkv.Options{})
		})},
		{"postgres", func(b *testing.B, dir string) kv.KVStorage {
			return address(b, dir, func() string { return pgtest.Shared(b).URL(b) }, func(url string) (kv.KVStorage, error) {
				return pgkv.Open(context.Background(), url, pgkv.Options{})
			})
		}},
		{"etcd", func(b *testing.B, dir string) kv.KVStorage {
			return address(b, dir, func() string { return etcdtest.Place(b) }, func(url string) (kv.KVStorage, error) {
				return etcdkv.Open(context.Background(), url, etcdkv.Options{})
			})
		}},
	}
}

func opened(open func(dir string) (kv.KVStorage, error)) func(b *testing.B, dir string) kv.KVStorage {
	return func(b *testing.B, dir string) kv.KVStorage {
		s, err := open(dir)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
}

// address opens the store that a directory stands for, behind an address that is
// made the first time.
func address(b *testing.B, dir string, make func() string, open func(url string) (kv.KVStorage, error)) kv.KVStorage {
	note := filepath.Join(dir, "address")
	url, err := os.ReadFile(note)
	if err != nil {
		url = []byte(make())
		check(b, os.WriteFile(note, url, 0o600))
	}
	return opened(func(string) (kv.KVStorage, error) { return open(string(url)) })(b, dir)
}

const (
	sessionCount = 1000
	perSession   = 100
	keyCount     = sessionCount * perSession
)

// sessionIDs are the same in every run.
var sessionIDs = func() []string {
	r := rand.New(rand.NewPCG(1, 2))
	ids := make([]string, sessionCount)
	for i := range ids {
		const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
		id := []byte("01KBA5J600")
		for len(id) < 26 {
			id = append(id, alphabet[r.IntN(32)])
		}
		ids[i] = string(id)
	}
	return ids
}()

// key returns the i-th key, sessions taking turns.
func key(i int) []byte {
	return fmt.Appendf(nil, "local/session/%s/msg/%012d", sessionIDs[i%sessionCount], i/sessionCount)
}

func value(i int) []byte {
	v := fmt.Appendf(make([]byte, 0, 256), `{"role":"assistant","at":%d,"text":"`, 1764500000000+i)
	r := rand.New(rand.NewPCG(uint64(i), 3))
	for len(v) < 256 {
		v = append(v, byte('a'+r.IntN(16)))
	}
	return v
}

// each runs fn on every store, filled with n keys.
func each(b *testing.B, n int, fn func(b *testing.B, ctx context.Context, s kv.KVStorage)) {
	for _, st := range stores() {
		b.Run(st.name, func(b *testing.B) {
			ctx := context.Background()
			s := st.open(b, b.TempDir())
			fill(b, ctx, s, n)
			b.ReportAllocs()
			b.ResetTimer()
			fn(b, ctx, s)
			b.StopTimer()
			if err := s.(io.Closer).Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func fill(b *testing.B, ctx context.Context, s kv.KVStorage, n int) {
	b.Helper()
	for from := 0; from < n; from += 10_000 {
		err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
			for i := from; i < min(from+10_000, n); i++ {
				if err := tx.Put(ctx, kv.Session, key(i), value(i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func check(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkPut(b *testing.B) {
	v := value(0)
	each(b, 0, func(b *testing.B, ctx context.Context, s kv.KVStorage) {
		for i := 0; b.Loop(); i++ {
			check(b, s.Put(ctx, kv.Session, key(i), v))
		}
	})
}

func BenchmarkGet(b *testing.B) {
	r := rand.New(rand.NewPCG(4, 5))
	each(b, keyCount, func(b *testing.B, ctx context.Context, s kv.KVStorage) {
		for b.Loop() {
			_, err := s.Get(ctx, kv.Session, key(r.IntN(keyCount)))
			check(b, err)
		}
	})
}

func BenchmarkGetAbsent(b *testing.B) {
	r := rand.New(rand.NewPCG(6, 7))
	each(b, keyCount, func(b *testing.B, ctx context.Context, s kv.KVStorage) {
		for b.Loop() {
			if _, err := s.Get(ctx, kv.Session, key(keyCount+r.IntN(keyCount))); err == nil {
				b.Fatal("an absent key was found")
			}
		}
	})
}

// BenchmarkScanKeys100 scans the keys of one session of 100 messages a call.
func BenchmarkScanKeys100(b *testing.B) {
	r := rand.New(rand.NewPCG(8, 9))
	each(b, keyCount, func(b *testing.B, ctx context.Context, s kv.KVStorage) {
		for b.Loop() {
			n := 0
			for _, err := range s.ScanKeys(ctx, kv.Session, kv.Prefix(s, "session", sessionIDs[r.IntN(sessionCount)], "msg")) {
				check(b, err)
				n++
			}
			if n != perSession {
				b.Fatalf("%d keys", n)
			}
		}
	})
}

// BenchmarkScan100 is BenchmarkScanKeys100 with the values.
func BenchmarkScan100(b *testing.B) {
	r := rand.New(rand.NewPCG(8, 9))
	each(b, keyCount, func(b *testing.B, ctx context.Context, s kv.KVStorage) {
		for b.Loop() {
			for _, err := range s.Scan(ctx, kv.Session, kv.Prefix(s, "session", sessionIDs[r.IntN(sessionCount)], "msg")) {
				check(b, err)
			}
		}
	})
}

// BenchmarkScanAll scans 100,000 entries a call.
func BenchmarkScanAll(b *testing.B) {
	each(b, keyCount, func(b *testing.B, ctx context.Context, s kv.KVStorage) {
		for b.Loop() {
			for _, err := range s.Scan(ctx, kv.Session, nil) {
				check(b, err)
			}
		}
	})
}

// BenchmarkDelete deletes a key, and puts it again untimed, so that there always is
// one to delete.
func BenchmarkDelete(b *testing.B) {
	v := value(0)
	each(b, keyCount, func(b *testing.B, ctx context.Context, s kv.KVStorage) {
		for i := 0; b.Loop(); i++ {
			if i%keyCount == 0 && i > 0 {
				b.StopTimer()
				fill(b, ctx, s, keyCount)
				b.StartTimer()
			}
			existed, err := s.Delete(ctx, kv.Session, key(i%keyCount))
			check(b, err)
			if !existed {
				check(b, s.Put(ctx, kv.Session, key(i%keyCount), v))
			}
		}
	})
}

// BenchmarkBatch100 puts 100 keys in one transaction a call.
func BenchmarkBatch100(b *testing.B) {
	v := value(0)
	each(b, 0, func(b *testing.B, ctx context.Context, s kv.KVStorage) {
		for n := 0; b.Loop(); n += 100 {
			check(b, kv.Update(ctx, s, func(tx kv.KVStorage) error {
				for i := n; i < n+100; i++ {
					if err := tx.Put(ctx, kv.Session, key(i), v); err != nil {
						return err
					}
				}
				return nil
			}))
		}
	})
}

// BenchmarkTransaction reads a counter, raises it and puts an entry beside it, all or
// nothing.
func BenchmarkTransaction(b *testing.B) {
	v := value(0)
	each(b, 0, func(b *testing.B, ctx context.Context, s kv.KVStorage) {
		counter := kv.Key(s, "counter")
		for i := 0; b.Loop(); i++ {
			check(b, kv.Update(ctx, s, func(tx kv.KVStorage) error {
				n, err := kv.Load[int](ctx, tx, kv.Config, counter)
				if err != nil && !errors.Is(err, kv.ErrNotFound) {
					return err
				}
				if err := tx.Put(ctx, kv.Session, key(n), v); err != nil {
					return err
				}
				return kv.Store(ctx, tx, kv.Config, counter, n+1)
			}))
		}
	})
}

// BenchmarkOpen opens and closes a store of 100,000 keys that was closed cleanly.
func BenchmarkOpen(b *testing.B) {
	for _, st := range stores() {
		if st.name == "memkv" {
			continue // nothing persists
		}
		b.Run(st.name, func(b *testing.B) {
			dir := b.TempDir()
			s := st.open(b, dir)
			fill(b, context.Background(), s, keyCount)
			check(b, s.(io.Closer).Close())
			for b.Loop() {
				check(b, st.open(b, dir).(io.Closer).Close())
			}
		})
	}
}
