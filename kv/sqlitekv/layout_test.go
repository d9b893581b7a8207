package sqlitekv

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

// makeFile makes a database of one of the layouts, which says that it is of a version.
func makeFile(t testing.TB, path, table string, version int) {
	t.Helper()
	c, err := dial(file{path}, url.Values{"mode": {"rwc"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	label := fmt.Sprintf(`PRAGMA journal_mode = WAL; PRAGMA application_id = %d; PRAGMA user_version = %d;`, applicationID, version)
	if err := c.run(context.Background(), label+table); err != nil {
		t.Fatal(err)
	}
}

// keyOf is the key of the i-th message, sessions taking turns, as in bench.
func keyOf(i int) []byte {
	return fmt.Appendf(nil, "local/session/01KBA5J600%016X/msg/%012d", uint64(i%1000)*0x9E3779B97F4A7C15, i/1000)
}

// BenchmarkLayout is what the choice of the table's layout rests on: see doc.go.
func BenchmarkLayout(b *testing.B) {
	const keys = 100_000
	ctx := context.Background()
	for _, size := range []int{256, 1024, 2048, 64 << 10} {
		for name, table := range map[string]string{"rowid": table1, "clustered": table2} {
			if b.Elapsed(); os.Getenv("LAYOUT") != "" && os.Getenv("LAYOUT") != fmt.Sprint(name, size) {
				continue
			}
			path := filepath.Join(b.TempDir(), "store.db")
			makeFile(b, path, table, version)
			s, err := Open(ctx, path, Options{})
			if err != nil {
				b.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 2))
			value := func(i int) []byte {
				v := make([]byte, size)
				for at := 0; at+8 <= size; at += 8 {
					binary.LittleEndian.PutUint64(v[at:], rng.Uint64())
				}
				return v
			}
			b.Run(fmt.Sprintf("%s/%d/fill", name, size), func(b *testing.B) {
				for range b.N {
					for i := 0; i < keys; i += 1000 {
						err := s.Update(ctx, func(tx kv.KVStorage) error {
							for j := range 1000 {
								if err := tx.Put(ctx, kv.Session, keyOf(i+j), value(i)); err != nil {
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
			})
			run := func(what string, fn func(i int) error) {
				b.Run(fmt.Sprintf("%s/%d/%s", name, size, what), func(b *testing.B) {
					for i := range b.N {
						if err := fn(i); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			run("get", func(int) error {
				_, err := s.Get(ctx, kv.Session, keyOf(rng.IntN(keys)))
				return err
			})
			run("put", func(i int) error { return s.Put(ctx, kv.Session, keyOf(rng.IntN(keys)), value(i)) })
			run("session", func(int) error {
				for _, err := range s.Scan(ctx, kv.Session, keyOf(rng.IntN(1000))[:40]) {
					if err != nil {
						return err
					}
				}
				return nil
			})
			run("keys", func(int) error {
				n := 0
				for _, err := range s.ScanKeys(ctx, kv.Session, nil) {
					if err != nil {
						return err
					}
					n++
				}
				if n != keys {
					return fmt.Errorf("%d keys", n)
				}
				return nil
			})
			run("scan", func(int) error {
				for _, err := range s.Scan(ctx, kv.Session, nil) {
					if err != nil {
						return err
					}
				}
				return nil
			})
			st, err := s.Stats(ctx)
			if err != nil {
				b.Fatal(err)
			}
			b.Logf("%s/%d: %d MB on disk, of which %d MB log", name, size, st.Bytes>>20, st.Detail["log_bytes"].(int64)>>20)
			s.Close()
		}
	}
}
