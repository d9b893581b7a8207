package inverted

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/crabstore/crabstore/kv"
)

// keyFilter tells of most keys at once that a segment has no document of them: a
// document that is put is new as a rule, and must be looked for in all segments. It
// is in memory alone, and is made while it is asked, a chunk of the table of documents
// each time, so that a process that writes little reads little, and no write waits.
//
// Each key sets four bits of one word. With twelve bits for a key some two keys in a
// hundred that are not there are looked for in vain.
type keyFilter struct {
	mu    sync.Mutex
	words []uint64
	next  int // chunk that is not in yet
}

const filterBits = 12 // for each key

// filter returns that of a segment.
func (s *segment) filter() *keyFilter {
	at := kv.CacheKey{ID: s.ID, Kind: 'F' | 0x80}
	if v, ok := s.cache.Get(at); ok {
		return v.(*keyFilter)
	}
	f := &keyFilter{words: make([]uint64, int(s.Docs)*filterBits/64+1)}
	s.cache.Put(at, f, 8*len(f.words)+64)
	return f
}

func filterHash(key []byte) uint64 { return maphash.Bytes(hashSeed, key) }

// word returns where the bits of a key are, and which.
func (f *keyFilter) word(hash uint64) (word *uint64, bits uint64) {
	at := (hash >> 32) * uint64(len(f.words)) >> 32
	return &f.words[at], 1<<(hash&63) | 1<<(hash>>6&63) | 1<<(hash>>12&63) | 1<<(hash>>18&63)
}

// mayHave is false when the segment has no document of the key with a hash.
func (f *keyFilter) mayHave(ctx context.Context, s *segment, hash uint64) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next < len(s.docs) {
		if err := f.addChunk(ctx, s); err != nil {
			return false, err
		}
	}
	word, bits := f.word(hash)
	return f.next < len(s.docs) || *word&bits == bits, nil
}

func (f *keyFilter) addChunk(ctx context.Context, s *segment) error {
	n := s.docs[f.next].chunk
	c, err := s.chunk(ctx, s.ID, docTable, n)
	if err != nil {
		return err
	}
	var r rows
	ok := r.begin(c, 0)
	for ok && r.more() {
		if ok = r.step(); ok {
			word, bits := f.word(filterHash(r.key))
			*word |= bits
		}
	}
	if !ok {
		return s.corrupt(s.ID, docTable, n)
	}
	f.next++
	return nil
}
