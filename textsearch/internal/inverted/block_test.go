package inverted

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBlocks(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		n := 1 + rng.IntN(blockSize)
		before := int64(rng.IntN(1000)) - 1
		spread := uint32(1) << rng.IntN(20)
		numbers, frequencies := make([]uint32, n), make([]uint32, n)
		last := before
		for i := range n {
			last += 1 + int64(rng.Uint32N(spread))
			numbers[i], frequencies[i] = uint32(last), 1
			if rng.IntN(4) == 0 {
				frequencies[i] = 1 + rng.Uint32N(1<<rng.IntN(20))
			}
		}
		if rng.IntN(3) == 0 {
			for i := range frequencies {
				frequencies[i] = 1
			}
		}
		data := appendBlock(nil, before, numbers, frequencies, rng.IntN(2) == 0)
		gotN, gotF := make([]uint32, n), make([]uint32, n)
		if !decodeBlock(append(data, 0xAA, 0xBB), before, gotN, gotF) {
			t.Fatalf("%v %v: not decoded", numbers, frequencies)
		}
		if !slices.Equal(gotN, numbers) || !slices.Equal(gotF, frequencies) {
			t.Fatalf("got %v %v\nwant %v %v", gotN, gotF, numbers, frequencies)
		}
	}
}

// TestBlocksAreSmall: a packed bit a document of half of them, and about what the
// gaps need of rare ones.
func TestBlocksAreSmall(t *testing.T) {
	every := func(gap uint32) (n, f []uint32) {
		for i := range uint32(blockSize) {
			n, f = append(n, i*gap), append(f, 1)
		}
		return n, f
	}
	for _, c := range []struct {
		gap  uint32
		most int
	}{{1, 1}, {2, 1 + 16}, {100, 1 + 7*16}, {5000, 1 + 13*16}} {
		n, f := every(c.gap)
		if got := len(appendBlock(nil, -1, n, f, false)); got > c.most {
			t.Errorf("gaps of %d: %d bytes, want at most %d", c.gap, got, c.most)
		}
	}
}

func FuzzDecodeBlock(f *testing.F) {
	f.Add([]byte{5, 1, 2, 3}, uint8(3))
	f.Add(appendBlock(nil, -1, []uint32{1, 5, 9}, []uint32{1, 7, 1}, false), uint8(3))
	f.Add([]byte{modeRice, 255, 255}, uint8(16))
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		k := int(n)%blockSize + 1
		decodeBlock(data, -1, make([]uint32, k), make([]uint32, k))
	})
}

// TestBlocksAreNearEntropy: of documents at random, of which each has a term as often
// as the others, the gaps take at most 0.15 bits more than there is to know.
func TestBlocksAreNearEntropy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, p := range []float64{0.5, 0.2, 0.05, 0.01, 0.001} {
		entropy := (-p*math.Log2(p) - (1-p)*math.Log2(1-p)) / p
		size, count := 0, 0
		for range 200 {
			var n, f []uint32
			for at := uint32(0); len(n) < blockSize; at++ {
				if rng.Float64() < p {
					n, f = append(n, at), append(f, 1)
				}
			}
			size += len(appendBlock(nil, -1, n, f, true)) - 1
			count += len(n)
		}
		if got := 8 * float64(size) / float64(count); got > entropy+0.15 {
			t.Errorf("of one in %.0f: %.2f bits each, there are %.2f to know", 1/p, got, entropy)
		}
	}
}

// BenchmarkDecodeBlock decodes blocks of documents at random, of one in so many.
func BenchmarkDecodeBlock(b *testing.B) {
	for _, small := range []bool{false, true} {
		for _, every := range []uint32{2, 8, 100, 10_000} {
			b.Run(fmt.Sprintf("small=%t/%d", small, every), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 1))
				var n, f []uint32
				for at := uint32(0); len(n) < blockSize; at++ {
					if rng.Uint32N(every) == 0 {
						n, f = append(n, at), append(f, 1)
					}
				}
				data := appendBlock(nil, -1, n, f, small)
				for b.Loop() {
					if !decodeBlock(data, -1, n, f) {
						b.Fatal("not decoded")
					}
				}
				b.ReportMetric(float64(len(data)), "bytes")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*blockSize), "ns/posting")
			})
		}
	}
}
