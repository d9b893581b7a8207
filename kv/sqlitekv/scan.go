package sqlitekv

import (
	"bytes"
	"context"
	"database/sql/driver"
	"slices"

	"github.com/crabstore/crabstore/kv"
)

// A scan fetches pages of so many entries, or KiB, at most: few at first, since many
// scans are of a handful of entries or stop early.
const (
	firstPage = 16
	lastPage  = 1024
)

// beyond is a bound above every key.
var beyond = bytes.Repeat([]byte{0xFF}, kv.MaxKeySize+1)

// scan is a scan under way.
type scan struct {
	col       kv.Column
	statement int
	low, high []byte // from low on, below high
	reverse   bool
	size      int // of the next page
	page      []kv.Entry
	more      bool
}

func newScan(col kv.Column, r kv.Range) *scan {
	sc := &scan{col: col, low: append([]byte{}, r.Prefix...), high: kv.PrefixEnd(r.Prefix), reverse: r.Reverse, size: firstPage}
	if sc.high == nil {
		sc.high = beyond
	}
	switch {
	case r.After == nil:
	case r.Reverse && bytes.Compare(r.After, sc.high) < 0:
		sc.high = slices.Clone(r.After)
	case !r.Reverse && bytes.Compare(r.After, sc.low) >= 0:
		sc.low = next(r.After)
	}
	switch {
	case r.KeysOnly && r.Reverse:
		sc.statement = keysDown
	case r.KeysOnly:
		sc.statement = keysUp
	case r.Reverse:
		sc.statement = entriesDown
	default:
		sc.statement = entriesUp
	}
	return sc
}

// next returns the first key behind a key.
func next(key []byte) []byte { return append(slices.Clone(key), 0) }

// fetch reads the next page.
func (sc *scan) fetch(snap *snapshot) error {
	sc.page, sc.more = nil, false
	bytes := 0
	err := snap.use(func(c *conn) error {
		return c.query(sc.statement, func(row []driver.Value) (bool, error) {
			e, err := entryOf(row)
			if err != nil {
				return false, err
			}
			sc.page = append(sc.page, e)
			bytes += len(e.Key) + len(e.Value)
			sc.more = len(sc.page) == sc.size || bytes >= sc.size<<10
			return !sc.more, nil
		}, int64(sc.col), sc.low, sc.high)
	})
	if err != nil || !sc.more {
		return err
	}
	if last := sc.page[len(sc.page)-1].Key; sc.reverse {
		sc.high = slices.Clone(last) // what is yielded is the caller's to change
	} else {
		sc.low = next(last)
	}
	sc.size = min(4*sc.size, lastPage)
	return nil
}

func entryOf(row []driver.Value) (e kv.Entry, err error) {
	if e.Key, err = bytesOf(row[0]); err == nil && len(row) > 1 {
		e.Value, err = bytesOf(row[1])
	}
	return e, err
}

// yield yields the page that was fetched, and those that follow it.
func (sc *scan) yield(ctx context.Context, snap *snapshot, yield func(kv.Entry, error) bool) {
	for {
		for _, e := range sc.page {
			if !yield(e, nil) {
				return
			}
		}
		if !sc.more {
			return
		}
		err := ctx.Err()
		if err == nil {
			err = snap.store.file.explain(sc.fetch(snap))
		}
		if err != nil {
			yield(kv.Entry{}, err)
			return
		}
	}
}
