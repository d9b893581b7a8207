package crabdb

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// on does a deed that is done to a store as to a transaction.
func (d deed) on(p place) string {
	switch d.verb {
	case "put":
		return kind(p.Put(d.col, []byte(d.key), []byte(d.value)))
	case "delete":
		existed, err := p.Delete(d.col, []byte(d.key))
		return fmt.Sprint(existed, " ", kind(err))
	case "get":
		v, err := p.Get(d.col, []byte(d.key))
		if err != nil {
			return kind(err)
		}
		return short(v)
	case "scan":
		return d.scan(p)
	}
	panic(d.verb)
}

func (d deed) scan(p place) string {
	var found []string
	for e, err := range p.Scan(ctx, d.col, d.r) {
		switch {
		case err != nil:
			found = append(found, kind(err))
		case d.r.KeysOnly && e.Value == nil:
			found = append(found, short(e.Key))
		default:
			found = append(found, short(e.Key)+"="+short(e.Value))
		}
	}
	return strings.Join(found, " ")
}

func everything(p place) string {
	var all []string
	for _, d := range allColumns {
		all = append(all, d.on(p))
	}
	return strings.Join(all, "\n")
}

// stage is a store to which a story is told.
type stage struct {
	opts    Options
	m       *memfs.FS     // where it is; nil for the machine's file system
	newPath func() string // there, where nothing is

	t      tester // of this telling
	path   string
	db     *DB
	reader *DB // follows it; nil before it is asked
}

func (s *stage) fs() vfs.FS {
	switch {
	case s.m == nil:
		return vfs.OS{}
	case s.works(): // between the deeds, and during them
		return yielding(s.m)
	}
	return s.m
}

func (s *stage) open() error {
	db, err := Open(s.path, s.opts.On(s.fs()))
	if err == nil {
		s.db = db
	}
	return err
}

func (s *stage) close() error {
	if s.reader != nil {
		s.reader.Close()
		s.reader = nil
	}
	return s.db.Close()
}

// do does a deed and returns what came of it.
func (s *stage) do(d deed) string {
	switch d.verb {
	case "has":
		there, err := s.db.Has(ctx, d.col, []byte(d.key))
		return fmt.Sprint(there, " ", kind(err))
	case "count":
		return s.count()
	case "update", "roll back", "view":
		return s.transact(d)
	case "checkpoint":
		return kind(s.db.Checkpoint(ctx))
	case "compact":
		return s.compact()
	case "compact if due":
		return kind(s.db.CompactIfDue(ctx))
	case "sync":
		return kind(s.db.Sync())
	case "backup", "restore":
		return s.backUp(d.verb == "restore")
	case "refresh":
		return s.refresh()
	case "reopen":
		return s.reopen()
	case "kill":
		return s.kill()
	}
	return d.on(direct{s.db})
}

func (s *stage) count() string {
	wantSoundIndex(s.t, s.db)
	st := stats(s.t, s.db)
	if st.Dead < 0 || st.Poisoned != nil || st.Background != nil {
		return fmt.Sprintf("%+v", st)
	}
	return fmt.Sprint(st.Keys, " keys")
}

func (s *stage) transact(d deed) string {
	var answers []string
	within := func(tx *Tx) error {
		answers = nil
		for _, one := range d.inner {
			answers = append(answers, one.on(tx))
		}
		if d.verb == "roll back" {
			return errBack
		}
		return nil
	}
	begin := s.db.Update
	if d.verb == "view" {
		begin = s.db.View
	}
	err := begin(ctx, within)
	return fmt.Sprint(answers, " ", kind(err))
}

// compact compacts the store, whose file is then its own backup, byte for byte, and
// has nothing in it that another compaction could leave out.
func (s *stage) compact() string {
	err := s.db.Compact(ctx)
	var b bytes.Buffer
	err = errors.Join(err, s.db.Backup(ctx, &b))
	switch st := stats(s.t, s.db); {
	case err != nil:
		return kind(err)
	case !bytes.Equal(s.file(), b.Bytes()):
		return fmt.Sprintf("the file has %d bytes, and a backup %d, or others", len(s.file()), b.Len())
	case st.Dead != 0 || s.db.compactionDue():
		return fmt.Sprintf("%d bytes are dead; due again: %v", st.Dead, s.db.compactionDue())
	}
	return kind(nil)
}

// file returns the bytes of the store's file.
func (s *stage) file() []byte {
	if s.m == nil {
		data, err := os.ReadFile(s.path)
		must(s.t, err)
		return data
	}
	return bytesIn(s.t, s.m)
}

// reopen closes the store, asks it something, which is in vain, and opens it.
func (s *stage) reopen() string {
	closed := s.db
	err := errors.Join(s.close(), s.open())
	for _, late := range []deed{{verb: "put", key: "late"}, {verb: "get", key: "late"}, {verb: "scan"}} {
		if answer := late.on(direct{closed}); answer != kind(ErrClosed) {
			return late.verb + " after Close: " + answer
		}
	}
	return kind(err)
}

// kill opens what a process leaves that is killed now. Unless the store was at work by
// itself, its figures are those of before.
func (s *stage) kill() string {
	before := stats(s.t, s.db)
	var err error
	if s.m == nil {
		err = s.replace(s.file())
	} else {
		left := s.m.Kill()
		err = s.close()
		s.m = left
		err = errors.Join(err, s.open())
	}
	after := stats(s.t, s.db)
	if s.opts.Plain && !after.Recovery.Snapshot {
		after.Dead = before.Dead // a plain snapshot of no keys is not loaded, and counts as dead from then on
	}
	if err == nil && !s.works() && (after.File != before.File || after.Live != before.Live || after.Dead != before.Dead) {
		return fmt.Sprintf("%+v; it was %+v", after, before)
	}
	return kind(err)
}

// works tells whether the store compacts or makes checkpoints beside its deeds.
func (s *stage) works() bool {
	return s.opts.CompactRatio >= 0 && !s.opts.CompactInline || s.opts.CheckpointEvery > 0
}

// replace puts another file, in another place, into the stead of the store.
func (s *stage) replace(file []byte) error {
	err := s.close()
	s.path = s.newPath()
	if s.m != nil {
		s.m = inMemory(s.t, file)
	} else {
		err = errors.Join(err, os.WriteFile(s.path, file, 0o600))
	}
	return errors.Join(err, s.open())
}

// backUp returns what a backup holds, and goes on with it if it is to be restored. Its
// bytes are those of any store's that holds the same.
func (s *stage) backUp(restore bool) string {
	var b bytes.Buffer
	if err := s.db.Backup(ctx, &b); err != nil {
		return kind(err)
	}
	copied, err := Open(memPath, quiet().On(inMemory(s.t, b.Bytes())))
	if err != nil {
		return kind(err)
	}
	defer copied.Close()
	if anew, err := putAnew(copied, s.opts.Plain); err != nil || !bytes.Equal(anew, b.Bytes()) {
		return fmt.Sprintf("a backup of %d bytes; put anew the same has %d, or others (%v)", b.Len(), len(anew), err)
	}
	if restore {
		if err := s.replace(b.Bytes()); err != nil {
			return kind(err)
		}
	}
	return everything(direct{copied})
}

// putAnew puts what a store holds into another, the last key first, and returns a
// backup of that.
func putAnew(from *DB, plain bool) ([]byte, error) {
	opts := quiet()
	opts.Plain = plain
	db, err := Open(memPath, opts.On(memfs.New()))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	for _, d := range allColumns {
		for e, err := range from.Scan(ctx, d.col, Range{Reverse: true}) {
			if err := errors.Join(err, db.Put(ctx, d.col, e.Key, e.Value)); err != nil {
				return nil, err
			}
		}
	}
	var b bytes.Buffer
	err = db.Backup(ctx, &b)
	return b.Bytes(), err
}

func (s *stage) refresh() string {
	var err error
	if s.reader == nil {
		s.reader, err = Open(s.path, readOnly().On(s.fs()))
	} else {
		err = s.reader.Refresh(ctx)
	}
	if err != nil {
		return kind(err)
	}
	return everything(direct{s.reader})
}

// tell tells a story to a store. The error says which answer is not what it has to be,
// and at is how far the story was told.
func (s *stage) tell(told story) (at int, err error) {
	err = try(func(t tester) {
		s.t, s.path = t, s.newPath()
		must(t, s.open())
		defer func() { s.close() }()
		now := content{}
		for i, d := range told {
			at = i + 1
			if want, got := now.imagined(d), s.do(d); got != want {
				t.Fatalf("deed %d, %v, gives\n%s\nwant\n%s", i, d, got, want)
			}
		}
		wantContent(t, s.db, now)
		if !s.opts.Plain || s.opts.CompactRatio < 0 {
			wantSound(t, s.db)
		}
	})
	return at, err
}

// shortened leaves out of a story whatever it fails without.
func shortened(told story, fails func(story) bool) story {
	for size := len(told) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(told); {
			if without := slices.Concat(told[:at], told[at+size:]); fails(without) {
				told = without
			} else {
				at += size
			}
		}
	}
	return told
}

// sameAnswers tells a story to a store that each newStage makes anew. The error has
// the shortest part of the story that was found to fail, or, where it failed by chance
// and once, all of it.
func sameAnswers(told story, newStage func() *stage) error {
	s := newStage()
	at, err := s.tell(told)
	if err == nil {
		return nil
	}
	told = shortened(told[:at], func(part story) bool {
		_, failure := newStage().tell(part)
		if failure != nil {
			err = failure
		}
		return failure != nil
	})
	return fmt.Errorf("%+v: %w\nthe story:\n%v", s.opts, err, told)
}

// allOptions are options of every kind, with each other.
func allOptions() (all []Options) {
	syncs := []Options{{Sync: SyncCheckpoint}, {Sync: SyncInterval, SyncEvery: time.Millisecond}, {Sync: SyncWrite}}
	compactions := []Options{
		{CompactRatio: -1},
		{CompactMin: 500},
		{CompactMin: 500, CompactInline: true},
		{CompactMin: -1, CompactRatio: 0.01, CompactInline: true},
		{CompactMin: -1, CompactReplaced: true},
	}
	for _, o := range compactions {
		for _, s := range syncs {
			o.Sync, o.SyncEvery = s.Sync, s.SyncEvery
			for _, o.CheckpointEvery = range []int64{-1, 1, 0} {
				o.Plain = false
				all = append(all, o)
			}
			o.Plain = true // makes no checkpoint by itself
			all = append(all, o)
		}
	}
	return all
}

// One story, told to stores of every kind, is answered the same by all. Compactions,
// checkpoints, reopenings, kills and backups are not seen in what they hold.
func TestSameAnswersWithAllOptions(t *testing.T) {
	seed := newSeed(t)
	all := allOptions()
	anyPath := func() string { return memPath }
	atLeast(t, times(500, 50_000), "stories told", func(run uint64) (int, error) {
		told := newStory(seed, run)
		for i := range uint64(storeKinds) {
			opts := all[(run+i*uint64(len(all)/storeKinds))%uint64(len(all))]
			err := sameAnswers(told, func() *stage { return &stage{opts: opts, m: memfs.New(), newPath: anyPath} })
			if err != nil {
				return 0, err
			}
		}
		return storeKinds, nil
	})
}

// storeKinds is to how many stores a story is told. The next is told to others: many
// stories find more than many tellings of one.
const storeKinds = 12

// The same on the machine's file system, where to sync each write takes long.
func TestSameAnswersOnFiles(t *testing.T) {
	seed := newSeed(t)
	all := slices.DeleteFunc(allOptions(), func(o Options) bool { return o.Sync == SyncWrite })
	anyPath := func() string { return newPath(t) }
	atLeast(t, times(40, 4000), "stories told", func(run uint64) (int, error) {
		opts := all[run%uint64(len(all))]
		return 1, sameAnswers(newStory(seed, run), func() *stage { return &stage{opts: opts, newPath: anyPath} })
	})
}
