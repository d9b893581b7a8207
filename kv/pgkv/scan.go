package pgkv

import (
	"bytes"
	"context"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/crabstore/crabstore/kv"
)

// span is what is left of a range: the keys of a column from one on to before another.
type span struct {
	col      kv.Column
	from, to []byte
	reverse  bool
	keysOnly bool
}

// beyond is behind every key.
var beyond = bytes.Repeat([]byte{0xFF}, kv.MaxKeySize+1)

func spanOf(col kv.Column, r kv.Range) span {
	s := span{col, append([]byte{}, r.Prefix...), kv.PrefixEnd(r.Prefix), r.Reverse, r.KeysOnly}
	if s.to == nil {
		s.to = beyond
	}
	if r.After != nil {
		s.goOn(r.After)
	}
	return s
}

// goOn leaves of a span what lies behind a key.
func (s *span) goOn(key []byte) {
	switch next := append(bytes.Clone(key), 0); { // the first key behind it
	case s.reverse && bytes.Compare(key, s.to) < 0:
		s.to = next[:len(key)]
	case !s.reverse && bytes.Compare(next, s.from) > 0:
		s.from = next
	}
}

// page is the first entries of a span.
type page struct {
	entries []kv.Entry // with a nil value if it is too large for a page
	more    bool       // there may be entries behind them
	large   bool       // there is a value too large for a page
}

// read reads up to so many entries.
func (t *table) read(ctx context.Context, conn *pgx.Conn, s span, limit int) (p page, err error) {
	way := 0
	if s.reverse {
		way = 1
	}
	sql := t.sql.scan[way]
	if s.keysOnly {
		sql = t.sql.scanKeys[way]
	}
	rows, err := conn.Query(ctx, sql, int16(s.col), s.from, s.to, limit)
	if err != nil {
		return page{}, err
	}
	defer rows.Close()
	found := 0
	for rows.Next() {
		e, err := p.scan(rows, s.keysOnly, &found)
		if err != nil {
			return page{}, err
		}
		p.entries = append(p.entries, e)
	}
	if s.keysOnly {
		found = len(p.entries)
	}
	p.more = found == limit || found > len(p.entries)
	return p, rows.Err()
}

// scan reads a row. Found is how many of the limit there are, in this page or behind
// it.
func (p *page) scan(rows pgx.Rows, keysOnly bool, found *int) (e kv.Entry, err error) {
	if keysOnly {
		return e, rows.Scan(&e.Key)
	}
	size := 0
	err = rows.Scan(&e.Key, &size, &e.Value, found)
	if size == 0 {
		e.Value = []byte{}
	}
	p.large = p.large || e.Value == nil
	return e, err
}

// ScanRange yields the entries of a range.
func (t *table) ScanRange(ctx context.Context, col kv.Column, r kv.Range) iter.Seq2[kv.Entry, error] {
	return func(yield func(kv.Entry, error) bool) {
		leave, err := t.gate.Hold(ctx)
		if err != nil {
			yield(kv.Entry{}, err)
			return
		}
		defer leave()
		t.scan(ctx, spanOf(col, r), yield)
	}
}

// scan yields a span that is one page, or from a snapshot one that is not.
func (t *table) scan(ctx context.Context, s span, yield func(kv.Entry, error) bool) {
	var first page
	err := t.retry(ctx, func() error {
		return t.try(ctx, func(conn *pgx.Conn) (err error) {
			first, err = t.read(ctx, conn, s, s.firstLimit())
			return err
		})
	})
	switch {
	case err != nil:
		yield(kv.Entry{}, err)
	case first.more || first.large:
		t.scanHeld(ctx, s, yield)
	default:
		for _, e := range first.entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (t *table) scanHeld(ctx context.Context, s span, yield func(kv.Entry, error) bool) {
	snap, err := t.holdToRead(ctx)
	if err != nil {
		yield(kv.Entry{}, err)
		return
	}
	defer snap.end()
	snap.scan(ctx, s, yield)
}

func (s span) firstLimit() int {
	if s.reverse {
		return reverseRows
	}
	return pageRows
}

// scan yields a span page after page.
func (s *snapshot) scan(ctx context.Context, rest span, yield func(kv.Entry, error) bool) {
	for limit := rest.firstLimit(); ; limit = min(4*limit, pageRows) {
		var p page
		err := s.use(ctx, func(conn *pgx.Conn) (err error) {
			p, err = s.table.read(ctx, conn, rest, limit)
			return err
		})
		if err != nil {
			yield(kv.Entry{}, err)
			return
		}
		if n := len(p.entries); n > 0 {
			rest.goOn(p.entries[n-1].Key) // before it is the caller's to change
		}
		if !s.yieldAll(ctx, rest, p, yield) || !p.more {
			return
		}
	}
}

// yieldAll yields the entries of a page, and gets the values that were too large for it.
func (s *snapshot) yieldAll(ctx context.Context, of span, p page, yield func(kv.Entry, error) bool) bool {
	for _, e := range p.entries {
		if e.Value == nil && !of.keysOnly {
			var err error
			if e.Value, err = s.Get(ctx, of.col, e.Key); err != nil {
				yield(kv.Entry{}, err)
				return false
			}
		}
		if !yield(e, nil) {
			return false
		}
	}
	return true
}
