package crabdb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
)

// Recovery says what opening a store found and did. Zero numbers and empty texts
// mean that there was nothing of the kind.
type Recovery struct {
	Snapshot bool   // the index was loaded from the snapshot that the header names
	Distrust string // why it was not, if there was one
	Replayed int64  // records that were read from the log besides

	TornAt   int64  // where a tail torn by a crash began
	Torn     int64  // its length in bytes
	Reason   string // what was wrong with its first record
	KeptAs   string // the file beside the store that it was copied to, since it held whole records
	Leftover int    // files of a compaction cut short that were removed

	Lost []Span // with Options.Salvage: what could not be read
}

// Span is a stretch of a file, and what is wrong with it.
type Span struct {
	Offset int64
	Length int64
	Reason string
}

// loader makes the index of a file: from its snapshot, if that can be trusted,
// and from the records behind it.
type loader struct {
	ctx context.Context
	walker
	head    header
	salvage bool

	tree     *packtree.Tree
	live     int64
	upTo     int64 // up to where the log is in the tree
	trusted  int64 // below it everything was synced: bad bytes there are corruption
	spare    int64 // zeros behind the log: space that was reserved
	follows  bool  // the log goes on: what is behind it is not looked at
	skipped  bool  // the snapshot that the header names was passed over
	emptied  bool  // it is a plain one without entries
	recovery Recovery
	seen     func(Item) error // who watches, if anybody does
	parts    []part           // of the record at hand
	ids      []byte           // the memory of their keys, used again for the next
}

type part struct {
	op  byte
	id  []byte
	at  location
	len int
}

// load builds the index of a file of size bytes.
func load(ctx context.Context, log *logFile, head header, size int64, salvage bool) (*loader, error) {
	l := &loader{ctx: ctx, head: head, salvage: salvage, tree: packtree.New(), upTo: headerSize}
	l.walker = walker{log: log, size: size}
	log.end.Store(size) // reads are checked against it; set to the end of the log below
	l.trusted = headerSize
	if err := l.loadSnapshot(); err != nil {
		return nil, err
	}
	if salvage {
		if err := l.dropUnreadable(); err != nil {
			return nil, err
		}
	}
	if err := l.replay(); err != nil {
		return nil, err
	}
	log.end.Store(l.upTo)
	return l, nil
}

// loadSnapshot tries the snapshot that the header names. A snapshot that cannot
// be trusted leaves the tree empty, for a replay of everything.
func (l *loader) loadSnapshot() error {
	switch {
	case l.head.damaged && l.log.sealed:
		l.trusted = l.size // nothing tells what was synced: only a log without a fault will do
		l.recovery.Distrust = "the header is damaged"
		return nil
	case l.head.damaged:
		l.recovery.Distrust = "the header names an impossible place"
		return nil
	case l.head.indexAt == 0:
		return nil
	case l.head.watermark() > l.size && l.log.sealed:
		if !l.salvage {
			return corrupt(l.log.path, l.size, "the file ends here, and %d bytes were safely written; restore a backup, or open with Salvage", l.head.watermark())
		}
		l.recovery.Lost = append(l.recovery.Lost, Span{l.size, l.head.watermark() - l.size, "the file was cut"})
		return nil
	case l.head.watermark() > l.size:
		l.recovery.Distrust = "the file ends inside it"
		return nil
	}
	l.trusted = l.head.watermark()
	loadIt := l.loadPlainSnapshot
	if l.log.sealed {
		loadIt = l.loadSealedSnapshot
	}
	reason, err := loadIt()
	if reason != nil {
		l.recovery.Distrust = reason.Error()
	}
	return err
}

// loadSealedSnapshot reads the snapshot at once, into memory that the index is then
// made of. It is taken when the record, the header and the file agree on how much.
func (l *loader) loadSealedSnapshot() (reason, err error) {
	at, size := l.head.indexAt, l.head.indexLen
	frame := make([]byte, min(size, recordFrame))
	if err := l.log.read(frame, at); err != nil {
		return nil, err
	}
	key, value, ok := l.log.lengths(frame)
	if !ok || frame[0] != opSnapshot || int64(l.log.layout.size(key, 0))+value != size || size > math.MaxInt {
		return fmt.Errorf("another record stands at %d", at), nil
	}
	b := make([]byte, size)
	if err := l.log.read(b, at); err != nil {
		return nil, err
	}
	r, bad := l.log.decode(b, at)
	if bad != "" {
		return fmt.Errorf("%s", bad), nil
	}
	tree, live, covers, reason := l.log.decodeSnapshot(r.value, at)
	if reason == nil {
		l.tree, l.live, l.upTo = tree, live, covers
		l.recovery.Snapshot = true
	}
	return reason, nil
}

func (l *loader) loadPlainSnapshot() (reason, err error) {
	b, err := l.peek(l.head.indexAt, int(l.head.indexLen))
	if err != nil {
		return nil, err
	}
	tree, reason := decodePlainSnapshot(b, l.head.indexAt)
	if reason != nil {
		return reason, nil
	}
	if tree.Len() == 0 && l.head.indexAt > headerSize {
		l.emptied = true // four zero bytes anywhere say as much: the log has the word, where it can be read
		return nil, nil
	}
	sized, live, reason, err := l.measure(tree.View())
	if reason != nil || err != nil {
		return reason, err
	}
	l.tree, l.live, l.upTo = sized, live, l.head.watermark()
	l.recovery.Snapshot = true
	return nil, nil
}

// replay applies the records behind what the tree has, up to the end of the file
// or the first bytes that are none.
func (l *loader) replay() error {
	for l.upTo < l.size {
		if err := l.interrupted(); err != nil {
			return err
		}
		bad, err := l.step()
		if errors.As(err, new(endOfFile)) && l.tailIsGone() {
			continue
		}
		if err != nil {
			return err
		}
		if bad == "" {
			continue
		}
		if stop, err := l.stop(bad); stop || err != nil {
			return err
		}
	}
	return nil
}

// trim leaves out of the file the zeros that it ends with, behind the log: space that
// was reserved for records to come, or that a power loss left. Up to three bytes of
// them may be the end of a checksum.
func (l *loader) trim() error {
	if !l.log.sealed || l.upTo < l.trusted {
		return nil
	}
	end, err := l.lastByte(l.upTo)
	if err != nil {
		return err
	}
	if end > l.upTo {
		end = min(end+sumSize-1, l.size)
	}
	l.size, l.spare = end, l.spare+l.size-end
	l.window = l.window[:0]
	return nil
}

// tailIsGone tells whether the file is shorter by now, and still has all that was
// replayed and all that is safe: its writer has cut off what was not written whole.
func (l *loader) tailIsGone() bool {
	info, err := l.log.file.Stat()
	if err != nil || info.Size() >= l.size || info.Size() < max(l.upTo, l.trusted) {
		return false
	}
	l.size, l.window = info.Size(), l.window[:0]
	return true
}

// step applies what stands at l.upTo and moves on behind it, or says why it is
// nothing that can.
func (l *loader) step() (fault, error) {
	n, bad, err := l.snapshotHere()
	if n > 0 && err == nil {
		err = l.tell(Item{Offset: l.upTo, Length: n, Kind: KindSnapshot, Sum: SumNone})
	}
	if n > 0 || bad != "" || err != nil {
		l.upTo += n
		return bad, err
	}
	r, bad, err := l.next(l.upTo)
	if err != nil || bad != "" {
		return bad, err
	}
	if !l.apply(r, l.upTo) {
		return badShape, nil
	}
	at := l.upTo
	l.upTo += int64(r.size)
	l.recovery.Replayed++
	return "", l.tellRecord(r, at)
}

// snapshotHere returns the length of the snapshot at l.upTo that is not to be read as a
// record: in a plain file any, and in either the one that the header names, if it is
// damaged or was loaded.
func (l *loader) snapshotHere() (int64, fault, error) {
	if !l.log.sealed {
		switch n, err := l.matchPlainSnapshot(l.upTo); {
		case n < 0:
			return 0, cutSnapshot, err
		case n > 0 || err != nil:
			return n, "", err
		}
	}
	if l.log.sealed && l.recovery.Snapshot && l.upTo == l.head.indexAt {
		return l.head.indexLen, "", nil // the one that was loaded: it need not be read again
	}
	if l.upTo != l.head.indexAt || l.recovery.Snapshot || l.head.damaged || l.head.watermark() > l.size {
		return 0, "", nil
	}
	remains, err := l.remainsHere()
	if !remains || err != nil {
		return 0, "", err
	}
	l.skipped = true
	return l.head.indexLen, "", nil
}

// remainsHere tells whether the place that the header names, where no snapshot is
// that could be used, has the remains of one. Where a record stands, the header is
// that of another state of the file; but in a plain file remains may be a record by
// luck.
func (l *loader) remainsHere() (bool, error) {
	_, bad, err := l.next(l.upTo)
	if bad != "" || err != nil || l.log.sealed {
		return bad != "" && !l.log.meant(bad), err
	}
	if l.head.watermark() == l.size {
		return false, nil
	}
	n, err := l.notRecords(l.upTo, l.head.indexLen, l.head.indexLen)
	return n > 0, err
}

// interrupted looks, now and then, whether who waits for the load still does.
func (l *loader) interrupted() error {
	if l.recovery.Replayed%1024 != 0 {
		return nil
	}
	return l.ctx.Err()
}

// stop says what the bytes at l.upTo, which are no record, mean: a tail that a
// crash tore, which ends the replay; or corruption, which ends it with an error,
// or which salvage passes over.
func (l *loader) stop(bad fault) (bool, error) {
	at := l.upTo
	if l.follows {
		return true, nil
	}
	if err := l.trim(); err != nil || at == l.size {
		return true, err
	}
	switch {
	case at < l.trusted && l.emptied: // then all that is below is dead anyway
		l.tree, l.live, l.upTo = packtree.New(), 0, l.head.watermark()
		l.recovery.Snapshot, l.skipped = true, true
		l.recovery.Distrust = "it is empty, and the log before it cannot be read"
		return false, nil
	case l.salvage:
		next, err := l.resync(at + 1)
		if err == nil {
			span := Span{at, next - at, string(bad)}
			l.recovery.Lost = append(l.recovery.Lost, span)
			l.upTo = next
			err = l.tell(l.damage(span))
		}
		return false, err
	case l.log.meant(bad) && bad == unknownOp:
		return true, fmt.Errorf("%w: %s has a record of an unknown operation at offset %d", ErrVersion, l.log.path, at)
	case l.log.meant(bad):
		return true, corrupt(l.log.path, at, "%s, and the checksum fits; open with Salvage to read what is left", bad)
	case at < l.trusted:
		return true, corrupt(l.log.path, at, "%s; restore a backup, or open with Salvage to read what is left", bad)
	}
	l.recovery.TornAt, l.recovery.Torn, l.recovery.Reason = at, l.size-at, string(bad)
	return true, nil
}

// apply changes the tree as a record says. It tells whether a batch was whole.
func (l *loader) apply(r record, offset int64) bool {
	if r.op == opSnapshot {
		return true
	}
	l.parts, l.ids = l.parts[:0], l.ids[:0]
	if r.op != opBatch {
		l.collect(r, offset)
	} else if !l.log.eachInBatch(r, offset, l.collect) {
		return false
	}
	for _, p := range l.parts {
		l.applyPart(p)
	}
	return true
}

func (l *loader) collect(r record, offset int64) {
	from := len(l.ids)
	l.ids = treeKey(l.ids, r.col, r.key) // which may move: the keys before stay where they are
	l.parts = append(l.parts, part{r.op, l.ids[from:], locate(offset, r.size), r.size})
}

func (l *loader) applyPart(p part) {
	var old uint64
	var existed bool
	if p.op == opPut {
		old, existed = l.tree.Set(p.id, uint64(p.at))
		l.live += int64(p.len)
	} else {
		old, existed = l.tree.Delete(p.id)
	}
	if existed {
		l.live -= int64(l.sizeOf(location(old), len(p.id)-1))
	}
}

// sizeOf returns the size of an indexed record. One that cannot be read counts 0:
// it is found when its value is asked for.
func (l *loader) sizeOf(at location, keyLen int) int {
	n, _ := l.log.sizeOf(keyLen, at)
	return n
}

// holdsRecords tells whether the torn tail holds whole records behind the bytes
// that tore it. The parts of a batch that is itself torn are none.
func (l *loader) holdsRecords() (bool, error) {
	from := l.recovery.TornAt + 1
	if b, err := l.peek(l.recovery.TornAt, int(min(l.recovery.Torn, recordFrame+batchKey))); err != nil {
		return false, err
	} else if l.log.sealed && len(b) == recordFrame+batchKey && b[0] == opBatch && binary.LittleEndian.Uint32(b[2:]) == batchKey {
		whole := int64(l.log.layout.size(batchKey, 0)) + int64(binary.LittleEndian.Uint32(b[valueAtKey+batchKey:]))
		from = min(l.recovery.TornAt+whole, l.size)
	}
	at, err := l.resync(from)
	return at < l.size, err
}
