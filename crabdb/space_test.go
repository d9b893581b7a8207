package crabdb

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// fillSpace writes so much that a spacious store has reserved space, and returns what it
// wrote.
func fillSpace(t *testing.T, db *DB) content {
	t.Helper()
	want := content{}
	for i := range 10 {
		k, v := fmt.Sprint("k", i), strings.Repeat(fmt.Sprint(i), 50)
		put(t, db, k, v)
		want[id{1, k}] = v
	}
	return want
}

// Space is reserved behind the log while a sealed store is open, and given back by
// Close; a store that is killed leaves zeros, which are no damage.
func TestSpaceBehindTheLog(t *testing.T) {
	for _, onDisk := range []bool{false, true} {
		t.Run(fmt.Sprint("on disk ", onDisk), func(t *testing.T) {
			path, opts := memPath, quiet().spacious().On(memfs.New())
			if onDisk {
				path, opts = newPath(t), quiet().spacious().On(vfs.OS{})
			}
			db := mustOpen(t, path, opts)
			size := func() int64 {
				info, err := opts.fs.Lstat(path)
				must(t, err)
				return info.Size()
			}
			want := fillSpace(t, db)
			end := stats(t, db).File
			if size() <= end {
				t.Skip("this file system reserves none") // as some do
			}
			reader := mustOpen(t, path, Options{ReadOnly: true, fs: opts.fs})
			wantContent(t, reader, want)
			if r := stats(t, reader).Recovery; r.Torn > 0 || r.Reason != "" {
				t.Fatalf("zeros are %+v", r)
			}
			put(t, db, "more", "1")
			want[id{1, "more"}] = "1"
			must(t, reader.Refresh(ctx))
			wantContent(t, reader, want)
			wantSound(t, reader)
			must(t, db.Checkpoint(ctx))
			must(t, db.Compact(ctx))
			wantContent(t, db, want)
			wantContent(t, mustReader(t, path, opts), want)
			must(t, reader.Refresh(ctx))
			wantContent(t, reader, want)
			fillSpace(t, db)
			mustClose(t, db)
			closed := size()
			db = mustOpen(t, path, opts)
			if end := stats(t, db).File; closed != end {
				t.Fatalf("after Close the file has %d bytes, the log ends at %d", closed, end)
			}
			wantContent(t, db, want)
		})
	}
}

func mustReader(t *testing.T, path string, opts Options) *DB {
	t.Helper()
	return mustOpen(t, path, Options{ReadOnly: true, fs: opts.fs})
}

// Close takes no space either, for the snapshot that it writes.
func TestCloseReservesNothing(t *testing.T) {
	m := memfs.New()
	db := mustOpen(t, memPath, quiet().spacious().On(m))
	put(t, db, "k", strings.Repeat("v", 200)) // so that the next append would take space
	mustClose(t, db)
	data := bytesIn(t, m)
	if h, err := decodeHeader("", data); err != nil || h.indexAt == 0 || h.watermark() != int64(len(data)) {
		t.Fatalf("the file has %d bytes, %v, and the header is %+v", len(data), err, h)
	}
}

// What a killed process left is opened as if the zeros were not there, a torn record
// before them is a torn tail of its own length, and Records and Salvage tell the two
// apart.
func TestSpaceOfAKilledProcess(t *testing.T) {
	var want content
	data := killed(t, quiet().spacious(), func(db *DB) { want = fillSpace(t, db) })
	log := len(bytes.TrimRight(data, "\x00"))
	if log == len(data) {
		t.Fatal("no space was reserved")
	}
	torn := bytes.Clone(data)
	copy(torn[log+1:], "torn")
	for name, c := range map[string]struct {
		data []byte
		torn int64
	}{"zeros": {data, 0}, "torn": {torn, 8}} {
		for _, opts := range []Options{quiet(), readOnly(), salvage()} {
			db, m, err := openBytes(t, c.data, opts)
			must(t, err)
			wantContent(t, db, want)
			st := stats(t, db)
			if lost := len(st.Recovery.Lost); st.Recovery.Torn > c.torn || (c.torn > 0) != (st.Recovery.Torn > 0 || lost > 0) {
				t.Errorf("%s, %+v: %+v", name, opts, st.Recovery)
			}
			if !db.opts.ReadOnly {
				if size := len(bytesIn(t, m)); int64(size) != st.File {
					t.Errorf("%s: the file has %d bytes, the log %d", name, size, st.File)
				}
			}
		}
		path := newPath(t)
		writeFile(t, path, c.data)
		var last, before Item
		for item, err := range Records(ctx, path) {
			must(t, err)
			before, last = last, item
		}
		if last.Kind != KindSpace || last.Offset+last.Length != int64(len(data)) || (before.Kind == KindDamage) != (c.torn > 0) {
			t.Errorf("%s: the last items are %+v, %+v", name, before, last)
		}
	}
}

// Where no space can be had, appends go on without, and it is not asked for again.
func TestNoSpaceToReserve(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, errors.ErrUnsupported} {
		db, fail, m := brittle(t, quiet().spacious())
		asked := 0
		fail.set(func(c faultfs.Call) error {
			if c.Op != faultfs.Reserve {
				return nil
			}
			asked++
			f, err := m.OpenFile(memPath, os.O_RDWR, 0)
			must(t, errors.Join(err, f.Truncate(c.Offset-1), f.Close())) // it may have made the file longer
			return cause
		})
		want := fillSpace(t, db)
		if asked != 1 {
			t.Errorf("it was asked %d times", asked)
		}
		if got := int64(len(bytesIn(t, m))); got != stats(t, db).File {
			t.Errorf("the file has %d bytes, the log %d", got, stats(t, db).File)
		}
		wantContent(t, mustOpen(t, memPath, quiet().On(m.Kill())), want)
	}
}

// A store that is opened for a little leaves its file as long as the log.
func TestLittleIsWrittenWithoutSpace(t *testing.T) {
	db, fail, _ := brittle(t, quiet())
	fail.set(func(c faultfs.Call) error {
		if c.Op == faultfs.Reserve {
			t.Error("space was reserved")
		}
		return nil
	})
	fillSpace(t, db)
}
