package inverted

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/crabstore/crabstore/kv"
)

// Version is that of the layout and of what the clients put into it. An index of
// another one is made anew from content.
const Version = 1

// ErrVersion is returned for an index of another version.
var ErrVersion = errors.New("the index is of another version of this program; agent store reindex, or Rebuild, makes it anew")

// Stats is what is kept of an index as a whole. One that was never written to has
// none.
type Stats struct {
	Version    int    `json:"version"`
	Generation uint64 `json:"generation"`
	Config     string `json:"config,omitempty"` // the client's
	Documents  uint64 `json:"documents"`
	Length     uint64 `json:"length"` // of all documents together

	// Operations from First up to, and without, Next are in the log, which Log names.
	// Tip names the last of them, and List the state of the list: names are random,
	// and new with each change.
	First  uint64 `json:"first"`
	Next   uint64 `json:"next"`
	Log    uint64 `json:"log"`
	Tip    uint64 `json:"tip"`
	List   uint64 `json:"list"`
	Credit uint64 `json:"credit,omitempty"` // work that is owed to merges
}

// list is the segments of a generation.
type list struct {
	Segments []Segment `json:"segments"`
	Merges   []merge   `json:"merges,omitempty"`
	Trash    []uint64  `json:"trash,omitempty"` // segments that are no more, but for values to delete
}

// newID returns a name that was never used.
func newID() uint64 {
	for {
		if id := rand.Uint64(); id != 0 {
			return id
		}
	}
}

// Index is where an index lies.
type Index struct {
	col  kv.Column
	root []byte
	// Groups returns, by the client's Config, what returns the group of a term, or the
	// term itself. Nil is no groups.
	Groups func(config string) (Group, error)
	// Unranked is an index whose postings are not told apart by what they are worth:
	// Block.Best is nil, and blocks are coded to be small. It is as it was when the
	// first document came.
	Unranked bool
}

// Group returns the group of a term, or the term itself.
type Group = func(term string) string

func (x *Index) groups(st *Stats) (Group, error) {
	if x.Groups == nil {
		return nil, nil
	}
	return x.Groups(st.Config)
}

// At returns the index of a kind, like "text", and a name in a store.
func At(s kv.KVStorage, col kv.Column, kind, name string) *Index {
	return &Index{col: col, root: kv.Prefix(s, "idx", kind, name)}
}

func (x *Index) key(name string) []byte { return append(append([]byte{}, x.root...), name...) }

// MaxKey returns how long the key of a document may be, in bytes, escaped as in a
// key of the store.
func (x *Index) MaxKey() int { return kv.MaxKeySize - len(x.root) - len("18446744073709551615/key/") }

// Load returns the statistics of the index; ok is false when it has none.
func (x *Index) Load(ctx context.Context, s kv.KVStorage) (st Stats, ok bool, err error) {
	return x.load(ctx, s, "stats")
}

func (x *Index) load(ctx context.Context, s kv.KVStorage, name string) (st Stats, ok bool, err error) {
	st, err = kv.Load[Stats](ctx, s, x.col, x.key(name))
	if errors.Is(err, kv.ErrNotFound) {
		return Stats{}, false, nil
	}
	if err == nil && st.Version != Version {
		err = fmt.Errorf("%w (%q)", ErrVersion, x.root)
	}
	return st, err == nil, err
}

// list reads the list that the statistics name.
func (s *shelf) list(ctx context.Context, st *Stats) (*list, error) {
	if st.List == 0 {
		return &list{}, nil
	}
	at := kv.CacheKey{ID: st.List, Kind: 'l'}
	if v, ok := s.cache.Get(at); ok {
		return v.(*list), nil
	}
	l, err := kv.Load[list](ctx, s.tx, s.col, s.under("list"))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, fmt.Errorf("%w: no %q", ErrCorrupt, s.under("list"))
	}
	if err != nil {
		return nil, err
	}
	s.cache.Put(at, &l, 100+64*len(l.Segments))
	return &l, nil
}

// clone returns a list that can be changed.
func (l *list) clone() *list {
	c := &list{append([]Segment{}, l.Segments...), nil, append([]uint64{}, l.Trash...)}
	for _, m := range l.Merges {
		m.Inputs = append([]uint64{}, m.Inputs...)
		c.Merges = append(c.Merges, m)
	}
	return c
}

func (l *list) find(id uint64) *Segment {
	for i := range l.Segments {
		if l.Segments[i].ID == id {
			return &l.Segments[i]
		}
	}
	return nil
}

func (l *list) empty() bool { return len(l.Segments)+len(l.Merges)+len(l.Trash) == 0 }
