package crabdb

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// A key that was deleted stays so: through a compaction of nothing, and when the
// delete is behind a checkpoint that has the key.
func TestA13_DeletedKeysStayDeleted(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		path := newPath(t)
		db := mustOpen(t, path, opts)
		reopen := func() { mustClose(t, db); db = mustOpen(t, path, opts) }
		want := content{}
		for i := range 10 {
			put(t, db, fmt.Sprint("k", i), "v")
			want[id{1, fmt.Sprint("k", i)}] = "v"
		}
		must(t, db.Compact(ctx))
		reopen()
		wantContent(t, db, want)
		for i := range 10 {
			del(t, db, fmt.Sprint("k", i))
		}
		must(t, db.Compact(ctx))
		wantContent(t, db, content{})
		reopen()
		wantContent(t, db, content{})
		wantSound(t, db)
		if st := stats(t, db); st.Keys != 0 || st.Live != 0 || st.Recovery.Distrust != "" || !st.Recovery.Snapshot || st.File > 100 {
			t.Fatalf("%+v", st)
		}
		put(t, db, "again", "1")
		reopen()
		wantContent(t, db, keys("again=1"))
	})
	eachFormat(t, func(t *testing.T, opts Options) {
		m := memfs.New()
		db := mustOpen(t, memPath, opts.On(m))
		put(t, db, "k", "older")
		put(t, db, "k", "v")
		must(t, db.Checkpoint(ctx))
		del(t, db, "k")
		for range 2 { // a killed process each time
			m = m.Kill()
			db = mustOpen(t, memPath, opts.On(m))
			wantContent(t, db, content{})
			must(t, db.Compact(ctx))
			wantContent(t, db, content{})
		}
	})
}

// What a compaction cut short leaves beside the store is never read, and is removed.
// What has a like name, or is no file, is none of it and stays.
func TestA14_Leftovers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.a")
	db := mustOpen(t, path, quiet())
	put(t, db, "k", "v")
	mustClose(t, db)
	whole := readFile(t, path)

	other := built(t, quiet(), func(db *DB) { put(t, db, "k", "of another store") })
	gone := map[string][]byte{
		"s.a.compact-0000000000000000": nil,
		"s.a.compact-0123456789abcdef": other,
		"s.a.compact-ffffffffffffffff": other[:40],
		"s.a.compact-00000000deadbeef": bytes.Repeat([]byte("x"), 1000),
	}
	stay := []string{
		"s.a.compact-", "s.a.compact-0123456789abcde", "s.a.compact-0123456789abcdef0", "s.a.compact-0123456789ABCDEF",
		"s.a.compact-0123456789abcdeg", "s.a.b.compact-0123456789abcdef", ".s.a.compact-0123456789abcdef", "s.compact-0123456789abcdef",
		"xs.a.compact-0123456789abcdef", "s.a.tmp", "s.a~", "s.a.bak", "s.a.torn-0123456789abcdef", "s.a.compact-0123456789abcdef.txt",
	}
	for name, data := range gone {
		writeFile(t, filepath.Join(dir, name), data)
	}
	for _, name := range stay {
		writeFile(t, filepath.Join(dir, name), []byte("a person's own "+name))
	}
	directory := "s.a.compact-aaaaaaaaaaaaaaaa"
	must(t, os.Mkdir(filepath.Join(dir, directory), 0o700))
	writeFile(t, filepath.Join(dir, directory, "s.a"), other)
	link := "s.a.compact-bbbbbbbbbbbbbbbb"
	must(t, os.Symlink(path, filepath.Join(dir, link)))

	reader := mustOpen(t, path, readOnly())
	wantContent(t, reader, keys("k=v"))
	for name := range gone {
		readFile(t, filepath.Join(dir, name)) // a reader removes nothing
	}
	db = mustOpen(t, path, quiet())
	wantContent(t, db, keys("k=v"))
	if n := stats(t, db).Recovery.Leftover; n != len(gone) {
		t.Errorf("%d leftovers were removed, want %d", n, len(gone))
	}
	must(t, db.Compact(ctx))
	wantContent(t, db, keys("k=v"))
	want := append(slices.Clone(stay), directory, link, "s.a", "s.a.lock")
	slices.Sort(want)
	if got := files(t, dir); !slices.Equal(got, want) {
		t.Errorf("the directory has %q\nwant %q", got, want)
	}
	for _, name := range stay {
		if got := readFile(t, filepath.Join(dir, name)); string(got) != "a person's own "+name {
			t.Errorf("%s holds %q", name, got)
		}
	}
	mustClose(t, db)
	if !bytes.HasPrefix(readFile(t, path), []byte(magic)) || len(readFile(t, path)) != len(whole) {
		t.Error("the store is another")
	}
}

// A leftover that cannot be removed does no harm.
func TestA14_LeftoverThatStays(t *testing.T) {
	db, fail, m := brittle(t, quiet())
	put(t, db, "k", "v")
	mustClose(t, db)
	leftover := memPath + compactSuffix + "0123456789abcdef"
	f, err := m.OpenFile(leftover, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	must(t, f.Close())
	fail.on(faultfs.Remove, os.ErrPermission)
	db = mustOpen(t, memPath, quiet().On(faultfs.FS{FS: m, Hook: fail.hook}))
	wantContent(t, db, keys("k=v"))
	must(t, db.Compact(ctx))
	if st := stats(t, db); st.Recovery.Leftover != 0 {
		t.Errorf("recovery: %+v", st.Recovery)
	}
	if got := siblings(t, m); len(got) != 1 {
		t.Errorf("beside the store: %q", got)
	}
}

// paused is a hook that stops a compaction before one of its calls, once it is
// armed.
type paused struct {
	armed        atomic.Bool
	at           func(faultfs.Call) bool
	once         sync.Once
	came, resume chan struct{}
}

func pause(at func(faultfs.Call) bool) *paused {
	return &paused{at: at, came: make(chan struct{}), resume: make(chan struct{})}
}

func (p *paused) hook(c faultfs.Call) error {
	if p.armed.Load() && p.at(c) {
		p.once.Do(func() {
			close(p.came)
			<-p.resume
		})
	}
	return nil
}

// inSibling tells whether a call is of the file that a compaction writes.
func inSibling(op faultfs.Op) func(faultfs.Call) bool {
	return func(c faultfs.Call) bool { return c.Op == op && strings.Contains(c.Path, compactSuffix) }
}

// What is written while a compaction goes on is in the compacted file as well,
// wherever the compaction is when it is written.
func TestA15_WritesDuringACompaction(t *testing.T) {
	const n = 10_000
	for name, at := range map[string]func(faultfs.Call) bool{
		"before it has copied": inSibling(faultfs.Write),
		"after it has copied":  inSibling(faultfs.Sync),
	} {
		t.Run(name, func(t *testing.T) {
			eachFormat(t, func(t *testing.T, opts Options) {
				m := memfs.New()
				p := pause(at)
				db := mustOpen(t, memPath, opts.On(faultfs.FS{FS: m, Hook: p.hook}))
				want := content{}
				in(t, db, func(tx *Tx) {
					for i := range n {
						must(t, tx.Put(1, fmt.Appendf(nil, "k%d", i), []byte("old")))
						want[id{1, fmt.Sprint("k", i)}] = "old"
					}
				})
				long := strings.Repeat("long ", 20_000)
				put(t, db, "long", "to be replaced")
				p.armed.Store(true)
				done := make(chan error, 1)
				go func() { done <- db.Compact(ctx) }()
				<-p.came
				put(t, db, "k5", "new")
				del(t, db, "k6")
				put(t, db, "k_new", "1")
				put(t, db, "long", long)
				in(t, db, func(tx *Tx) {
					must(t, tx.Put(1, []byte("k7"), []byte("of a batch")))
					must(t, tx.Put(2, []byte(""), []byte("")))
					_, err := tx.Delete(1, []byte("k8"))
					must(t, err)
				})
				delete(want, id{1, "k6"})
				delete(want, id{1, "k8"})
				want[id{1, "k5"}], want[id{1, "k_new"}], want[id{1, "long"}] = "new", "1", long
				want[id{1, "k7"}], want[id{2, ""}] = "of a batch", ""
				wantContent(t, db, want)
				close(p.resume)
				must(t, <-done)
				wantContent(t, db, want)
				wantSound(t, db)
				put(t, db, "k9", "after")
				want[id{1, "k9"}] = "after"
				again := mustOpen(t, memPath, opts.On(m.Kill()))
				wantContent(t, again, want)
				wantSound(t, again)
			})
		})
	}
}

// A scan and a view that began before a compaction go on in the old file, to the end.
func TestScanOverACompaction(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		db := mustOpen(t, newPath(t), opts)
		for i := range 100 {
			put(t, db, fmt.Sprintf("k%02d", i), "old")
		}
		seen := 0
		for e, err := range db.Scan(ctx, 1, Range{}) {
			must(t, err)
			if string(e.Value) != "old" || string(e.Key) != fmt.Sprintf("k%02d", seen) {
				t.Fatalf("%q = %q", e.Key, e.Value)
			}
			if seen%10 == 0 {
				put(t, db, fmt.Sprintf("k%02d", 99-seen/10), "new")
				must(t, db.Compact(ctx))
			}
			seen++
		}
		if seen != 100 {
			t.Fatalf("%d keys", seen)
		}
		must(t, db.View(ctx, func(tx *Tx) error {
			must(t, db.Compact(ctx))
			got, err := tx.Get(1, []byte("k99"))
			if err != nil || string(got) != "new" {
				t.Fatalf("%q, %v", got, err)
			}
			return nil
		}))
	})
}

// Two stores whose names are alike are compacted at once, and do not meet.
func TestA17_NamesThatAreAlike(t *testing.T) {
	dir := t.TempDir()
	names := []string{"s.a", "s.b", "s.tmp", "s", ".s", "s.a.b", "s.a.tmp2", "s.lock.x", "s.compact", "with space", "ü", "s*", "s.a.compact-0"}
	user := filepath.Join(dir, "s.a.tmp")
	writeFile(t, user, []byte("a person's"))
	stores := map[string]*DB{}
	for _, name := range names {
		stores[name] = mustOpen(t, filepath.Join(dir, name), quiet())
	}
	var all sync.WaitGroup
	for name, db := range stores {
		all.Go(func() {
			for i := range 10 {
				for k := range 20 {
					if err := db.Put(ctx, 1, fmt.Append(nil, k), fmt.Append(nil, name, i)); err != nil {
						t.Error(err)
					}
				}
				if err := db.Compact(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	want := []string{"s.a.tmp"}
	for name, db := range stores {
		mustClose(t, db)
		db = mustOpen(t, filepath.Join(dir, name), quiet())
		wantSound(t, db)
		if got, err := db.Get(ctx, 1, []byte("7")); err != nil || string(got) != name+"9" {
			t.Errorf("%s has %q, %v", name, got, err)
		}
		want = append(want, name, name+".lock")
	}
	slices.Sort(want)
	if got := files(t, dir); !slices.Equal(got, want) {
		t.Errorf("the directory has %q\nwant %q", got, want)
	}
	if got := readFile(t, user); string(got) != "a person's" {
		t.Errorf("the person's file holds %q", got)
	}
}

// A file that somebody put in the store's place is not overwritten.
func TestCompactionLeavesAnothersFileAlone(t *testing.T) {
	path := newPath(t)
	db := mustOpen(t, path, quiet())
	put(t, db, "k", "v")
	must(t, os.Rename(path, path+".moved"))
	writeFile(t, path, []byte("another's"))
	if err := db.Compact(ctx); err == nil {
		t.Fatal("it was overwritten")
	}
	if got := readFile(t, path); string(got) != "another's" {
		t.Fatalf("it holds %q", got)
	}
	want(t, db, "k", "v")
	put(t, db, "k", "w")
	mustClose(t, db)
	wantContent(t, mustOpen(t, path+".moved", quiet()), keys("k=w"))
	if got := files(t, filepath.Dir(path)); len(got) != 4 {
		t.Fatalf("the directory has %q", got)
	}
}

// Compaction gives back what is dead, and comes by itself when there is enough of it.
func TestCompactionComesByItself(t *testing.T) {
	for name, inline := range map[string]bool{"beside": false, "inline": true} {
		t.Run(name, func(t *testing.T) {
			compacted := make(chan struct{}, 1000)
			hook := func(c faultfs.Call) error {
				if c.Op == faultfs.Rename {
					compacted <- struct{}{}
				}
				return nil
			}
			opts := Options{CompactMin: 4 << 10, CompactInline: inline, fs: faultfs.FS{FS: memfs.New(), Hook: hook}}
			db := mustOpen(t, memPath, opts)
			<-compacted // its creation
			for i := 0; len(compacted) < 3; i++ {
				put(t, db, fmt.Sprint("k", i%10), strings.Repeat("v", 100))
				if i > 1_000_000 {
					t.Fatal("no compaction came")
				}
			}
			mustClose(t, db)
			db = mustOpen(t, memPath, opts)
			if st := stats(t, db); st.Keys != 10 || inline && st.File > 4*(4<<10) || st.Background != nil {
				t.Fatalf("%+v", st)
			}
			wantSound(t, db)
		})
	}
}

// A store that is opened for one write at a time never has the time to compact
// beside it.
func TestCompactIfDue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	value := bytes.Repeat([]byte("v"), 1000)
	for range 50 {
		db := mustOpen(t, path, Options{CompactMin: 10_000})
		if err := db.Put(ctx, 1, []byte("k"), value); err != nil {
			t.Fatal(err)
		}
		if err := db.CompactIfDue(ctx); err != nil {
			t.Fatal(err)
		}
		mustClose(t, db)
	}
	if size := len(readFile(t, path)); size > 25_000 { // ten dead records, a live one, and snapshots
		t.Errorf("the file has %d bytes", size)
	}
}
