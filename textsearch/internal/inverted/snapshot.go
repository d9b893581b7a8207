package inverted

import (
	"context"
	"slices"
	"strings"

	"github.com/crabstore/crabstore/kv"
)

// Snapshot is an index for searching, as a store or a transaction has it.
type Snapshot struct {
	Stats   Stats
	Sources []Source
	delta   *delta
}

// OpenAt returns the index, of which the statistics were read from tx, for searching.
// It is to be closed soon.
func (x *Index) OpenAt(ctx context.Context, tx kv.KVStorage, st Stats) (snap *Snapshot, err error) {
	s := newShelf(tx, x, st.Generation)
	l, err := s.list(ctx, &st)
	if err != nil {
		return nil, err
	}
	snap = &Snapshot{Stats: st}
	for _, info := range l.Segments {
		seg, err := s.open(ctx, info)
		if err != nil {
			return nil, err
		}
		snap.Sources = append(snap.Sources, seg)
	}
	group, err := x.groups(&st)
	if err != nil {
		return nil, err
	}
	if snap.delta, err = s.deltaOf(ctx, &st, group); err != nil {
		return nil, err
	}
	if snap.delta != nil {
		snap.Sources = append(snap.Sources, snap.delta)
	}
	return snap, nil
}

// Close lets go of the snapshot. What it gave out is no longer good.
func (s *Snapshot) Close() {
	if s.delta != nil {
		s.delta.mu.RUnlock()
	}
}

// Source is a part of an index. It has documents by number, from 0.
type Source interface {
	// Size is how many documents there are, those that are gone among them.
	Size() uint32
	// Ordered tells whether the numbers are in the order of the keys.
	Ordered() bool
	// Find returns the postings of a term, nil when it has none.
	Find(ctx context.Context, term string) (*List, error)
	// Members yields the terms of a group but for the one of its name.
	Members(ctx context.Context, group string, yield func(term string)) error
	// Expand yields the terms that begin with a prefix, until yield returns false: in
	// their order if the source is ordered.
	Expand(ctx context.Context, prefix string, yield func(term string, l *List) bool) error
	// Norms returns lengths and weights of a window.
	Norms(ctx context.Context, window uint32) (*Norms, error)
	// Gone returns the documents of a window that are gone, nil when there are none.
	Gone(ctx context.Context, window uint32) (*Gone, error)
	// Live returns how many documents of a list are there.
	Live(ctx context.Context, l *List) (uint32, error)
	// Key returns the key of a document.
	Key(ctx context.Context, number uint32) (string, error)
	// Number returns the document of a key, if there is one.
	Number(ctx context.Context, key string) (number uint32, ok bool, err error)
	// Under returns the documents whose keys begin with a prefix: those from up to,
	// and without, to, that are admitted, where nil admits all.
	Under(ctx context.Context, prefix string) (from, to uint32, admit func(number uint32) bool, err error)
}

// Gone is documents of a window that are gone.
type Gone = bitmap

// Has tells whether the document at i in its window is gone. None of nil is.
func (b *bitmap) Has(i uint32) bool { return b.has(i) }

func (s *segment) Size() uint32  { return s.Docs }
func (s *segment) Ordered() bool { return true }

func (s *segment) Find(ctx context.Context, term string) (*List, error) { return s.find(ctx, term) }

func (s *segment) Members(ctx context.Context, group string, yield func(string)) error {
	return s.members(ctx, group, yield)
}

func (s *segment) Expand(ctx context.Context, prefix string, yield func(string, *List) bool) error {
	var all slab
	return s.under(ctx, termTable, []byte(prefix), func(key, value []byte, _ uint32) (bool, error) {
		l, err := s.list(ctx, value, &all)
		if err != nil {
			return false, err
		}
		return yield(string(key), l), nil
	})
}

func (s *segment) Norms(ctx context.Context, window uint32) (*Norms, error) {
	return s.norms(ctx, window)
}

func (s *segment) Gone(ctx context.Context, window uint32) (*Gone, error) {
	return s.dead(ctx, window)
}

func (s *segment) Live(ctx context.Context, l *List) (uint32, error) {
	if s.Dead == 0 {
		return l.Count, nil
	}
	if l.numbers != nil {
		return s.countLive(ctx, l)
	}
	at := kv.CacheKey{ID: s.Tip, Kind: 'c', N: l.Blocks[0].chunk<<14 ^ uint32(l.Blocks[0].offset)}
	if v, ok := s.cache.Get(at); ok {
		return v.(uint32), nil
	}
	n, err := s.countLive(ctx, l)
	if err == nil {
		s.cache.Put(at, n, 64)
	}
	return n, err
}

func (s *segment) countLive(ctx context.Context, l *List) (live uint32, err error) {
	var buffers Buffers
	live = l.Count
	for i := range l.Parts() {
		if l.numbers == nil {
			none, err := s.allLive(ctx, &l.Blocks[i])
			if err != nil {
				return 0, err
			}
			if none {
				continue
			}
		}
		numbers, _, err := l.Read(ctx, i, &buffers)
		if err != nil {
			return 0, err
		}
		for _, n := range numbers {
			dead, err := s.dead(ctx, n/Window)
			if err != nil {
				return 0, err
			}
			if dead.has(n % Window) {
				live--
			}
		}
	}
	return live, nil
}

// allLive tells whether no document is gone in the windows of a block.
func (s *segment) allLive(ctx context.Context, b *Block) (bool, error) {
	for w := b.First / Window; w <= b.Last/Window; w++ {
		if dead, err := s.dead(ctx, w); dead != nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (s *segment) Key(ctx context.Context, number uint32) (string, error) {
	key, _, err := s.doc(ctx, number)
	return key, err
}

func (s *segment) Number(ctx context.Context, key string) (uint32, bool, error) {
	number, _, ok, err := s.number(ctx, key)
	if !ok || err != nil {
		return 0, false, err
	}
	dead, err := s.dead(ctx, number/Window)
	return number, !dead.has(number % Window), err
}

func (s *segment) Under(ctx context.Context, prefix string) (from, to uint32, admit func(uint32) bool, err error) {
	from, to, err = s.docRange(ctx, prefix)
	return from, to, nil, err
}

func (d *delta) Size() uint32  { return uint32(len(d.docs)) }
func (d *delta) Ordered() bool { return false }

func (d *delta) Find(_ context.Context, term string) (*List, error) {
	t := d.terms[term]
	if t == nil {
		return nil, nil
	}
	return t.list(), nil
}

func (t *deltaTerm) list() *List {
	return &List{Count: uint32(len(t.numbers)), numbers: t.numbers, frequencies: t.frequencies}
}

func (d *delta) Members(_ context.Context, group string, yield func(string)) error {
	for _, term := range d.members[group] {
		yield(term)
	}
	return nil
}

func (d *delta) Expand(_ context.Context, prefix string, yield func(string, *List) bool) error {
	for term, t := range d.terms {
		if strings.HasPrefix(term, prefix) && !yield(term, t.list()) {
			break
		}
	}
	return nil
}

func (d *delta) Norms(_ context.Context, window uint32) (*Norms, error) {
	from, to := int(window)*Window, min((int(window)+1)*Window, len(d.docs))
	return &Norms{Lengths: d.lengths[from:to], weights: d.weights[from:to]}, nil
}

func (d *delta) Gone(_ context.Context, window uint32) (*Gone, error) {
	if d.dead == 0 {
		return nil, nil
	}
	return &d.gone[window], nil
}

func (d *delta) Live(_ context.Context, l *List) (uint32, error) {
	live := l.Count
	if d.dead > 0 {
		for _, n := range l.numbers {
			if d.gone[n/Window].has(n % Window) {
				live--
			}
		}
	}
	return live, nil
}

func (d *delta) Key(_ context.Context, number uint32) (string, error) { return d.docs[number].key, nil }

func (d *delta) Number(_ context.Context, key string) (uint32, bool, error) {
	n, ok := d.at[key]
	return n, ok, nil
}

func (d *delta) Under(_ context.Context, prefix string) (from, to uint32, admit func(uint32) bool, err error) {
	if prefix == "" {
		return 0, d.Size(), nil, nil
	}
	return 0, d.Size(), func(n uint32) bool { return strings.HasPrefix(d.docs[n].key, prefix) }, nil
}

// Before returns how many documents of a source that is ordered have a key below
// one.
func Before(ctx context.Context, s Source, key string) (uint32, error) {
	return s.(*segment).docsBefore(ctx, []byte(key))
}

// Keys returns the keys of the documents that begin with a prefix, sorted.
func (s *Snapshot) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	for _, src := range s.Sources {
		from, to, admit, err := src.Under(ctx, prefix)
		if err != nil {
			return nil, err
		}
		for n := from; n < to; n++ {
			gone, err := src.Gone(ctx, n/Window)
			if err != nil {
				return nil, err
			}
			if gone.has(n%Window) || admit != nil && !admit(n) {
				continue
			}
			key, err := src.Key(ctx, n)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
