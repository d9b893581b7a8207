package crashtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

// twins are two keys that have to have one value.
func twins(change func(s kv.KVStorage, put func(s kv.KVStorage, key string) error) error) *Subject {
	return &Subject{
		Steps: []Step{{"change", 1, func(s kv.KVStorage, rng *rand.Rand) error {
			value := fmt.Append(nil, rng.Uint64())
			return change(s, func(s kv.KVStorage, key string) error { return s.Put(ctx, kv.Memory, []byte(key), value) })
		}}},
		Sound: func(s kv.KVStorage, _ *rand.Rand) error {
			a, errA := s.Get(ctx, kv.Memory, []byte("a"))
			b, errB := s.Get(ctx, kv.Memory, []byte("b"))
			if string(a) != string(b) || errors.Is(errA, kv.ErrNotFound) != errors.Is(errB, kv.ErrNotFound) {
				return errors.New("the twins are not alike")
			}
			return nil
		},
		Bear: func(kv.KVStorage, *rand.Rand) error { return nil },
		Repair: func(s kv.KVStorage) error {
			_, errA := s.Delete(ctx, kv.Memory, []byte("a"))
			_, errB := s.Delete(ctx, kv.Memory, []byte("b"))
			return errors.Join(errA, errB)
		},
	}
}

// What changes in one transaction survives every crash whole, and what changes in two
// is found out.
func TestRandomFindsWhatIsNotWhole(t *testing.T) {
	seed := seedOf(t)
	one := twins(func(s kv.KVStorage, put func(kv.KVStorage, string) error) error {
		return kv.Update(ctx, s, func(tx kv.KVStorage) error { return errors.Join(put(tx, "a"), put(tx, "b")) })
	})
	two := twins(func(s kv.KVStorage, put func(kv.KVStorage, string) error) error {
		return errors.Join(put(s, "a"), put(s, "b"))
	})
	found := 0
	for run := range uint64(12) {
		if _, err := random(one, seed, run); err != nil {
			t.Fatalf("run %d: one transaction: %v", run, err)
		}
		if _, err := random(two, seed, run); err != nil {
			found++
		}
	}
	if found == 0 {
		t.Error("two transactions for one change are never found out")
	}
	t.Logf("two transactions were found out in %d of 12 histories", found)
}
