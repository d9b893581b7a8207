package etcdkv

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/etcdkv/etcdtest"
)

// BenchmarkCluster measures a cluster of three on loopback, with fsync: what doc.go
// says of rates.
func BenchmarkCluster(b *testing.B) {
	cluster := etcdtest.NewCluster(b, 3)
	s := openWith(b, "etcd://"+strings.Join(cluster.Endpoints(), ","), nil)
	value := make([]byte, 1<<10)
	var n atomic.Int64
	next := func() []byte { return fmt.Appendf(nil, "%08d", n.Add(1)) }
	check := func(b *testing.B, err error) {
		if err != nil {
			b.Error(err)
		}
	}
	put := func(b *testing.B) { check(b, s.Put(ctx, col, next(), value)) }
	b.Run("Put", func(b *testing.B) {
		for b.Loop() {
			put(b)
		}
	})
	b.Run("PutBy64", func(b *testing.B) {
		b.SetParallelism(32) // times GOMAXPROCS
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				put(b)
			}
		})
	})
	b.Run("Get", func(b *testing.B) {
		for b.Loop() {
			_, err := s.Get(ctx, col, []byte("00000001"))
			check(b, err)
		}
	})
	b.Run("Update1", func(b *testing.B) {
		for b.Loop() {
			check(b, s.Update(ctx, func(tx kv.KVStorage) error { return increment(ctx, tx, "n") }))
		}
	})
	b.Run("Update1000", func(b *testing.B) {
		for b.Loop() {
			check(b, s.Update(ctx, func(tx kv.KVStorage) error {
				for range 1000 {
					if err := tx.Put(ctx, col, next(), value[:100]); err != nil {
						return err
					}
				}
				return nil
			}))
		}
	})
	b.Run("Scan1000", func(b *testing.B) {
		for b.Loop() {
			seen := 0
			for _, err := range s.Scan(ctx, col, nil) {
				check(b, err)
				if seen++; seen == 1000 {
					break
				}
			}
		}
	})
	b.Run("Last", func(b *testing.B) {
		b.ReportMetric(float64(n.Load()), "keys")
		for b.Loop() {
			_, err := kv.Last(ctx, s, col, nil)
			check(b, err)
		}
	})
}
