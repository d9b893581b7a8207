package sqlitekv

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

// BenchmarkLayout measures what the choice of the table's layout rests on, with 100,000
// keys in updates of 1,000, sessions taking turns. With values of 64 KiB it takes
// minutes and 20 GB of disk.
func BenchmarkLayout(b *testing.B) {
	for _, layout := range []struct{ name, table string }{{"beside", create}, {"inside", table1}} {
		for _, size := range []int{256, 1 << 10, 64 << 10} {
			b.Run(fmt.Sprintf("%s/%d", layout.name, size), func(b *testing.B) { measure(b, layout.table, size) })
		}
	}
}

const measuredKeys, measuredSessions = 100_000, 1000

// messageKey is the key of the i-th message, by the layout of sessions.
func messageKey(i int) []byte {
	session := uint64(i%measuredSessions) * 0x9E3779B97F4A7C15
	return fmt.Appendf(nil, "local/session/01KBA5J600%016X/msg/%012d", session, i/measuredSessions)
}

func measure(b *testing.B, table string, size int) {
	path := filepath.Join(b.TempDir(), "store.db")
	fixture(b, path, applicationID, version, table).close() // it says what it is not, lest it be brought up to date
	s, err := Open(ctx, path, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	value := func() []byte {
		v := make([]byte, 0, size)
		for len(v) < size {
			v = binary.LittleEndian.AppendUint64(v, rng.Uint64())
		}
		return v
	}
	some := func() []byte { return messageKey(rng.IntN(measuredKeys)) }
	scan := func(r kv.Range) error {
		for _, err := range s.ScanRange(ctx, kv.Session, r) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, m := range []struct {
		name string
		do   func() error
	}{
		{"fill", func() error { return fill(s, value) }},
		{"get", func() error { _, err := s.Get(ctx, kv.Session, some()); return err }},
		{"put", func() error { return s.Put(ctx, kv.Session, some(), value()) }},
		{"session", func() error { return scan(kv.Range{Prefix: some()[:len("local/session/")+26]}) }},
		{"keys", func() error { return scan(kv.Range{KeysOnly: true}) }},
		{"scan", func() error { return scan(kv.Range{}) }},
	} {
		b.Run(m.name, func(b *testing.B) {
			for range b.N {
				if err := m.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func fill(s *Store, value func() []byte) error {
	for first := 0; first < measuredKeys; first += 1000 {
		err := s.Update(ctx, func(tx kv.KVStorage) error {
			for i := range 1000 {
				if err := tx.Put(ctx, kv.Session, messageKey(first+i), value()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
