package etcdkv

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crabstore/crabstore/kv"
)

// Checkpoint brings a commit to its end that a process left pending. Whatever was
// acknowledged is on the disks of a majority already.
func (s *Store) Checkpoint(ctx context.Context) error {
	leave, err := s.gate.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if s.readOnly {
		return kv.ErrReadOnly
	}
	_, _, err = s.readClean(ctx)
	return err
}

// Compact removes what processes that crashed had written for commits that they did
// not make. etcd's history, of all that uses the cluster, is not its to compact.
//
// What it removes it removes by a commit, so one that is on its way with a part of
// that fails and is made again. What is young is left alone, for this not to happen.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.Checkpoint(ctx); err != nil {
		return err
	}
	leave, err := s.gate.Hold(ctx) // it may be long: Close does not wait
	if err != nil {
		return err
	}
	defer leave()
	if err := s.sweepStages(ctx); err != nil {
		return err
	}
	return s.sweepChunks(ctx)
}

// sweepStages removes stages of no commit. While no commit is pending all are.
func (s *Store) sweepStages(ctx context.Context) error {
	return s.eachOld(ctx, "s/", func(rest string) (string, bool) {
		id, _, ok := strings.Cut(rest, "/")
		return id, ok
	}, func(_ int64, id, _ string) error {
		return s.sweep(ctx, s.stageOf(id))
	})
}

// sweepChunks removes the chunks to which the value of their key does not refer.
func (s *Store) sweepChunks(ctx context.Context) error {
	return s.eachOld(ctx, "v/", chunkID, func(rev int64, id, rest string) error {
		key := rest[2:strings.LastIndex(rest, id)]
		r, err := s.at(ctx, rev, s.dataKey(key))
		if err != nil {
			return err
		}
		var mod int64
		if len(r.Kvs) > 0 {
			mod = r.Kvs[0].ModRevision
			if v := r.Kvs[0].Value; len(v) == referenceSize && v[0] == reference && string(v[1:1+idSize]) == id {
				return nil
			}
		}
		return s.sweep(ctx, s.chunksOf(key)+id, clientv3.Compare(clientv3.ModRevision(s.dataKey(key)), "=", mod))
	})
}

// chunkID returns the id in a key of a chunk behind "v/", which chunksOf and chunkKey
// made.
func chunkID(rest string) (string, bool) {
	if len(rest) < 2 {
		return "", false
	}
	at := 2 + int(binary.BigEndian.Uint16([]byte(rest)))
	if len(rest) != at+idSize+2 {
		return "", false
	}
	return rest[at : at+idSize], true
}

// sweep removes all below a prefix if nothing is pending and the conditions hold.
func (s *Store) sweep(ctx context.Context, prefix string, conditions ...clientv3.Cmp) error {
	_, err := s.write(ctx, conditions, []clientv3.Op{clientv3.OpDelete(prefix, clientv3.WithPrefix())})
	return err
}

// eachOld calls fn once for each id of the keys below a part of the store, with a
// revision at which it was there, but not for young ones.
func (s *Store) eachOld(ctx context.Context, part string, idOf func(rest string) (string, bool),
	fn func(rev int64, id, rest string) error) error {
	m, _, err := s.now(ctx)
	if err != nil {
		return err
	}
	from := s.prefix + part
	sp := span{column: from, from: from, to: clientv3.GetPrefixRangeEnd(from), keysOnly: true}
	last := ""
	for page, err := range s.pages(ctx, m.rev, sp, nil) {
		if err != nil {
			return err
		}
		for _, e := range page {
			rest := string(e.Key[len(from):])
			id, ok := idOf(rest)
			if !ok {
				return fmt.Errorf("%w: %s: %.60q is no key of a store", kv.ErrCorrupt, s.address, e.Key)
			}
			if id == last || s.young(id) {
				continue
			}
			if err := fn(m.rev, id, rest); err != nil {
				return err
			}
			last = id
		}
	}
	return nil
}

// young tells of an id by the clock of whoever made it. It is a courtesy and no more:
// nothing but time is lost when clocks differ.
func (s *Store) young(id string) bool {
	made, err := ulid.ParseStrict(id)
	return err == nil && time.Since(made.Timestamp()) < s.youth
}

// Stats tells how the store is. Bytes and DeadBytes are those of the member that
// answered, of all that uses the cluster.
func (s *Store) Stats(ctx context.Context) (kv.Stats, error) {
	leave, err := s.gate.Call(ctx)
	if err != nil {
		return kv.Stats{}, err
	}
	defer leave()
	data := s.dataKey("")
	a, g, err := s.read(ctx, clientv3.OpGet(data, clientv3.WithPrefix(), clientv3.WithCountOnly()))
	if err != nil {
		return kv.Stats{}, err
	}
	st := kv.Stats{Engine: "etcd", Location: s.address, Keys: got(a, 1).Count, Detail: map[string]any{
		"revision": a.Header.Revision, "guard": g.state, "epoch": int64(g.epoch), "format": int64(format),
	}}
	for _, endpoint := range s.endpoints {
		ctx, cancel := context.WithTimeout(ctx, s.timeout/4)
		status, err := s.client.Status(ctx, endpoint)
		cancel()
		if err != nil {
			st.Detail["unreachable "+endpoint] = err.Error()
			continue
		}
		st.Bytes, st.DeadBytes = status.DbSize, status.DbSize-status.DbSizeInUse
		st.Detail["quota"], st.Detail["version"] = status.DbSizeQuota, status.Version
	}
	return st, nil
}
