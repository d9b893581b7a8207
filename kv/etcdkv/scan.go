package etcdkv

import (
	"context"
	"iter"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crabstore/crabstore/kv"
)

// The pages of a scan, in keys. The first one is small, since many scans stop early,
// those that look for the last key above all; they grow while they stay below
// pageBytes.
const (
	firstPage    = 64
	firstPageEnd = 8   // of a scan in reverse
	maxPage      = 512 // of at most inlineLimit bytes each, 32 MiB, but after values that large the next page is smaller
	pageBytes    = 1 << 20
)

// span is the part of the keyspace of etcd that a scan goes through.
type span struct {
	column   string // the prefix of a column's keys
	from, to string // to is exclusive
	reverse  bool
	keysOnly bool
}

func (s *Store) spanOf(col kv.Column, r kv.Range) span {
	column := s.dataKey(string([]byte{byte(col)}))
	from := column + string(r.Prefix)
	sp := span{column, from, clientv3.GetPrefixRangeEnd(from), r.Reverse, r.KeysOnly}
	switch {
	case r.After == nil:
	case r.Reverse:
		sp.to = min(sp.to, column+string(r.After))
	default:
		sp.from = max(sp.from, column+string(r.After)+"\x00")
	}
	return sp
}

func (sp span) empty() bool { return sp.from >= sp.to }

func (sp span) firstLimit() int64 {
	if sp.reverse {
		return firstPageEnd
	}
	return firstPage
}

// page returns how to ask for the next so many keys. Descending ones are asked for
// without their values: etcd sorts all of the span for it.
func (sp span) page(limit int64) (key string, opts []clientv3.OpOption) {
	opts = []clientv3.OpOption{clientv3.WithRange(sp.to), clientv3.WithLimit(limit)}
	if sp.reverse {
		opts = append(opts, clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))
	}
	if sp.reverse || sp.keysOnly {
		opts = append(opts, clientv3.WithKeysOnly())
	}
	return sp.from, opts
}

// behind returns what is left of the span behind a key.
func (sp span) behind(key string) span {
	if sp.reverse {
		sp.to = key
	} else {
		sp.from = key + "\x00"
	}
	return sp
}

// nextLimit returns the size of the page after one.
func nextLimit(limit int64, page []*mvccpb.KeyValue) int64 {
	bytes := 1
	for _, e := range page {
		bytes += len(e.Key) + len(e.Value)
	}
	return max(1, min(4*limit, maxPage, limit*pageBytes/int64(bytes)))
}

// pages yields what lies in a span at a revision, a page at a time. The first page
// may have been read before.
func (s *Store) pages(ctx context.Context, rev int64, sp span, first *clientv3.GetResponse) iter.Seq2[[]*mvccpb.KeyValue, error] {
	return func(yield func([]*mvccpb.KeyValue, error) bool) {
		page := first
		for limit := sp.firstLimit(); !sp.empty(); page = nil {
			if page == nil {
				key, opts := sp.page(limit)
				var err error
				if page, err = s.at(ctx, rev, key, opts...); err != nil {
					yield(nil, err)
					return
				}
			}
			if len(page.Kvs) == 0 {
				return
			}
			last := string(page.Kvs[len(page.Kvs)-1].Key)
			entries, err := s.withValues(ctx, rev, sp, page.Kvs)
			if !yield(entries, err) || err != nil || !page.More {
				return
			}
			sp, limit = sp.behind(last), nextLimit(limit, entries)
		}
	}
}

// withValues gets the values of a page that has keys only because it descends.
func (s *Store) withValues(ctx context.Context, rev int64, sp span, page []*mvccpb.KeyValue) ([]*mvccpb.KeyValue, error) {
	if !sp.reverse || sp.keysOnly {
		return page, nil
	}
	first, last := string(page[len(page)-1].Key), string(page[0].Key)
	r, err := s.at(ctx, rev, first, clientv3.WithRange(last+"\x00"))
	if err != nil {
		return nil, err
	}
	slices.Reverse(r.Kvs)
	return r.Kvs, nil
}

// records yields a span at a revision as records.
func (s *Store) records(ctx context.Context, rev int64, sp span, first *clientv3.GetResponse) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for page, err := range s.pages(ctx, rev, sp, first) {
			if err != nil {
				yield(record{}, err)
				return
			}
			for _, e := range page {
				if !yield(record{string(e.Key[len(sp.column)-1:]), e.Value}, nil) {
					return
				}
			}
		}
	}
}

// stagedIn returns those of a stage's records that lie in a span, in its order.
func (s *Store) stagedIn(records []record, sp span) []record {
	at := func(key string) int {
		i, _ := slices.BinarySearchFunc(records, key, func(r record, key string) int { return strings.Compare(s.dataKey(r.key), key) })
		return i
	}
	if sp.empty() {
		return nil
	}
	in := slices.Clone(records[at(sp.from):at(sp.to)])
	if sp.reverse {
		slices.Reverse(in)
	}
	return in
}

// over yields base with records over it, deletions left out.
func over(records []record, base iter.Seq2[record, error], reverse bool) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for r, err := range base {
			for err == nil && len(records) > 0 && before(records[0].key, r.key, reverse) {
				if !records[0].yieldTo(yield) {
					return
				}
				records = records[1:]
			}
			if err == nil && len(records) > 0 && records[0].key == r.key {
				continue // what replaces it comes in the next round or after the loop
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
		for _, r := range records {
			if !r.yieldTo(yield) {
				return
			}
		}
	}
}

// yieldTo yields a copy of what r puts, and nothing when it deletes.
func (r record) yieldTo(yield func(record, error) bool) bool {
	return r.stored == nil || yield(record{r.key, slices.Clone(r.stored)}, nil)
}

func before(a, b string, reverse bool) bool { return a != b && (a < b) != reverse }
