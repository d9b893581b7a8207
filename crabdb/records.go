package crabdb

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/crabstore/crabstore/crabdb/internal/packtree"
	"github.com/crabstore/crabstore/crabdb/internal/vfs"
)

// Item is one thing in a file, as it stands there.
type Item struct {
	Offset int64
	Length int64
	Kind   Kind
	Column byte   // of a put and a delete
	Key    []byte // of a put and a delete
	Value  int64  // length of the value in bytes; of a batch, of its parts together
	Batch  int64  // the offset of the batch that a put or delete is part of, or 0
	Sum    SumState
	Note   string // what is wrong, or what there is to say
}

// Kind is what an Item is.
type Kind string

// The kinds of items.
const (
	KindHeader   Kind = "header"
	KindPut      Kind = "put"
	KindDelete   Kind = "delete"
	KindBatch    Kind = "batch"
	KindSnapshot Kind = "snapshot"
	KindDamage   Kind = "damage" // bytes that are no record, up to the next that is one
	KindSpace    Kind = "space"  // zeros behind the last record: reserved for more, or left by a power loss
)

// SumState is what the checksum of an item says of it.
type SumState string

// The states of checksums.
const (
	SumGood SumState = "good"
	SumBad  SumState = "bad"
	SumNone SumState = "none" // there is none: the plain format has none
)

// Records yields everything in a file from its first byte to its last, damaged or
// not: its header, and each record with the place where it stands, and each stretch
// of bytes that is no record. It changes nothing, takes no lock and looks at no
// index; beside a writer it sees the file as long as it was when it was opened. At
// most one error, of reading the file, is yielded, and ends it. The keys are the
// caller's.
func Records(ctx context.Context, path string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if err := walkRecords(ctx, path, yield); err != nil && !errors.Is(err, errStopped) {
			yield(Item{}, err)
		}
	}
}

// errStopped ends a walk whose caller has seen enough.
var errStopped = errors.New("stopped")

func walkRecords(ctx context.Context, path string, yield func(Item, error) bool) error {
	real, err := resolve(path)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	db := newDB(real, Options{ReadOnly: true}.withDefaults())
	file, err := db.openFile(os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	l, first, err := newRecordLoader(ctx, db, file)
	if err != nil {
		return err
	}
	if !yield(first, nil) {
		return errStopped
	}
	l.seen = func(i Item) error {
		if !yield(i, nil) {
			return errStopped
		}
		return nil
	}
	if err := l.replay(); err != nil || l.spare == 0 {
		return err
	}
	return l.tell(Item{Offset: l.size, Length: l.spare, Kind: KindSpace, Sum: SumNone})
}

// newRecordLoader returns a loader at the first record of a file, and the header as
// an item.
func newRecordLoader(ctx context.Context, db *DB, file vfs.File) (*loader, Item, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, Item{}, fmt.Errorf("open %s: %w", db.path, err)
	}
	head, err := db.readHeader(file)
	item := headerItem(head, info.Size())
	if errors.Is(err, ErrNotStore) || errors.Is(err, ErrCorrupt) {
		item = Item{Length: item.Length, Kind: KindDamage, Sum: SumNone, Note: err.Error()}
		head, err = guessHeader(db.path, file)
	}
	if err != nil {
		return nil, Item{}, err
	}
	log := newLogFile(db.path, file, head.sealed)
	log.end.Store(info.Size())
	l := &loader{
		ctx: ctx, walker: walker{log: log, size: info.Size()}, head: head, salvage: true,
		tree: packtree.New(), upTo: min(headerSize, info.Size()),
	}
	return l, item, nil
}

func headerItem(h header, size int64) Item {
	i := Item{Length: min(headerSize, size), Kind: KindHeader, Sum: SumNone, Note: "plain"}
	if h.sealed {
		i.Sum, i.Note = SumGood, "sealed"
	}
	switch {
	case h.damaged && h.sealed:
		i.Sum, i.Note = SumBad, "sealed, and its checksum does not fit"
	case h.damaged:
		i.Note = "plain, and it names an impossible place"
	case h.indexAt == 0:
		i.Note += ", without a snapshot"
	default:
		i.Note += fmt.Sprintf(", snapshot at %d of %d bytes", h.indexAt, h.indexLen)
	}
	return i
}

// tell hands an item to who watches the replay, if anybody does.
func (l *loader) tell(i Item) error {
	if l.seen == nil {
		return nil
	}
	return l.seen(i)
}

// tellRecord hands on a whole record and, of a batch, its parts.
func (l *loader) tellRecord(r record, offset int64) error {
	if l.seen == nil {
		return nil
	}
	if err := l.seen(l.item(r, offset, 0)); err != nil || r.op != opBatch {
		return err
	}
	var err error
	l.log.eachInBatch(r, offset, func(p record, at int64) {
		if err == nil {
			err = l.seen(l.item(p, at, offset))
		}
	})
	return err
}

func (l *loader) item(r record, offset, batch int64) Item {
	kinds := [...]Kind{opPut: KindPut, opDelete: KindDelete, opBatch: KindBatch, opSnapshot: KindSnapshot}
	i := Item{Offset: offset, Length: int64(r.size), Kind: kinds[r.op], Value: int64(len(r.value)), Batch: batch, Sum: SumNone}
	if l.log.sealed {
		i.Sum = SumGood
	}
	if r.op <= opDelete {
		i.Column, i.Key = r.col, append([]byte{}, r.key...)
	}
	return i
}

// damage is a stretch of bytes that is no record, as an item.
func (l *loader) damage(span Span) Item {
	i := Item{Offset: span.Offset, Length: span.Length, Kind: KindDamage, Sum: SumNone, Note: span.Reason}
	if l.log.sealed {
		i.Sum = SumBad
	}
	return i
}
