package analysis

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// memo remembers the stems of the words last seen, for all analyzers of a
// language: a stem costs a microsecond, most of indexing a text, and some thousand
// words are nine tenths of what is written. Each word has one place, which it
// shares with others and takes from them, so that the size is bounded and nobody
// waits. It holds what the stemmer would say, and changes nothing but the time.
type memo [1 << 16]atomic.Pointer[remembered]

type remembered struct{ term, stem string }

var seed = maphash.MakeSeed()

func (m *memo) place(term string) *atomic.Pointer[remembered] {
	return &m[maphash.String(seed, term)%uint64(len(m))]
}

func (m *memo) get(term string) (stem string, ok bool) {
	r := m.place(term).Load()
	if r == nil || r.term != term {
		return "", false
	}
	return r.stem, true
}

// put remembers copies: a term is a part of a text that need not be kept.
func (m *memo) put(term, stem string) {
	m.place(term).Store(&remembered{strings.Clone(term), strings.Clone(stem)})
}
