package inverted

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestBest compares the best pairs of blocks with those that no other pair of the
// block is better than.
func TestBest(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	for range 2000 {
		n := 1 + rng.IntN(blockSize)
		numbers, frequencies := make([]uint32, n), make([]uint32, n)
		lengths, weights := make([]byte, n), make([]float64, n)
		for i := range n {
			numbers[i], lengths[i], weights[i] = uint32(i), byte(rng.IntN(256)), 1+rng.Float64()
			frequencies[i] = 1 + uint32(min(rng.IntN(30), rng.IntN(30), rng.IntN(30)))
		}
		var want []Best
		for i := range n {
			pair := Best{frequencies[i], lengths[i]}
			beaten := slices.Contains(want, pair)
			for j := range n {
				other := Best{frequencies[j], lengths[j]}
				beaten = beaten || other != pair && other.Frequency >= pair.Frequency && other.Length <= pair.Length
			}
			if !beaten {
				want = append(want, pair)
			}
		}
		slices.SortFunc(want, func(a, b Best) int { return int(a.Length) - int(b.Length) })
		w := listWriter{norm: func(n uint32) (byte, float64) { return lengths[n], weights[n] }}
		best, count, greatest := w.best(numbers, frequencies)
		if !slices.Equal(best[:count], want) || greatest != slices.Max(weights) {
			t.Fatalf("frequencies %v, lengths %v: %v, %v", frequencies, lengths, best[:count], want)
		}
	}
}
