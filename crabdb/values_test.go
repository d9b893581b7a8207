package crabdb

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// readsFS tells a hook of every read, which may fail it.
type readsFS struct {
	vfs.FS
	hook func(offset int64, n int) error
}

type readsFile struct {
	vfs.File
	hook func(offset int64, n int) error
}

func (f readsFS) OpenFile(path string, flag int, perm fs.FileMode) (vfs.File, error) {
	inner, err := f.FS.OpenFile(path, flag, perm)
	return readsFile{inner, f.hook}, err
}

func (f readsFile) ReadAt(b []byte, offset int64) (int, error) {
	if err := f.hook(offset, len(b)); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, offset)
}

// reads counts the reads of a store and their bytes. It lets those fail for which fail
// has an error.
type reads struct {
	calls, bytes int
	fail         func(offset int64, n int) error
}

func (r *reads) on(fsys vfs.FS) vfs.FS {
	return readsFS{fsys, func(offset int64, n int) error {
		r.calls++
		r.bytes += n
		if r.fail != nil {
			return r.fail(offset, n)
		}
		return nil
	}}
}

// What is kept of a scan stays as it is, whatever the caller does with the one value or
// the scan reads for the next: values of all sizes, records that lie in order, or with
// others between them, or anywhere, in both directions, beginning and ending anywhere,
// compared with a map.
func TestScannedValuesAreApart(t *testing.T) {
	seed := newSeed(t)
	eachFormat(t, func(t *testing.T, opts Options) {
		rng := rand.New(rand.NewPCG(seed, 0))
		for range times(20, 1000) {
			db := mustOpen(t, memPath, opts.On(memfs.New()))
			want := content{}
			scatter(t, db, rng, want)
			for range 10 {
				scanApart(t, db, rng, want)
			}
			must(t, db.Compact(ctx))
			for range 10 {
				scanApart(t, db, rng, want)
			}
			mustClose(t, db)
		}
	})
}

func numberedKey(i int) string { return fmt.Sprintf("key %04d", i) }

// scatter fills column 1 with values, one after the other or in any order, and replaces
// and deletes some.
func scatter(t *testing.T, db *DB, rng *rand.Rand, want content) {
	n, longest, inOrder := 1+rng.IntN(400), []int{1, 30, 300, longRecord, 3 * longRecord}[rng.IntN(5)], rng.IntN(2) == 0
	in(t, db, func(tx *Tx) {
		for i := range n + rng.IntN(n) {
			if i >= n || !inOrder {
				i = rng.IntN(n)
			}
			key, value := numberedKey(i), strings.Repeat(string(rune('a'+rng.IntN(26))), rng.IntN(longest+1))
			if rng.IntN(10) == 0 && want[id{1, key}] != "" {
				_, err := tx.Delete(1, []byte(key))
				must(t, err)
				delete(want, id{1, key})
				continue
			}
			must(t, tx.Put(1, []byte(key), []byte(value)))
			want[id{1, key}] = value
		}
	})
}

// scanApart scans a part of the store, spoils some values and appends to others at
// once, and looks at those that it kept when the scan is over.
func scanApart(t *testing.T, db *DB, rng *rand.Rand, want content) {
	t.Helper()
	r := Range{Reverse: rng.IntN(4) == 0, After: []byte(numberedKey(rng.IntN(400)))}
	if rng.IntN(2) == 0 {
		r.After = nil
	}
	most, kept := rng.IntN(500), []Entry{}
	for e, err := range db.Scan(ctx, 1, r) {
		must(t, err)
		if v, ok := want[id{1, string(e.Key)}]; !ok || v != string(e.Value) || e.Value == nil {
			t.Fatalf("%q = %.80q, want %.80q, %v", e.Key, e.Value, v, ok)
		}
		switch rng.IntN(3) {
		case 0:
			spoilAll(e.Value)
		case 1:
			kept = append(kept, Entry{e.Key, append(e.Value, "more"...)})
		default:
			kept = append(kept, e)
		}
		if most--; most < 0 {
			break
		}
	}
	for _, e := range kept {
		if v := want[id{1, string(e.Key)}]; v != string(e.Value) && v+"more" != string(e.Value) {
			t.Fatalf("%q was kept as %.80q and is %.80q", e.Key, v, e.Value)
		}
	}
}

// neighbours puts n000 to n999 with values of 100 bytes, each as long in the file as the next.
func neighbours(t *testing.T, db *DB, order func(i int) int) {
	t.Helper()
	for i := range 1000 {
		put(t, db, fmt.Sprintf("n%03d", order(i)), strings.Repeat("v", 100))
	}
}

func inOrder(i int) int { return i }

func scattered(i int) int { return i * 619 % 1000 } // 619 has no factor of 1000's

// togetherThenApart puts n000 to n099 in order, and of the others each 61 records
// behind the one before it, around the end: 61 * 841 is 1 modulo 900.
func togetherThenApart(i int) int {
	if i < 100 {
		return i
	}
	return 100 + (i-100)*841%900
}

// Records that lie together are read together, and little is read in vain: not where a
// scan ends early, and not where records lie apart.
func TestScanReadsStretches(t *testing.T) {
	for _, c := range []struct {
		name   string
		order  func(i int) int
		r      Range
		most   int // entries before the loop is left
		calls  int // at most
		excess int // how many bytes are read at most, in records, beyond the entries
	}{
		{"all", inOrder, Range{}, 1000, 20, 20}, // of 16 KiB 7, and before them 8; each may read a record again
		{"one", inOrder, Range{}, 1, 1, 0},
		{"two", inOrder, Range{}, 2, 2, 1},
		{"ten", inOrder, Range{}, 10, 5, 10},
		{"prefix", inOrder, Range{Prefix: []byte("n12")}, 1000, 5, 10},
		{"from the middle", inOrder, Range{After: []byte("n500")}, 100, 8, 100},
		{"reverse", inOrder, Range{Reverse: true}, 1000, 1000, 0},
		{"scattered", scattered, Range{}, 1000, 1000, 0},
		{"every second", func(i int) int { return i/2 + i%2*500 }, Range{Prefix: []byte("n1")}, 100, 12, 240},
		{"every third", func(i int) int { return i/3 + i%3*333 }, Range{Prefix: []byte("n1")}, 100, 100, 0},
		{"together, then apart", togetherThenApart, Range{}, 1000, 915, 300},
		{"keys", inOrder, Range{KeysOnly: true}, 1000, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen reads
			db := mustOpen(t, memPath, quiet().On(seen.on(memfs.New())))
			neighbours(t, db, c.order)
			seen.calls, seen.bytes = 0, 0
			n := 0
			for e, err := range db.Scan(ctx, 1, c.r) {
				must(t, err)
				if !c.r.KeysOnly && len(e.Value) != 100 {
					t.Fatalf("%q = %q", e.Key, e.Value)
				}
				if n++; n == c.most {
					break
				}
			}
			size := db.size(4, 100)
			if needed := n * size; seen.calls > c.calls || !c.r.KeysOnly && seen.bytes > needed+c.excess*size {
				t.Errorf("%d entries took %d reads of %d bytes; %d were needed", n, seen.calls, seen.bytes, needed)
			}
		})
	}
}

// A record that is damaged ends the scan that asks for it, with its offset, behind all
// that come before it; a scan that does not ask for it does not mind.
func TestScanBesideDamage(t *testing.T) {
	data := killed(t, quiet(), func(db *DB) { neighbours(t, db, inOrder) })
	size := layout{sealed: true}.size(4, 100)
	for _, bad := range []int{0, 1, 7, 500, 999} {
		offset := headerSize + bad*size
		db := mustOpen(t, memPath, quiet().On(inMemory(t, data)))
		f, err := db.fs.OpenFile(memPath, 2, 0)
		must(t, err)
		_, err = f.WriteAt([]byte("V"), int64(offset+size/2))
		must(t, err)
		n := 0
		for e, err := range db.Scan(ctx, 1, Range{}) {
			if n == bad {
				wantError(t, err, ErrCorrupt)
				wantText(t, err, fmt.Sprint("offset ", offset), string(badSum))
				break
			}
			must(t, err)
			if string(e.Key) != fmt.Sprintf("n%03d", n) {
				t.Fatalf("entry %d is %q", n, e.Key)
			}
			n++
		}
		if n != bad {
			t.Errorf("%d entries came before damage in the one with number %d", n, bad)
		}
		for _, r := range []Range{{After: fmt.Appendf(nil, "n%03d", bad)}, {After: fmt.Appendf(nil, "n%03d", bad), Reverse: true}} {
			for _, err := range db.Scan(ctx, 1, r) {
				must(t, err)
			}
		}
		n = 0
		for _, err := range db.Scan(ctx, 1, Range{}) { // up to the damage, which the stretch has in it
			if n++; n > bad {
				break
			}
			must(t, err)
		}
	}
}

// Reading ahead fails nothing: where a stretch cannot be read, its records can.
func TestScanWithoutStretches(t *testing.T) {
	var seen reads
	db := mustOpen(t, memPath, quiet().On(seen.on(memfs.New())))
	neighbours(t, db, inOrder)
	size := db.size(4, 100)
	broken := errors.New("broken")
	failed := 0
	seen.fail = func(_ int64, n int) error {
		if n > size {
			failed++
			return broken
		}
		return nil
	}
	n := 0
	for e, err := range db.Scan(ctx, 1, Range{}) {
		must(t, err)
		if len(e.Value) != 100 {
			t.Fatalf("%q = %q", e.Key, e.Value)
		}
		n++
	}
	if n != 1000 || failed == 0 {
		t.Fatalf("%d entries, %d reads failed", n, failed)
	}
	bad := int64(headerSize + 20*size)
	seen.fail = func(offset int64, n int) error { // as a bad sector
		if offset <= bad && bad < offset+int64(n) {
			return broken
		}
		return nil
	}
	n = 0
	for _, err := range db.Scan(ctx, 1, Range{}) {
		if n == 20 {
			wantError(t, err, broken)
			break
		}
		must(t, err)
		n++
	}
	if n != 20 {
		t.Errorf("%d entries came before the one that cannot be read", n)
	}
}

// A file that is cut while it is scanned is corrupt from where it ends; mapped or not.
func TestScanOfAFileCutMeanwhile(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		for _, keep := range []int{500, 501, 998} {
			path := newPath(t)
			db := mustOpen(t, path, opts)
			neighbours(t, db, inOrder)
			size := db.size(4, 100)
			n := 0
			for _, err := range db.Scan(ctx, 1, Range{}) {
				if n == 1 {
					f, err := vfs.OS{}.OpenFile(path, 2, 0)
					must(t, err)
					must(t, errors.Join(f.Truncate(int64(headerSize+keep*size+size/2)), f.Close()))
				}
				if n == keep {
					wantError(t, err, ErrCorrupt)
					wantText(t, err, fmt.Sprint("offset ", headerSize+keep*size), fmt.Sprintf("the file ends after %d of %d bytes", size/2, size))
					break
				}
				must(t, err)
				n++
			}
			if n != keep {
				t.Errorf("%d entries came of %d", n, keep)
			}
		}
	})
}

// A value that is kept keeps no more than a chunk in memory; a long one is in none.
func TestChunksOfValues(t *testing.T) {
	for name, c := range map[string]struct {
		fill func(db *DB)
		most int
	}{
		"in order":  {func(db *DB) { neighbours(t, db, inOrder) }, maxChunk},
		"scattered": {func(db *DB) { neighbours(t, db, scattered) }, maxChunk},
		"long":      {func(db *DB) { put(t, db, "long", strings.Repeat("v", longRecord)) }, 0},
	} {
		db := mustOpen(t, memPath, quiet().On(memfs.New()))
		c.fill(db)
		s, err := db.acquire(ctx)
		must(t, err)
		v := valueReader{log: s.log}
		for at, ok := first(s.view); ok; ok = at.Next() {
			_, err := v.read(1, at.Key()[1:], location(at.Value()))
			must(t, err)
			if cap(v.chunk) > c.most {
				t.Fatalf("%s: a chunk has %d bytes", name, cap(v.chunk))
			}
		}
		must(t, s.log.release())
	}
}

// AppendValue adds a value to what the caller has, in the caller's memory where there
// is room, and changes nothing else that the caller can see.
func TestAppendValue(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		db := mustOpen(t, newPath(t), opts)
		long := strings.Repeat("long", 50_000) // its size is not in the index
		for key, value := range map[string]string{"k": "value", "empty": "", "long": long} {
			put(t, db, key, value)
			for _, room := range []int{0, 3, 200, 300_000} {
				b := append(make([]byte, 0, room+6), "before"...)
				got, err := db.AppendValue(ctx, 1, []byte(key), b)
				if err != nil || string(got) != "before"+value || string(b) != "before" {
					t.Fatalf("%.80q, %v, of %q; room %d", got, err, key, room)
				}
				if room >= db.size(len(key), len(value)) && &got[0] != &b[0] {
					t.Errorf("the value of %q was not put into the room that there is", key)
				}
			}
		}
		b := []byte("before")
		if got, err := db.AppendValue(ctx, 1, []byte("absent"), b); err != ErrNotFound || string(got) != "before" {
			t.Errorf("absent: %q, %v", got, err)
		}
		buf, key := make([]byte, 0, 100), []byte("k")
		if n := testing.AllocsPerRun(100, func() {
			if _, err := db.AppendValue(ctx, 1, key, buf); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
		mustClose(t, db)
		if got, err := db.AppendValue(ctx, 1, []byte("k"), b); !errors.Is(err, ErrClosed) || string(got) != "before" {
			t.Errorf("closed: %q, %v", got, err)
		}
	})
}

// A scan that lends allocates nothing for each entry, and gives the same ones.
func TestScanThatLends(t *testing.T) {
	eachFormat(t, func(t *testing.T, opts Options) {
		db := mustOpen(t, memPath, opts.On(memfs.New()))
		want := content{}
		for i := range 1000 {
			k, v := fmt.Sprintf("k%03d", i), strings.Repeat(fmt.Sprint(i), i%50)
			put(t, db, k, v)
			want[id{1, k}] = v
		}
		got := content{}
		scan := func(keep bool) {
			for e, err := range db.Scan(ctx, 1, Range{Lend: true}) {
				must(t, err)
				if keep {
					got[id{1, string(e.Key)}] = string(e.Value)
				}
			}
		}
		scan(true)
		if !got.equal(want) {
			t.Fatalf("the scan gave %v\nwant %v", got, want)
		}
		if n := testing.AllocsPerRun(10, func() { scan(false) }); n > 50 {
			t.Errorf("%v allocations for 1000 entries", n)
		}
	})
}
