package etcdkv

import (
	"encoding/binary"
	"fmt"

	"github.com/crabstore/crabstore/kv"
)

// record is one key as it is stored: what is to be put there, or that it is to be
// deleted.
type record struct {
	key    string // column byte and key
	stored []byte // the value with its tag, or nil to delete; see value.go
}

func columnKey(col kv.Column, key []byte) string {
	b := make([]byte, 0, 1+len(key))
	return string(append(append(b, byte(col)), key...))
}

// size is about what a record takes in a request.
func (r record) size() int { return 2*len(r.key) + len(r.stored) + 128 }

// appendRecord appends a record as it stands in a piece of the stage: the length of
// the key and the key, then 0, or 1 more than the length of the stored value and that
// value. Lengths are uvarints.
func appendRecord(b []byte, r record) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.key)))
	b = append(b, r.key...)
	if r.stored == nil {
		return binary.AppendUvarint(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(r.stored))+1)
	return append(b, r.stored...)
}

// parseRecords is the inverse, for a whole piece. What it returns shares b.
func parseRecords(b []byte) ([]record, error) {
	var records []record
	for len(b) > 0 {
		key, rest, err := cutBytes(b, 0)
		if err != nil {
			return nil, err
		}
		stored, rest, err := cutBytes(rest, 1)
		if err != nil {
			return nil, err
		}
		if len(key) < 2 || len(key) > 1+kv.MaxKeySize {
			return nil, fmt.Errorf("%w: a key of %d bytes in the stage", kv.ErrCorrupt, len(key))
		}
		records = append(records, record{string(key), stored})
		b = rest
	}
	return records, nil
}

// cutBytes cuts a length and so many bytes, less bias, off the front. A length below
// bias is nil.
func cutBytes(b []byte, bias uint64) (cut, rest []byte, err error) {
	n, w := binary.Uvarint(b)
	if w <= 0 {
		return nil, nil, fmt.Errorf("%w: no length in the stage", kv.ErrCorrupt)
	}
	b = b[w:]
	if n < bias {
		return nil, b, nil
	}
	if n -= bias; n > uint64(len(b)) {
		return nil, nil, fmt.Errorf("%w: a length of %d in the stage, before %d bytes", kv.ErrCorrupt, n, len(b))
	}
	return b[:n:n], b[n:], nil
}
