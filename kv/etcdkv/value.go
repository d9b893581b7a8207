package etcdkv

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crabstore/crabstore/kv"
)

// The first byte of a stored value.
const (
	inline    = 0 // the value follows
	reference = 1 // the id of the value's chunks, its length (u32) and its CRC-32C (u32) follow
)

const (
	inlineLimit   = 64 << 10  // so that a page of a scan stays small, whatever is in it
	chunkSize     = 512 << 10 // well below etcd's --max-request-bytes, 1.5 MiB
	idSize        = 26        // of a ULID
	referenceSize = 1 + idSize + 4 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s *Store) dataKey(key string) string { return s.prefix + "d/" + key }

// chunksOf is the prefix of all chunks of a key's value, of whatever id. The length
// keeps a key apart from one that it begins.
func (s *Store) chunksOf(key string) string {
	return s.prefix + "v/" + string(binary.BigEndian.AppendUint16(nil, uint16(len(key)))) + key
}

func chunkKey(prefix, id string, n int) string {
	return prefix + id + string(binary.BigEndian.AppendUint16(nil, uint16(n)))
}

// store returns a value as it is stored. A large one is written in chunks first,
// which nothing reaches until a record with the reference is committed.
func (s *Store) store(ctx context.Context, key string, value []byte) ([]byte, error) {
	if len(value) <= inlineLimit {
		return append(append(make([]byte, 0, 1+len(value)), inline), value...), nil
	}
	id := kv.NewID()
	ref := append(make([]byte, 0, referenceSize), reference)
	ref = append(ref, id...)
	ref = binary.BigEndian.AppendUint32(ref, uint32(len(value)))
	ref = binary.BigEndian.AppendUint32(ref, crc32.Checksum(value, castagnoli))
	return ref, s.putChunks(ctx, s.chunksOf(key), id, value)
}

// putChunks writes the chunks of a value, some at a time.
func (s *Store) putChunks(ctx context.Context, prefix, id string, value []byte) error {
	var requests []request
	for n := 0; n*chunkSize < len(value); n++ {
		chunk := value[n*chunkSize : min(len(value), (n+1)*chunkSize)]
		requests = append(requests, request{then: []clientv3.Op{clientv3.OpPut(chunkKey(prefix, id, n), string(chunk))}})
	}
	_, err := s.all(ctx, requests)
	return err
}

// atOnce is how many requests of one call are under way at a time.
const atOnce = 4

// all makes requests until each is answered, some at a time. It returns the first
// error, and whether the comparisons of all held.
func (q *requester) all(ctx context.Context, requests []request) (held bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	held = true
	var group sync.WaitGroup
	for worker := range min(atOnce, len(requests)) {
		group.Go(func() {
			for i := worker; i < len(requests); i += atOnce {
				a, err := q.again(ctx, requests[i])
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				held = held && a.Succeeded
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return held, context.Cause(ctx)
}

// load returns the value of a stored one, as it is at a revision. It may share
// stored.
func (s *Store) load(ctx context.Context, rev int64, key string, stored []byte) ([]byte, error) {
	if len(stored) > 0 && stored[0] == inline {
		return stored[1:], nil
	}
	if len(stored) != referenceSize || stored[0] != reference {
		return nil, s.corrupt(key, "%d bytes that are no value", len(stored))
	}
	id := string(stored[1 : 1+idSize])
	size := binary.BigEndian.Uint32(stored[1+idSize:])
	sum := binary.BigEndian.Uint32(stored[1+idSize+4:])
	chunks, err := s.at(ctx, rev, s.chunksOf(key)+id, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	var value []byte
	for _, chunk := range chunks.Kvs {
		value = append(value, chunk.Value...)
	}
	if uint32(len(value)) != size || crc32.Checksum(value, castagnoli) != sum {
		return nil, s.corrupt(key, "%d of %d bytes are there, or not those that were written", len(value), size)
	}
	return value, nil
}

func (s *Store) corrupt(key, format string, args ...any) error {
	return fmt.Errorf("%w: %s of %s: %.60q: %s", kv.ErrCorrupt, kv.Column(key[0]), s.address, key[1:], fmt.Sprintf(format, args...))
}

// ops returns what puts a record in its place and removes what chunks the value had
// before: all of the key's but those of the record itself.
func (s *Store) ops(r record) []clientv3.Op {
	chunks := s.chunksOf(r.key)
	end := clientv3.GetPrefixRangeEnd(chunks)
	if r.stored == nil {
		return []clientv3.Op{
			clientv3.OpDelete(s.dataKey(r.key)),
			clientv3.OpDelete(chunks, clientv3.WithRange(end)),
		}
	}
	put := clientv3.OpPut(s.dataKey(r.key), string(r.stored))
	if r.stored[0] == inline {
		return []clientv3.Op{put, clientv3.OpDelete(chunks, clientv3.WithRange(end))}
	}
	own := chunks + string(r.stored[1:1+idSize])
	return []clientv3.Op{
		put,
		clientv3.OpDelete(chunks, clientv3.WithRange(own)),
		clientv3.OpDelete(clientv3.GetPrefixRangeEnd(own), clientv3.WithRange(end)),
	}
}
