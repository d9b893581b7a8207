package crabdb

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// A reader follows its writer through writes, checkpoints and compactions, and
// sees at each refresh what was written before it.
func TestRefreshFollowsTheWriter(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		path := newPath(t)
		w := mustOpen(t, path, opts)
		r := mustOpen(t, path, readOnly())
		wantContent(t, r, content{})
		want := content{}
		for i := range 60 {
			k := id{1, fmt.Sprint("k", i%17)}
			before := contentOf(t, r)
			switch i % 6 {
			case 0, 1, 2:
				want[k] = fmt.Sprint(i)
				put(t, w, k.key, want[k])
			case 3:
				delete(want, k)
				if _, err := w.Delete(ctx, 1, []byte(k.key)); err != nil {
					t.Fatal(err)
				}
			case 4:
				must(t, w.Checkpoint(ctx))
			case 5:
				must(t, w.Compact(ctx))
			}
			wantContent(t, r, before) // until it is asked to look
			must(t, r.Refresh(ctx))
			wantContent(t, r, want)
			wantSound(t, r)
		}
		must(t, w.Refresh(ctx)) // nothing to do
		mustClose(t, r)
		wantError(t, r.Refresh(ctx), ErrClosed)
		mustClose(t, w)
		wantError(t, w.Refresh(ctx), ErrClosed)
	})
}

// A record that its writer is still writing is not there yet, and no fault; a part
// of any length is looked at.
func TestRefreshMeetsAHalfWrittenRecord(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		whole := killed(t, opts, func(db *DB) { put(t, db, "a", "1"); put(t, db, "b", "2") })
		l := layout{!opts.Plain}
		from, to := headerSize+l.size(1, 1), headerSize+2*l.size(1, 1)
		m := inMemory(t, whole[:from])
		r := mustOpen(t, memPath, readOnly().On(m))
		for n := from; n <= to; n++ {
			setBytes(t, m, whole[:n])
			must(t, r.Refresh(ctx))
			if n < to {
				wantContent(t, r, keys("a=1"))
			}
		}
		wantContent(t, r, keys("a=1", "b=2"))
	})
}

// A file that was cut under its reader is an error, and no wrong answer.
func TestRefreshOfACutFile(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		data := killed(t, opts, func(db *DB) { put(t, db, "a", "1"); put(t, db, "b", "2") })
		m := inMemory(t, data)
		r := mustOpen(t, memPath, readOnly().On(m))
		l := layout{!opts.Plain}
		cut := headerSize + l.size(1, 1)
		setBytes(t, m, data[:cut])
		err := r.Refresh(ctx)
		wantError(t, err, ErrCorrupt)
		wantText(t, err, fmt.Sprint("offset ", cut))
		want(t, r, "a", "1")
		_, err = r.Get(ctx, 1, []byte("b"))
		wantError(t, err, ErrCorrupt)
	})
}

// A file of the other format in its place is refused: who asks Sealed or writes,
// without a lock, must not see it change.
func TestRefreshRefusesTheOtherFormat(t *testing.T) {
	m := memfs.New()
	mustClose(t, mustOpen(t, memPath, quiet().On(m)))
	r := mustOpen(t, memPath, readOnly().On(m))
	must(t, m.Remove(memPath))
	mustClose(t, mustOpen(t, memPath, quietPlain().On(m)))
	if err := r.Refresh(ctx); err == nil || !r.Sealed() {
		t.Fatalf("Refresh: %v; sealed: %v", err, r.Sealed())
	}
	wantContent(t, r, content{})
}

// What a reader does while it is refreshed over compactions is no race.
func TestRefreshBesideReaders(t *testing.T) {
	path := newPath(t)
	w := mustOpen(t, path, quiet())
	put(t, w, "k", "v")
	r := mustOpen(t, path, readOnly())
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r.Sealed()
				if err := r.Put(ctx, 1, []byte("k"), nil); err == nil {
					t.Error("a read-only store was written")
				}
				if got, err := r.Get(ctx, 1, []byte("k")); err != nil || string(got) != "v" {
					t.Errorf("%q, %v", got, err)
				}
				if _, err := r.Stats(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 50 {
		put(t, w, "other", fmt.Sprint(i))
		must(t, w.Compact(ctx))
		must(t, r.Refresh(ctx))
	}
	close(stop)
	readers.Wait()
}

// A writer cuts off what it had not written whole while a reader, which has seen the
// file longer, is at it: for the reader too that was nothing.
func TestReaderOfATailThatGoes(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		for _, refresh := range []bool{false, true} {
			m := memfs.New()
			w := mustOpen(t, memPath, opts.On(m))
			put(t, w, "k", "1")
			whole := bytesIn(t, m)
			armed := !refresh
			r := readOnly().On(faultfs.FS{FS: m, Hook: func(c faultfs.Call) error {
				if armed && c.Op == faultfs.Read && c.Offset > 0 {
					armed = false
					setBytes(t, m, whole)
				}
				return nil
			}})
			tail := bytes.Repeat([]byte{0xFF}, 3*windowSize)
			if !refresh {
				setBytes(t, m, concat(whole, tail))
			}
			db := mustOpen(t, memPath, r)
			if refresh {
				setBytes(t, m, concat(whole, tail))
				armed = true
				must(t, db.Refresh(ctx))
			}
			if armed {
				t.Fatal("the tail is still there")
			}
			wantContent(t, db, keys("k=1"))
			put(t, w, "l", "2")
			must(t, db.Refresh(ctx))
			wantContent(t, db, keys("k=1", "l=2"))
		}
	})
}
