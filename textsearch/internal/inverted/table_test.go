package inverted

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// chunkOf makes one chunk of keys, each with itself as its value.
func chunkOf(tb testing.TB, keys [][]byte) *chunk {
	tb.Helper()
	var data []byte
	w := tableWriter{done: func(_ []byte, _ int, chunk []byte) error {
		data = chunk
		return nil
	}}
	for _, k := range keys {
		if err := w.add(k, k); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.flush(); err != nil {
		tb.Fatal(err)
	}
	c, err := readChunk(data)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// TestSeekInChunk seeks in chunks whose keys share much with each other, for what is
// there and for what is not.
func TestSeekInChunk(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	word := func() []byte {
		b := make([]byte, 1+rng.IntN(6))
		for i := range b {
			b[i] = "abc"[rng.IntN(3)]
		}
		return b
	}
	for range 300 {
		keys := make([][]byte, 1+rng.IntN(90))
		for i := range keys {
			keys[i] = word()
		}
		slices.SortFunc(keys, bytes.Compare)
		keys = slices.CompactFunc(keys, bytes.Equal)
		c := chunkOf(t, keys)
		for range 100 {
			key := word()
			want, _ := slices.BinarySearchFunc(keys, key, bytes.Compare)
			var r rows
			found, ok := r.seek(c, key)
			if !ok || found != (want < len(keys)) {
				t.Fatalf("seek(%q) in %q: %t, %t", key, keys, found, ok)
			}
			for ; found; want++ {
				if !bytes.Equal(r.key, keys[want]) || !bytes.Equal(r.value, keys[want]) || r.at != want {
					t.Fatalf("seek(%q) in %q: %q = %q at %d, want %d", key, keys, r.key, r.value, r.at, want)
				}
				if found = r.more(); found && !r.step() {
					t.Fatal("step fails")
				}
			}
		}
	}
}

func FuzzChunk(f *testing.F) {
	for _, keys := range [][][]byte{{[]byte("a")}, {[]byte("ab"), []byte("abc"), []byte("b")}} {
		c := chunkOf(f, keys)
		f.Add(append(append(bytes.Clone(c.data), c.restarts...), byte(c.entries), 0, 0, 0), []byte("abb"))
	}
	f.Fuzz(func(t *testing.T, data, key []byte) {
		c, err := readChunk(data)
		if err != nil {
			return
		}
		var r rows
		if found, ok := r.seek(c, key); found && ok {
			for r.more() && r.step() {
			}
		}
		for at := range min(c.entries, 100) {
			r.goTo(c, at)
		}
	})
}
