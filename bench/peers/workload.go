package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/oklog/ulid/v2"
)

const (
	perSession = 100 // messages of a session
	valueSize  = 256
	valuePool  = 4096 // different texts
	stampAt    = 6    // where the number of a value stands, behind {"at":
	stampSize  = 12

	keyPrefix = "local/session/"
	idSize    = ulid.EncodedSize
	indexAt   = len(keyPrefix) + idSize + len("/msg/")
	keySize   = indexAt + 12

	// scatter is a prime far above any number of keys in use, so that its
	// multiples visit each key once, in an order that looks random.
	scatter = 15485863

	// absentMessage is the index of a message that no session has.
	absentMessage = 900_000_000_000
)

// workload makes keys and values: sessions that take turns, a message each, as a
// daemon with many conversations writes them. It is the same in every process.
type workload struct {
	keys     int
	sessions int
	ids      []byte // idSize bytes for each session
	texts    []byte // valueSize bytes for each of the pool
}

func newWorkload(keys int) *workload {
	w := &workload{keys: keys, sessions: max(1, keys/perSession)}
	r := rand.NewChaCha8([32]byte{'c', 'r', 'a', 'b'})
	for i := range w.sessions {
		id := ulid.MustNew(1_764_500_000_000+uint64(i)*60_000, r)
		w.ids = append(w.ids, id.String()...)
	}
	w.texts = makeTexts(rand.New(r))
	return w
}

// makeTexts returns values that compress a little: JSON around words, drawn from
// a vocabulary of made-up ones.
func makeTexts(r *rand.Rand) []byte {
	words := make([][]byte, 2000)
	for i := range words {
		for range 2 + r.IntN(8) {
			words[i] = append(words[i], byte('a'+r.IntN(26)))
		}
	}
	texts := make([]byte, 0, valuePool*valueSize)
	for range valuePool {
		text := fmt.Appendf(nil, `{"at":%0*d,"version":0,"role":"assistant","text":"`, stampSize, 0)
		for len(text) < valueSize {
			text = append(append(text, words[r.IntN(len(words))]...), ' ')
		}
		texts = append(texts, text[:valueSize]...)
	}
	return texts
}

// maker makes keys and values into buffers of its own, each good until the next
// of its kind. A goroutine has its own.
type maker struct {
	*workload
	keyBuf   []byte
	valueBuf []byte
	prefix   []byte
}

func (w *workload) maker() *maker {
	key := append(append([]byte(keyPrefix), make([]byte, idSize)...), "/msg/000000000000"...)
	return &maker{workload: w, keyBuf: key, valueBuf: make([]byte, valueSize), prefix: make([]byte, indexAt)}
}

// key returns the i-th key. Keys past the number of the workload are those of
// further messages.
func (m *maker) key(i int) []byte {
	copy(m.keyBuf[len(keyPrefix):], m.ids[i%m.sessions*idSize:][:idSize])
	putDigits(m.keyBuf[indexAt:], i/m.sessions)
	return m.keyBuf
}

// session returns the prefix of the keys of a session.
func (m *maker) session(s int) []byte {
	copy(m.prefix, m.keyBuf[:indexAt])
	copy(m.prefix[len(keyPrefix):], m.ids[s*idSize:][:idSize])
	return m.prefix
}

// value returns the i-th value, as written the version-th time.
func (m *maker) value(i, version int) []byte {
	copy(m.valueBuf, m.texts[i%valuePool*valueSize:][:valueSize])
	putDigits(m.valueBuf[stampAt:stampAt+stampSize], i)
	m.valueBuf[stampAt+stampSize+len(`,"version":`)] = byte('0' + version)
	return m.valueBuf
}

// putDigits fills b with the decimal digits of n.
func putDigits(b []byte, n int) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}

// answer sums up what was read, whatever the order: how many, and some bytes of
// each key and value. It costs a nanosecond or two, so that it may be part of
// what is measured.
type answer struct{ Count, Sum uint64 }

func (a *answer) key(key []byte) {
	a.Count++
	a.Sum += uint64(len(key)) + tail(key)
}

func (a *answer) value(value []byte) {
	a.Count++
	a.Sum += uint64(len(value))
	if len(value) >= stampAt+stampSize {
		a.Sum += tail(value[:stampAt+stampSize])
	}
}

func (a *answer) add(b answer) { a.Count += b.Count; a.Sum += b.Sum }

// tail returns the last eight bytes as a number, which hold the low digits.
func tail(b []byte) uint64 {
	if len(b) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[len(b)-8:])
}

// check tells whether a value is the i-th, of whatever version.
func (m *maker) check(i int, value []byte) error {
	want := m.value(i, 0)
	at := stampAt + stampSize
	if len(value) != valueSize || !bytes.Equal(value[:at], want[:at]) {
		return fmt.Errorf("value %d is %.40q (%d bytes), which was not written there", i, value, len(value))
	}
	return nil
}
