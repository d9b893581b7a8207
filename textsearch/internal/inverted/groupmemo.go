package inverted

import (
	"hash/fnv"
	"hash/maphash"
	"sync/atomic"

	"github.com/crabstore/crabstore/kv"
)

// groupMemo remembers the groups of terms from one segment that is made of documents
// to the next: a stem costs more than all else that is done about a word, and most
// are seen again. Each term has one place, of half a line of the processor's cache,
// which it takes from another. It holds what the group function would say, and
// changes nothing but the time.
type groupMemo [1 << 17]groupEntry

// groupEntry is a term and its group, which begins with the first bytes of the term.
type groupEntry struct {
	size, kept, added uint8 // of the term; of it in the group; of tail
	term              [23]byte
	tail              [6]byte
}

// appendGroup appends the group of a term.
func (m *groupMemo) appendGroup(b, term []byte, group Group) []byte {
	e := &m[maphash.Bytes(hashSeed, term)%uint64(len(m))]
	if len(term) == 0 || len(term) > len(e.term) {
		return append(b, group(string(term))...)
	}
	if string(e.term[:e.size]) != string(term) {
		g := group(string(term))
		kept := commonPrefix([]byte(g), term)
		if len(g)-kept > len(e.tail) {
			return append(b, g...)
		}
		e.size, e.kept, e.added = uint8(copy(e.term[:], term)), uint8(kept), uint8(copy(e.tail[:], g[kept:]))
	}
	return append(append(b, e.term[:e.kept]...), e.tail[:e.added]...)
}

// memoPlace is where a memo lies while nobody has it.
type memoPlace struct {
	name string // of the index and how it groups
	free atomic.Pointer[groupMemo]
}

// memoPlace returns that of the index with a config.
func (s *shelf) memoPlace(config string) *memoPlace {
	name := string(s.root) + "\x00" + config
	h := fnv.New64a()
	h.Write([]byte(name))
	at := kv.CacheKey{ID: h.Sum64(), Kind: 'M' | 0x80}
	if v, ok := s.cache.Get(at); ok && v.(*memoPlace).name == name {
		return v.(*memoPlace)
	}
	p := &memoPlace{name: name}
	s.cache.Put(at, p, 4<<20)
	return p
}

// take returns the memo, for the caller alone.
func (p *memoPlace) take() *groupMemo {
	if m := p.free.Swap(nil); m != nil {
		return m
	}
	return new(groupMemo)
}

// give takes it back.
func (p *memoPlace) give(m *groupMemo) { p.free.Store(m) }
