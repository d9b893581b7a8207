package packtree

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// keySet is a set of keys for the benchmarks, in the order of insertion.
type keySet struct {
	name string
	keys [][]byte
}

const (
	benchKeys     = 1_000_000
	benchSessions = 10_000
)

// sessionKeys returns keys local/session/{ulid}/msg/{idx:012}, a hundred to a
// session, session by session or all sessions in turn.
func sessionKeys(interleaved bool) keySet {
	r := rand.New(rand.NewPCG(1, 2))
	sessions := make([]string, benchSessions)
	for i := range sessions {
		sessions[i] = ulid(r, 1_700_000_000_000+uint64(i)*60_000)
	}
	set := keySet{name: "sequential"}
	const messages = benchKeys / benchSessions
	key := func(s, m int) []byte { return fmt.Appendf(nil, "local/session/%s/msg/%012d", sessions[s], m) }
	if interleaved {
		set.name = "interleaved"
		for m := range messages {
			for _, s := range r.Perm(benchSessions) {
				set.keys = append(set.keys, key(s, m))
			}
		}
		return set
	}
	for s := range sessions {
		for m := range messages {
			set.keys = append(set.keys, key(s, m))
		}
	}
	return set
}

// ulid returns 48 bits of time and 80 of chance in Crockford's base 32.
func ulid(r *rand.Rand, milliseconds uint64) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	var id [26]byte
	for i := 9; i >= 0; i-- {
		id[i], milliseconds = digits[milliseconds%32], milliseconds/32
	}
	for i := 10; i < len(id); i++ {
		id[i] = digits[r.IntN(32)]
	}
	return string(id[:])
}

// randomKeys returns n keys of random bytes and of shortest to longest bytes.
func randomKeys(name string, n, shortest, longest int) keySet {
	r := rand.New(rand.NewPCG(3, 4))
	set := keySet{name: name}
	for range n {
		key := make([]byte, 0, longest+8)
		for range (longest + 7) / 8 {
			key = binary.LittleEndian.AppendUint64(key, r.Uint64())
		}
		set.keys = append(set.keys, key[:shortest+r.IntN(longest-shortest+1)])
	}
	return set
}

func keySets() []keySet {
	return []keySet{
		sessionKeys(false),
		sessionKeys(true),
		randomKeys("random16to40", benchKeys, 16, 40),
		randomKeys("random1024", benchKeys/10, 1024, 1024),
	}
}

// shuffled returns the keys in random order, laid out in memory in that order,
// so that a benchmark measures the tree's cache misses and not its own.
func shuffled(keys [][]byte) [][]byte {
	var arena []byte
	mixed := make([][]byte, len(keys))
	for _, at := range rand.New(rand.NewPCG(5, 6)).Perm(len(keys)) {
		arena = append(arena, keys[at]...)
	}
	for i, at := range rand.New(rand.NewPCG(5, 6)).Perm(len(keys)) {
		n := len(keys[at])
		mixed[i], arena = arena[:n:n], arena[n:]
	}
	return mixed
}

// benchValue is the offset of the i-th record of 300 bytes at the end of a
// store so large that an offset takes 40 bits.
func benchValue(i int) uint64 { return 1<<39 + uint64(i)*300 }

func fill(keys [][]byte) *Tree {
	tree := New()
	for i, key := range keys {
		tree.Set(key, benchValue(i))
	}
	return tree
}

func build(keys [][]byte) *Tree {
	b := NewBuilder()
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return slices.Compare(keys[i], keys[j]) })
	for _, i := range order {
		if err := b.Add(keys[i], benchValue(i)); err != nil {
			panic(err)
		}
	}
	return b.Finish()
}

// heap returns the bytes in use after a collection.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// BenchmarkHeap reports what a key costs: heapB/key as the runtime counts it,
// B/key as Bytes does.
func BenchmarkHeap(b *testing.B) {
	for _, set := range keySets() {
		for _, way := range []struct {
			name string
			make func([][]byte) *Tree
		}{{"inserted", fill}, {"built", build}} {
			b.Run(set.name+"/"+way.name, func(b *testing.B) {
				for b.Loop() {
					before := heap()
					tree := way.make(set.keys)
					used := heap() - before
					b.ReportMetric(float64(used)/float64(len(set.keys)), "heapB/key")
					b.ReportMetric(float64(tree.Bytes())/float64(len(set.keys)), "B/key")
					b.ReportMetric(float64(tree.height()), "height")
					runtime.KeepAlive(tree)
				}
			})
		}
	}
}

func (t *Tree) height() int {
	h := 0
	for n := t.root; n != nil; n = n.children[0] {
		h++
		if n.isLeaf() {
			break
		}
	}
	return h
}

// BenchmarkGet looks random keys up in a view.
func BenchmarkGet(b *testing.B) {
	for _, set := range keySets() {
		tree := fill(set.keys)
		keys := shuffled(set.keys)
		b.Run(set.name, func(b *testing.B) {
			view := tree.View()
			for i := range b.N {
				if _, ok := view.Get(keys[i%len(keys)]); !ok {
					b.Fatal("a key is missing")
				}
			}
		})
	}
}

// BenchmarkInsert inserts keys into an empty tree until all are in, and begins
// again; with views, one is taken before each insert.
func BenchmarkInsert(b *testing.B) {
	for _, set := range keySets() {
		for _, views := range []bool{false, true} {
			name := set.name + "/inplace"
			if views {
				name = set.name + "/views"
			}
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				tree := New()
				for i := range b.N {
					at := i % len(set.keys)
					if at == 0 {
						tree = New()
					}
					if views {
						tree.View()
					}
					tree.Set(set.keys[at], benchValue(at))
				}
			})
		}
	}
}

// BenchmarkUpdate changes the value of a random key, with a view before each.
func BenchmarkUpdate(b *testing.B) {
	for _, set := range keySets() {
		tree := fill(set.keys)
		keys := shuffled(set.keys)
		b.Run(set.name+"/views", func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				tree.View()
				tree.Set(keys[i%len(keys)], benchValue(i))
			}
		})
	}
}

// BenchmarkScan reports the time of one step of a cursor.
func BenchmarkScan(b *testing.B) {
	for _, set := range keySets() {
		tree := fill(set.keys)
		b.Run(set.name+"/forwards", func(b *testing.B) {
			c := tree.View().Cursor()
			for range b.N {
				if !c.Next() {
					c.Seek(nil)
				}
			}
		})
		b.Run(set.name+"/backwards", func(b *testing.B) {
			c := tree.View().Cursor()
			for range b.N {
				if !c.Prev() {
					c.SeekLast()
				}
			}
		})
	}
}

// BenchmarkSeek makes a cursor and seeks a random key, as a short scan does.
func BenchmarkSeek(b *testing.B) {
	set := sessionKeys(true)
	tree := fill(set.keys)
	keys := shuffled(set.keys)
	view := tree.View()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if !view.Cursor().Seek(keys[i%len(keys)]) {
			b.Fatal("a key is missing")
		}
	}
}

// BenchmarkDelete deletes all keys, in random order.
func BenchmarkDelete(b *testing.B) {
	set := sessionKeys(true)
	keys := shuffled(set.keys)
	var tree *Tree
	for i := range b.N {
		at := i % len(keys)
		if at == 0 {
			b.StopTimer()
			tree = fill(set.keys)
			b.StartTimer()
		}
		tree.Delete(keys[at])
	}
}

// BenchmarkBuild makes a tree of all keys, in order: from its entries, and
// from the leaves of another tree.
func BenchmarkBuild(b *testing.B) {
	set := sessionKeys(false)
	slices.SortFunc(set.keys, slices.Compare[[]byte])
	view := build(set.keys).View()
	for name, add := range map[string]func(*Builder) error{
		"entries": func(builder *Builder) error {
			for i, key := range set.keys {
				if err := builder.Add(key, benchValue(i)); err != nil {
					return err
				}
			}
			return nil
		},
		"leaves": func(builder *Builder) error {
			for leaf := range view.Leaves() {
				if err := builder.AddLeaf(leaf); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				builder := NewBuilder()
				if err := add(builder); err != nil {
					b.Fatal(err)
				}
				builder.Finish()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(set.keys)), "ns/key")
		})
	}
}

// BenchmarkBytes adds up the memory of a tree of a million keys.
func BenchmarkBytes(b *testing.B) {
	tree := fill(sessionKeys(true).keys)
	for b.Loop() {
		tree.Bytes()
	}
}
