package crabdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
)

// An index snapshot in a sealed file is a record of op 3. Its value:
//
//	kind u8 = 1 | live u64 | covers u64 | repeated { length u32 | leaf }
//
// live is how many bytes of the file are records that the index points at; covers
// is the offset up to which the log is in the index, where a replay begins. It is
// at or before the snapshot itself, so that encoding an index holds up no
// writer. The leaves are those of the resident index, byte for byte as package
// packtree states them, in order; the keys are a column byte and a key, the
// values a location. A kind that is unknown costs a replay.
//
// In a plain file a snapshot is bytes between records, and covers what stands
// before it:
//
//	count u32 | repeated { col u8 | key_len u32 | key | offset u64 }
const (
	snapshotKind = 1
	snapshotHead = 1 + 8 + 8
)

// encodeSnapshot returns a snapshot that can be placed anywhere behind what it covers.
func (l layout) encodeSnapshot(s *snapshot) ([]byte, error) {
	if l.sealed {
		return encodeSnapshotRecord(s)
	}
	return encodePlainSnapshot(s)
}

// placeSnapshot completes a snapshot for the offset at which it will stand.
func (l layout) placeSnapshot(b []byte, at int64) []byte {
	if l.sealed {
		b = binary.LittleEndian.AppendUint32(b, recordSum(b, at))
	}
	return b
}

// encodeSnapshotRecord returns a snapshot record but for its checksum, for which there
// is room behind it: what it is depends on where the record will stand.
func encodeSnapshotRecord(s *snapshot) ([]byte, error) {
	size := int64(snapshotHead)
	for leaf := range s.view.Leaves() {
		size += 4 + int64(len(leaf))
	}
	if size > math.MaxUint32 {
		return nil, fmt.Errorf("%w: the index of %d keys is %d bytes", ErrBatchTooLarge, s.view.Len(), size)
	}
	b := make([]byte, 0, recordFrame+size+sumSize)
	b = append(b, opSnapshot, 0)
	b = binary.LittleEndian.AppendUint32(b, 0) // the length of its key
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = append(b, snapshotKind)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.live))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.end))
	for leaf := range s.view.Leaves() {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(leaf)))
		b = append(b, leaf...)
	}
	return b, nil
}

// decodeSnapshot builds the index from the value of a snapshot record that stands
// at an offset of a sealed file. The index keeps the value's memory: its leaves are
// parts of it until they are changed.
func (l layout) decodeSnapshot(b []byte, offset int64) (tree *packtree.Tree, live, covers int64, err error) {
	if len(b) < snapshotHead || b[0] != snapshotKind {
		return nil, 0, 0, fmt.Errorf("it is of an unknown kind")
	}
	live = int64(binary.LittleEndian.Uint64(b[1:]))
	covers = int64(binary.LittleEndian.Uint64(b[9:]))
	if covers < headerSize || covers > offset || live < 0 || live > covers {
		return nil, 0, 0, fmt.Errorf("it covers %d bytes, %d of them live, and stands at %d", covers, live, offset)
	}
	leaves, err := leavesIn(b[snapshotHead:])
	if err != nil {
		return nil, 0, 0, err
	}
	tree, err = packtree.Load(leaves, func(entries []packtree.Entry) error {
		for _, e := range entries {
			if key, at := e.KeyLen-1, location(e.Value); !l.canBe(key, at, covers) {
				size, _ := at.size()
				return fmt.Errorf("it has %d bytes at offset %d for a key of %d", size, at.offset(), key)
			}
		}
		return nil
	})
	return tree, live, covers, err
}

// leavesIn returns the leaves of a snapshot, as parts of it.
func leavesIn(b []byte) ([][]byte, error) {
	const usual = 1 << 10 // bytes of a leaf
	leaves := make([][]byte, 0, len(b)/usual)
	for len(b) > 0 {
		if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
			return nil, fmt.Errorf("a leaf ends outside it")
		}
		n := 4 + int(binary.LittleEndian.Uint32(b))
		leaves = append(leaves, b[4:n])
		b = b[n:]
	}
	return leaves, nil
}

// canBe tells whether an entry of an index can be: a column and a key, of which the
// key has so many bytes, and a record of at least that size below an offset. What is
// whole by its checksum need not be so, when it comes from another program.
func (l layout) canBe(key int, at location, below int64) bool {
	size, _ := at.size()
	return key >= 0 && key <= MaxKey && size >= min(l.size(key, 0), unknownSize) &&
		at.offset() >= headerSize && at.offset()+int64(size) <= below
}

// encodePlainSnapshot returns a snapshot of a plain file.
func encodePlainSnapshot(s *snapshot) ([]byte, error) {
	if int64(s.view.Len()) > math.MaxUint32 {
		return nil, fmt.Errorf("%w: the index has %d keys", ErrBatchTooLarge, s.view.Len())
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(s.view.Len()))
	for c, ok := first(s.view); ok; ok = c.Next() {
		b = appendPlainEntry(b, c)
	}
	return b, nil
}

func first(v packtree.View) (*packtree.Cursor, bool) {
	c := v.Cursor()
	return c, c.Seek(nil)
}

func appendPlainEntry(b []byte, c *packtree.Cursor) []byte {
	id := c.Key()
	b = append(b, id[0])
	b = binary.LittleEndian.AppendUint32(b, uint32(len(id)-1))
	b = append(b, id[1:]...)
	return binary.LittleEndian.AppendUint64(b, uint64(location(c.Value()).offset()))
}

// decodePlainSnapshot builds the index from the bytes of a snapshot that stands
// at an offset. The sizes of the records are not in it.
func decodePlainSnapshot(b []byte, offset int64) (*packtree.Tree, error) {
	const least = 1 + 4 + 8
	if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4)/least {
		return nil, fmt.Errorf("its count is more than it has room for")
	}
	count := int(binary.LittleEndian.Uint32(b))
	builder := packtree.NewBuilder()
	b = b[4:]
	for range count {
		if len(b) < least {
			return nil, fmt.Errorf("it ends inside an entry")
		}
		key := int64(binary.LittleEndian.Uint32(b[1:]))
		if key > MaxKey || least+key > int64(len(b)) {
			return nil, fmt.Errorf("an entry has a key of %d bytes", key)
		}
		id := treeKey(nil, b[0], b[5:5+key])
		at := binary.LittleEndian.Uint64(b[5+key:])
		if at < headerSize || at >= uint64(offset) {
			return nil, fmt.Errorf("an entry points at %d, and it stands at %d", at, offset)
		}
		if err := builder.Add(id, uint64(locate(int64(at), unknownSize))); err != nil {
			return nil, err
		}
		b = b[least+key:]
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes are behind its last entry", len(b))
	}
	return builder.Finish(), nil
}

// matchPlainSnapshot compares what stands at an offset of a plain file with the
// snapshot that the index, as it is there, would give. A crash in the middle of a
// checkpoint leaves one, whole or in part, that no header names; read as records
// it would be garbage, or, worse, a record by luck. It returns its length when it
// is whole, and -1 when the file ends inside it.
func (l *loader) matchPlainSnapshot(offset int64) (int64, error) {
	switch {
	case l.tree.Len() == 0:
		return l.matchEmptySnapshot(offset)
	case l.size-offset <= recordFrame:
		return 0, nil // too little to tell a snapshot from a record, or a torn one, which is cut all the same
	}
	b, err := l.peek(offset, 4)
	if err != nil || int64(binary.LittleEndian.Uint32(b)) != int64(l.tree.Len()) {
		return 0, err
	}
	at := offset + 4
	var want []byte
	for c, ok := first(l.tree.View()); ok; ok = c.Next() {
		want = appendPlainEntry(want[:0], c)
		n := min(int64(len(want)), l.size-at)
		got, err := l.peek(at, int(n))
		if err != nil || !bytes.Equal(got, want[:n]) {
			return 0, err
		}
		if n < int64(len(want)) {
			return -1, nil
		}
		at += n
	}
	return at - offset, nil
}

// matchEmptySnapshot returns the length of the snapshots of an empty index that
// stand at an offset, each four zero bytes. A record of an empty key in column 0
// begins so too, and any of column 0 with two.
func (l *loader) matchEmptySnapshot(offset int64) (int64, error) {
	zeros, err := l.zeros(offset)
	if zeros < 4 || err != nil {
		return 0, err
	}
	return l.notRecords(offset, zeros-zeros%4, 4)
}

// notRecords returns how many bytes at an offset of a plain file are no records: most,
// or so many steps less, or none. The records behind tell, as long as no key of column
// 0 is empty or begins with zeros; nothing tells those from what is before them.
func (l *loader) notRecords(offset, most, step int64) (int64, error) {
	key, chain, err := l.recordInChain(offset)
	if chain && key > 0 || err != nil {
		return 0, err
	}
	for n := most; n > 0; n -= step {
		key, ok, err := l.recordInChain(offset + n)
		if ok && key > 0 || err != nil {
			return n, err
		}
	}
	if chain {
		return 0, nil
	}
	for n := most; n > 0; n -= step {
		_, bad, err := l.next(offset + n)
		if bad == "" || offset+n == l.head.indexAt || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// recordInChain tells whether a record stands at an offset, and behind it another,
// or the snapshot that the header names, or nothing. It returns the length of its key.
func (l *loader) recordInChain(offset int64) (key int, ok bool, err error) {
	r, bad, err := l.next(offset)
	if bad != "" || err != nil {
		return 0, false, err
	}
	key = len(r.key)
	end := offset + int64(r.size)
	if end == l.size || end == l.head.indexAt {
		return key, true, nil
	}
	_, bad, err = l.next(end)
	return key, bad == "", err
}

// zeros returns how many zero bytes stand at an offset, of so many as the snapshots
// of a store that stays empty may be.
func (l *loader) zeros(offset int64) (int64, error) {
	const most = 4 << 10
	b, err := l.peek(offset, int(min(most, l.size-offset)))
	return int64(len(b) - len(bytes.TrimLeft(b, "\x00"))), err
}
