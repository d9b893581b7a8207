package inverted

import (
	"context"
	"encoding/binary"
	"sync"

	"github.com/crabstore/crabstore/kv"
)

// delta is the operations of a log in memory, for searching. It is read by several
// searches at once, and goes on to newer operations between them.
type delta struct {
	mu   sync.RWMutex
	next uint64 // operations before that are in
	tip  uint64 // of the last one

	terms   map[string]*deltaTerm
	members map[string][]string // by group, the terms that have another name
	docs    []deltaDoc
	at      map[string]uint32 // by key, those that are there
	lengths []byte
	weights []float64
	gone    []bitmap // by window
	dead    int
}

type deltaTerm struct{ numbers, frequencies []uint32 }

type deltaDoc struct {
	key    string
	length uint64
}

func newDelta(first uint64) *delta {
	return &delta{next: first, terms: map[string]*deltaTerm{}, members: map[string][]string{}, at: map[string]uint32{}}
}

// deltaOf returns the delta of a log as the statistics say it is, locked for
// reading, nil when the log is empty.
func (s *shelf) deltaOf(ctx context.Context, st *Stats, group func(string) string) (*delta, error) {
	if st.First >= st.Next {
		return nil, nil
	}
	at := kv.CacheKey{ID: st.Log, Kind: 'D' | 0x80}
	v, ok := s.cache.Get(at)
	if !ok {
		v = newDelta(st.First)
		s.cache.Put(at, v, 1<<20) // by rule of thumb: it grows
	}
	d := v.(*delta)
	fits, err := d.goOn(ctx, s, st, group)
	if err != nil {
		return nil, err
	}
	if fits {
		return d, nil
	}
	// It is that of another time: of a newer snapshot, or of a transaction that came
	// to nothing.
	d = newDelta(st.First)
	if _, err = d.goOn(ctx, s, st, group); err != nil {
		return nil, err
	}
	s.cache.Put(at, d, 1<<20)
	return d, nil
}

// goOn takes in what the log has more, and leaves d locked for reading when it is
// then as the statistics say.
func (d *delta) goOn(ctx context.Context, s *shelf, st *Stats, group func(string) string) (fits bool, err error) {
	d.mu.RLock()
	if d.next == st.Next && d.tip == st.Tip {
		return true, nil
	}
	d.mu.RUnlock()
	if fits, err = d.advance(ctx, s, st, group); !fits || err != nil {
		return false, err
	}
	d.mu.RLock()
	if d.next == st.Next && d.tip == st.Tip {
		return true, nil
	}
	d.mu.RUnlock() // another search took it further
	return false, nil
}

func (d *delta) advance(ctx context.Context, s *shelf, st *Stats, group func(string) string) (fits bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.next > st.Next || d.next == st.Next && d.tip != st.Tip {
		return false, nil
	}
	if d.next > st.First { // is the last one that is in here still in the log?
		data, err := s.tx.Get(ctx, s.col, s.logKey(d.next-1))
		if err != nil || len(data) < 8 || binary.LittleEndian.Uint64(data) != d.tip {
			return false, nil // it is begun anew, which tells of errors
		}
	}
	if err := s.operations(ctx, d.next, st.Next, func(op *operation) { d.apply(op, group) }); err != nil {
		return false, err
	}
	d.next, d.tip = st.Next, st.Tip
	return true, nil
}

func (d *delta) apply(op *operation, group func(string) string) {
	if n, ok := d.at[op.Key]; ok {
		d.gone[n/Window].set(n % Window)
		d.dead++
		delete(d.at, op.Key)
	}
	if op.remove {
		return
	}
	n := uint32(len(d.docs))
	if n%Window == 0 {
		d.gone = append(d.gone, bitmap{})
	}
	d.docs = append(d.docs, deltaDoc{op.Key, op.Length})
	d.at[op.Key] = n
	d.lengths = append(d.lengths, lengthByte(uint32(min(op.Length, 1<<32-1))))
	d.weights = append(d.weights, op.Weight)
	for _, t := range op.Terms {
		list := d.terms[t.Text]
		if list == nil {
			list = &deltaTerm{}
			d.terms[t.Text] = list
			if group != nil {
				if g := group(t.Text); g != t.Text {
					d.members[g] = append(d.members[g], t.Text)
				}
			}
		}
		list.numbers, list.frequencies = append(list.numbers, n), append(list.frequencies, t.Frequency)
	}
}
