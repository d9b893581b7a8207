package etcdkv

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crabstore/crabstore/kv"
)

const (
	maxOps   = 128     // etcd's default --max-txn-ops
	maxBytes = 1 << 20 // of records in a request, below etcd's default --max-request-bytes of 1.5 MiB
)

func (s *Store) stageOf(txid string) string { return s.prefix + "s/" + txid + "/" }

func (s *Store) pieceKey(txid string, n int) string {
	return s.stageOf(txid) + string(binary.BigEndian.AppendUint32(nil, uint32(n)))
}

// inBatches splits records into what fits one request beside the guard.
func (s *Store) inBatches(records []record) [][]clientv3.Op {
	batches := [][]clientv3.Op{nil}
	size := 0
	for _, r := range records {
		ops := s.ops(r)
		last := len(batches) - 1
		if len(batches[last])+len(ops) > maxOps-1 || size+r.size() > maxBytes {
			batches = append(batches, nil)
			last, size = last+1, 0
		}
		batches[last] = append(batches[last], ops...)
		size += r.size()
	}
	return batches
}

// stage writes the records of a commit where nothing reaches them, but for the last
// piece, which it returns: it goes with the commit itself.
func (s *Store) stage(ctx context.Context, txid string, records []record) (clientv3.Op, error) {
	var pieces []request
	var piece []byte
	flush := func() clientv3.Op {
		put := clientv3.OpPut(s.pieceKey(txid, len(pieces)), string(piece))
		piece = piece[:0]
		return put
	}
	for _, r := range records {
		if len(piece)+r.size() > maxBytes {
			pieces = append(pieces, request{then: []clientv3.Op{flush()}})
		}
		piece = appendRecord(piece, r)
	}
	_, err := s.all(ctx, pieces)
	return flush(), err
}

// apply brings a pending commit to its end: its records into their places, each batch
// on the condition that the guard is still the pending one, so that doing it twice, or
// by several at once, does no harm; then the guard is made clean and the stage
// removed. When another was faster there is nothing left to do.
func (s *Store) apply(ctx context.Context, g guard, records []record) error {
	var requests []request
	for _, ops := range s.inBatches(records) {
		requests = append(requests, request{compare: []clientv3.Cmp{s.isStill(g)}, then: ops})
	}
	if held, err := s.all(ctx, requests); err != nil || !held {
		return err
	}
	done := guard{state: clean, epoch: g.epoch, txid: g.txid}
	_, err := s.again(ctx, request{
		compare: []clientv3.Cmp{s.isStill(g)},
		then:    []clientv3.Op{s.putGuard(done), clientv3.OpDelete(s.stageOf(g.txid), clientv3.WithPrefix())},
	})
	return err
}

// rollForward ends a commit that is pending: of another process that is still at it,
// or of one that crashed. At rev the guard was pending.
func (s *Store) rollForward(ctx context.Context, g guard, rev int64) error {
	if s.readOnly {
		return fmt.Errorf("%w: a commit is to be brought to its end", kv.ErrReadOnly)
	}
	records, err := s.staged(ctx, g, rev)
	if err != nil {
		return err
	}
	return s.apply(ctx, g, records)
}

// staged returns the records of a commit that is pending at rev, where the stage is
// therefore whole, sorted by key. They are kept for the next who asks: read them only.
func (s *Store) staged(ctx context.Context, g guard, rev int64) ([]record, error) {
	if kept := s.kept.Load(); kept != nil && kept.txid == g.txid {
		return kept.records, nil
	}
	var records []record
	stage := s.stageOf(g.txid)
	for from, end := stage, clientv3.GetPrefixRangeEnd(stage); ; {
		page, err := s.at(ctx, rev, from, clientv3.WithRange(end), clientv3.WithLimit(4))
		if err != nil {
			return nil, err
		}
		for _, piece := range page.Kvs {
			some, err := parseRecords(piece.Value)
			if err != nil {
				return nil, fmt.Errorf("%s: %.60q: %w", s.address, piece.Key, err)
			}
			records = append(records, some...)
			from = string(piece.Key) + "\x00"
		}
		if !page.More {
			break
		}
	}
	slices.SortFunc(records, func(a, b record) int { return strings.Compare(a.key, b.key) })
	s.kept.Store(&keptStage{g.txid, records})
	return records, nil
}

// keptStage is a stage that has been read.
type keptStage struct {
	txid    string
	records []record
}
