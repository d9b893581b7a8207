package textsearch

import (
	"context"
	"errors"

	"github.com/crabstore/crabstore/kv"
)

// stats is what is kept of an index as a whole. An index without documents has
// none.
type stats struct {
	Documents uint64 `json:"documents"`
	Length    uint64 `json:"length"` // of all documents together, in words
	Language  string `json:"language"`
}

// loadStats returns the statistics of an index. One without documents is in the
// given language.
func loadStats(ctx context.Context, s kv.KVStorage, l *layout, language string) (stats, error) {
	st, err := kv.Load[stats](ctx, s, kv.Text, l.stats)
	if errors.Is(err, kv.ErrNotFound) {
		return stats{Language: language}, nil
	}
	return st, err
}

func (st *stats) store(ctx context.Context, s kv.KVStorage, l *layout) error {
	if st.Documents == 0 {
		_, err := s.Delete(ctx, kv.Text, l.stats)
		return err
	}
	return kv.Store(ctx, s, kv.Text, l.stats, st)
}

func (st *stats) add(d *record) {
	st.Documents++
	st.Length += d.length
}

// remove takes out a document. On a store that a crash left with too small
// numbers they stop at zero.
func (st *stats) remove(d *record) {
	st.Documents -= min(st.Documents, 1)
	st.Length -= min(st.Length, d.length)
}

// average is the mean length of a document, above zero.
func (st *stats) average() float64 {
	if st.Documents == 0 || st.Length == 0 {
		return 1
	}
	return float64(st.Length) / float64(st.Documents)
}
