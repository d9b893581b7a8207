package packtree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// keyList is keys for the benchmarks, in the order of insertion. They lie behind
// each other in one slice, so that in that order they cost no cache misses, nor
// ever the garbage collector a walk: those are to be the tree's.
type keyList struct {
	name  string
	bytes []byte
	ends  []int
}

func (l *keyList) add(key []byte) {
	l.bytes = append(l.bytes, key...)
	l.ends = append(l.ends, len(l.bytes))
}

func (l *keyList) len() int { return len(l.ends) }

// at returns key i; beyond the last it begins again.
func (l *keyList) at(i int) []byte {
	i %= len(l.ends)
	start := 0
	if i > 0 {
		start = l.ends[i-1]
	}
	return l.bytes[start:l.ends[i]]
}

// inOrder returns the keys in the order of their indexes in order.
func (l *keyList) inOrder(order []int) *keyList {
	list := &keyList{name: l.name}
	for _, i := range order {
		list.add(l.at(i))
	}
	return list
}

func (l *keyList) shuffled() *keyList {
	return l.inOrder(rand.New(rand.NewPCG(5, 6)).Perm(l.len()))
}

func (l *keyList) sorted() *keyList {
	order := make([]int, l.len())
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return bytes.Compare(l.at(i), l.at(j)) })
	return l.inOrder(order)
}

const (
	benchKeys     = 1_000_000
	benchSessions = 10_000
	benchMessages = benchKeys / benchSessions
)

// keyLists makes the lists of all benchmarks, one after the other.
func keyLists() iter.Seq[*keyList] {
	return func(yield func(*keyList) bool) {
		_ = yield(sequentialKeys()) &&
			yield(interleavedKeys()) &&
			yield(randomKeys("random16to40", benchKeys, 16, 40)) &&
			yield(randomKeys("random1024", benchKeys/10, 1024, 1024))
	}
}

// sequentialKeys returns the keys of sessions written one after the other.
func sequentialKeys() *keyList {
	list, sessions := &keyList{name: "sequential"}, sessionNames()
	for _, session := range sessions {
		for m := range benchMessages {
			list.add(messageKey(session, m))
		}
	}
	return list
}

// interleavedKeys returns the keys of sessions that each write in turn.
func interleavedKeys() *keyList {
	list, sessions := &keyList{name: "interleaved"}, sessionNames()
	r := rand.New(rand.NewPCG(7, 8))
	for m := range benchMessages {
		for _, s := range r.Perm(benchSessions) {
			list.add(messageKey(sessions[s], m))
		}
	}
	return list
}

func messageKey(session string, m int) []byte {
	return fmt.Appendf(nil, "local/session/%s/msg/%012d", session, m)
}

// sessionNames returns ULIDs, a minute apart: 48 bits of time and 80 of chance
// in Crockford's base 32.
func sessionNames() []string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	r := rand.New(rand.NewPCG(1, 2))
	names := make([]string, benchSessions)
	for n := range names {
		var id [26]byte
		time := 1_700_000_000_000 + uint64(n)*60_000
		for i := 9; i >= 0; i-- {
			id[i], time = digits[time%32], time/32
		}
		for i := 10; i < len(id); i++ {
			id[i] = digits[r.IntN(32)]
		}
		names[n] = string(id[:])
	}
	return names
}

// randomKeys returns n keys of random bytes, shortest to longest of them.
func randomKeys(name string, n, shortest, longest int) *keyList {
	r := rand.New(rand.NewPCG(3, 4))
	list := &keyList{name: name}
	for range n {
		key := make([]byte, 0, longest+8)
		for len(key) < longest {
			key = binary.LittleEndian.AppendUint64(key, r.Uint64())
		}
		list.add(key[:shortest+r.IntN(longest-shortest+1)])
	}
	return list
}

// benchValue is the offset of the i-th record of 300 bytes at the end of a
// store so large that an offset takes 40 bits.
func benchValue(i int) uint64 { return 1<<39 + uint64(i)*300 }

func fill(list *keyList) *Tree {
	tree := New()
	for i := range list.len() {
		tree.Set(list.at(i), benchValue(i))
	}
	return tree
}

func build(sorted *keyList) *Tree {
	b := NewBuilder()
	for i := range sorted.len() {
		if err := b.Add(sorted.at(i), benchValue(i)); err != nil {
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
	for list := range keyLists() {
		for _, way := range []struct {
			name string
			make func(*keyList) *Tree
		}{
			{"inserted", fill},
			{"built", func(list *keyList) *Tree { return build(list.sorted()) }},
		} {
			b.Run(list.name+"/"+way.name, func(b *testing.B) {
				for b.Loop() {
					before := heap()
					tree := way.make(list)
					used := heap() - before
					b.ReportMetric(float64(used)/float64(list.len()), "heapB/key")
					b.ReportMetric(float64(tree.Bytes())/float64(list.len()), "B/key")
					b.ReportMetric(float64(tree.height()), "height")
					runtime.KeepAlive(tree)
				}
			})
		}
	}
}

// BenchmarkGet looks random keys up in a view.
func BenchmarkGet(b *testing.B) {
	for list := range keyLists() {
		tree := fill(list)
		keys := list.shuffled()
		b.Run(list.name, func(b *testing.B) {
			view := tree.View()
			for i := range b.N {
				if _, ok := view.Get(keys.at(i)); !ok {
					b.Fatal("a key is missing")
				}
			}
		})
	}
}

// BenchmarkInsert inserts keys into an empty tree until all are in, and begins
// again; with views, one is taken before each insert.
func BenchmarkInsert(b *testing.B) {
	for list := range keyLists() {
		for _, views := range []bool{false, true} {
			name := list.name + "/inplace"
			if views {
				name = list.name + "/views"
			}
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				tree := New()
				for i := range b.N {
					at := i % list.len()
					if at == 0 {
						tree = New()
					}
					if views {
						tree.View()
					}
					tree.Set(list.at(at), benchValue(at))
				}
			})
		}
	}
}

// BenchmarkUpdate changes the value of a random key, with a view before each.
func BenchmarkUpdate(b *testing.B) {
	for list := range keyLists() {
		tree := fill(list)
		keys := list.shuffled()
		b.Run(list.name+"/views", func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				tree.View()
				tree.Set(keys.at(i), benchValue(i))
			}
		})
	}
}

// BenchmarkScan reports the time of one step of a cursor.
func BenchmarkScan(b *testing.B) {
	for list := range keyLists() {
		tree := fill(list)
		b.Run(list.name+"/forwards", func(b *testing.B) {
			c := tree.View().Cursor()
			for range b.N {
				if !c.Next() {
					c.Seek(nil)
				}
			}
		})
		b.Run(list.name+"/backwards", func(b *testing.B) {
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
	list := interleavedKeys()
	tree := fill(list)
	keys := list.shuffled()
	view := tree.View()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if !view.Cursor().Seek(keys.at(i)) {
			b.Fatal("a key is missing")
		}
	}
}

// BenchmarkDelete deletes all keys, in random order.
func BenchmarkDelete(b *testing.B) {
	list := interleavedKeys()
	keys := list.shuffled()
	var tree *Tree
	for i := range b.N {
		at := i % keys.len()
		if at == 0 {
			b.StopTimer()
			tree = fill(list)
			b.StartTimer()
		}
		tree.Delete(keys.at(at))
	}
}

// BenchmarkBuild makes a tree of all keys, in order.
func BenchmarkBuild(b *testing.B) {
	list := sequentialKeys().sorted()
	for b.Loop() {
		build(list)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*list.len()), "ns/key")
}

// BenchmarkLoad makes a tree of the leaves of another, and looks at their values.
func BenchmarkLoad(b *testing.B) {
	for name, list := range map[string]*keyList{"sequential": sequentialKeys(), "interleaved": interleavedKeys()} {
		b.Run(name, func(b *testing.B) {
			leaves := slices.Collect(fill(list).View().Leaves())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Load(leaves, anyValue); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*list.len()), "ns/key")
		})
	}
}

// BenchmarkBytes adds up the memory of a tree of a million keys.
func BenchmarkBytes(b *testing.B) {
	tree := fill(interleavedKeys())
	for b.Loop() {
		tree.Bytes()
	}
}
