package inverted

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/crabstore/crabstore/kv"
)

// ErrCorrupt is returned when stored bytes are none that this package writes. It is
// a kv.ErrCorrupt. An index is made anew from content.
var ErrCorrupt = fmt.Errorf("index: %w", kv.ErrCorrupt)

// The kinds of values that a segment has, as they stand in their keys.
const (
	docTable   = 'd' // chunks of the table of documents
	termTable  = 't' // of terms
	groupTable = 'g' // of groups
	postings   = 'p'
	norms      = 'n' // lengths and weights of a window of documents
	deadBits   = 'x' // those of a window that are gone
	docPlaces  = 'D' // the directories of the tables, in parts
	termPlaces = 'T'
	grpPlaces  = 'G'
	order      = 'o' // of a segment that is being merged: where its documents come from
)

// placesOf is the kind of the directory of a table.
func placesOf(table byte) byte { return table - 'a' + 'A' }

// shelf is where the values of one generation of an index lie.
type shelf struct {
	tx       kv.KVStorage
	col      kv.Column
	root     []byte // prefix of all keys of the generation, with its slash
	cache    *kv.Cache
	unranked bool // see Index
	key      []byte
}

func newShelf(tx kv.KVStorage, x *Index, generation uint64) *shelf {
	root := strconv.AppendUint(append([]byte{}, x.root...), generation, 10)
	return &shelf{tx: tx, col: x.col, root: append(root, '/'), unranked: x.Unranked, cache: kv.CacheOf(tx)}
}

func (s *shelf) under(parts ...string) []byte {
	s.key = append(s.key[:0], s.root...)
	for _, p := range parts {
		s.key = append(s.key, p...)
	}
	return s.key
}

// segmentKey is the prefix of all values of a segment.
func (s *shelf) segmentKey(id uint64) []byte {
	s.key = append(append(s.key[:0], s.root...), "seg/"...)
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], id)
	s.key = hex.AppendEncode(s.key, b[:])
	return append(s.key, '/')
}

func (s *shelf) kindKey(id uint64, kind byte) []byte {
	s.key = append(s.segmentKey(id), kind, '/')
	return s.key
}

func (s *shelf) chunkKey(id uint64, kind byte, n uint32) []byte {
	s.kindKey(id, kind)
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	s.key = hex.AppendEncode(s.key, b[:])
	return s.key
}

// logKey is the key of an operation that no segment has yet.
func (s *shelf) logKey(n uint64) []byte {
	s.under("new/")
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	s.key = hex.AppendEncode(s.key, b[:])
	return s.key
}

// newKey is the key by which a document is found that no segment has yet.
func (s *shelf) newKey(key string) []byte {
	s.key = kv.AppendPart(s.under("key/"), key)
	return s.key
}

func (s *shelf) put(ctx context.Context, id uint64, kind byte, n uint32, value []byte) error {
	return s.tx.Put(ctx, s.col, s.chunkKey(id, kind, n), value)
}

// get reads a value that there must be.
func (s *shelf) get(ctx context.Context, id uint64, kind byte, n uint32) ([]byte, error) {
	value, err := s.tx.Get(ctx, s.col, s.chunkKey(id, kind, n))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, s.corrupt(id, kind, n)
	}
	return value, err
}

// corrupt is the error of a value that is missing or not as it should be.
func (s *shelf) corrupt(id uint64, kind byte, n uint32) error {
	return fmt.Errorf("%w: %q", ErrCorrupt, s.chunkKey(id, kind, n))
}

// cached returns what make makes of a value of a segment, and keeps it.
func cached[T any](ctx context.Context, s *shelf, id uint64, kind byte, n uint32, make func([]byte) (T, int, error)) (T, error) {
	at := kv.CacheKey{ID: id, Kind: kind, N: n}
	if v, ok := s.cache.Get(at); ok {
		return v.(T), nil
	}
	var made T
	data, err := s.get(ctx, id, kind, n)
	if err != nil {
		return made, err
	}
	made, size, err := make(data)
	if err != nil {
		return made, s.corrupt(id, kind, n)
	}
	s.cache.Put(at, made, size)
	return made, nil
}

func (s *shelf) chunk(ctx context.Context, id uint64, table byte, n uint32) (*chunk, error) {
	return cached(ctx, s, id, table, n, func(data []byte) (*chunk, int, error) {
		c, err := readChunk(data)
		if err != nil {
			return nil, 0, err
		}
		return c, c.size(), nil
	})
}

func (s *shelf) bytes(ctx context.Context, id uint64, kind byte, n uint32) ([]byte, error) {
	return cached(ctx, s, id, kind, n, func(data []byte) ([]byte, int, error) { return data, len(data) + 64, nil })
}

// dead reads the documents of a window that are gone, nil when there are none.
func (s *shelf) dead(ctx context.Context, id uint64, window uint32) (*bitmap, error) {
	data, err := s.tx.Get(ctx, s.col, s.chunkKey(id, deadBits, window))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b, _, err := readBitmap(data)
	if err != nil {
		return nil, s.corrupt(id, deadBits, window)
	}
	return b, nil
}
