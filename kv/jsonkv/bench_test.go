package jsonkv

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// event is a value of some size, about 100 bytes of it beside the text.
type event struct {
	Role string    `json:"role"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
	Cost float64   `json:"cost"`
	N    int       `json:"n"`
}

// fill puts so many events, of so many bytes of text, into a store.
func fill(b *testing.B, s *Store, col kv.Column, prefix string, n, size int) {
	b.Helper()
	err := s.Update(ctx, func(tx kv.KVStorage) error {
		for i := range n {
			e := event{"assistant", strings.Repeat("text ", size/5), time.Now(), 0.25, i}
			if err := kv.Store(ctx, tx, col, fmt.Appendf(nil, "%s%012d", prefix, i), e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func benchmarkPut(b *testing.B, col kv.Column, prefix string, n, size int) {
	s := mustOpen(b, b.TempDir(), Options{})
	fill(b, s, col, prefix, n, size)
	i := 0
	for b.Loop() {
		if err := kv.Store(ctx, s, col, fmt.Appendf(nil, "%s%012d", prefix, i%n), event{N: i}); err != nil {
			b.Fatal(err)
		}
		i++
	}
	st, err := s.Stats(ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(st.Bytes)/1e6, "MB")
}

// The document is rewritten by each.
func BenchmarkPutIntoEmptyStore(b *testing.B) { benchmarkPut(b, kv.Memory, "local/memory/", 1, 100) }
func BenchmarkPutIntoSessionOf1000(b *testing.B) {
	benchmarkPut(b, kv.Session, "local/session/h/msg/", 1000, 500)
}
func BenchmarkPutIntoStoreOf10MB(b *testing.B) {
	benchmarkPut(b, kv.Memory, "local/memory/", 10_000, 850)
}

// An update of a session and the rest is a commit of two documents.
func BenchmarkUpdateOfTwoDocuments(b *testing.B) {
	s := mustOpen(b, b.TempDir(), Options{})
	n := 0
	for b.Loop() {
		n++
		err := s.Update(ctx, func(tx kv.KVStorage) error {
			put(b, tx, kv.Session, "local/session/h/meta", fmt.Sprint(n))
			return tx.Put(ctx, kv.Config, []byte("n"), fmt.Append(nil, n))
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// Writers that come together share a writing.
func BenchmarkPutOf50Writers(b *testing.B) {
	s := mustOpen(b, b.TempDir(), Options{})
	var n atomic.Int64
	b.SetParallelism(25)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := n.Add(1)
			if err := s.Put(ctx, kv.Memory, fmt.Append(nil, i%1000), fmt.Append(nil, i)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkOpenStoreOf10MB(b *testing.B) {
	dir := b.TempDir()
	s := mustOpen(b, dir, Options{})
	fill(b, s, kv.Memory, "local/memory/", 10_000, 850)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s := mustOpen(b, dir, Options{ReadOnly: true})
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
