package crabdb

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"testing"
)

// mostMemory is what opening and reading a file of some hundred bytes may allocate,
// whatever the bytes say: the window and the buffers of one handle, and a margin.
const mostMemory = 1 << 20

// allocated returns how many bytes fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// legal tells whether an error is one with which a damaged file may be refused.
func legal(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVersion) || errors.Is(err, ErrNotStore)
}

// readable reads what it can of a store: the values, and the keys whose values are
// damaged.
func readable(t *testing.T, db *DB) (got content, damaged map[id]bool) {
	t.Helper()
	got, damaged = content{}, map[id]bool{}
	for col := range 256 {
		for e, err := range db.Scan(ctx, byte(col), Range{KeysOnly: true}) {
			must(t, err)
			k := id{byte(col), string(e.Key)}
			value, err := db.Get(ctx, k.col, e.Key)
			switch {
			case errors.Is(err, ErrCorrupt):
				damaged[k] = true
			case err != nil:
				t.Fatal(err)
			default:
				got[k] = string(value)
			}
		}
	}
	return got, damaged
}

// mend puts back, in a content, what is damaged.
func mend(got content, damaged map[id]bool, want content) content {
	for k := range damaged {
		if v, ok := want[k]; ok {
			got[k] = v
		}
	}
	return got
}

// Every bit of a sealed file is changed. Opening refuses the file, and leaves it as
// it is; or the store holds what had been written up to the damage, or all of it but
// for a value that is reported as damaged when it is read. Salvage yields every key
// whose record is whole, and Check names the place.
func TestEveryBitOfASealedFile(t *testing.T) {
	flips, refused := 0, 0
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			r := startRecorder(t, quiet())
			k.write(r)
			data := r.bytes()
			for bit := range len(data) * 8 {
				bad := bytes.Clone(data)
				bad[bit/8] ^= 1 << (bit % 8)
				flips++
				if most := allocated(func() {
					if !r.openDamaged(t, bad, int64(bit/8)) {
						refused++
					}
				}); most > 3*mostMemory {
					t.Fatalf("bit %d: %d bytes were allocated", bit, most)
				}
				r.salvageDamaged(t, bad, int64(bit/8))
			}
		})
	}
	t.Logf("%d bits changed, %d files refused", flips, refused)
}

// openDamaged opens a file of which the byte at an offset is damaged, and tells
// whether it could be.
func (r *recorder) openDamaged(t *testing.T, bad []byte, at int64) bool {
	t.Helper()
	ro, _, roErr := openBytes(t, bad, readOnly())
	db, m, err := openBytes(t, bad, quiet())
	if (err == nil) != (roErr == nil) {
		t.Fatalf("byte %d: %v, and read-only %v", at, err, roErr)
	}
	if err != nil {
		if !legal(err) {
			t.Fatalf("byte %d: %v", at, err)
		}
		wantBytes(t, m, bad)
		return false
	}
	want := r.now
	if at >= headerSize && at >= watermark(t, bad) {
		want = r.at(at) // the record with the byte and those behind it are a torn tail
	}
	for _, db := range []*DB{ro, db} {
		if got, damaged := readable(t, db); !mend(got, damaged, want).equal(want) || len(damaged) > 1 {
			t.Fatalf("byte %d: the store holds %v, %v damaged\nwant %v", at, got, damaged, want)
		} else if faults := mustCheck(t, db); len(damaged) > 0 && len(faults) == 0 {
			t.Fatalf("byte %d: no fault is found, and %v are damaged", at, damaged)
		}
		mustClose(t, db)
	}
	return true
}

// salvageDamaged opens it with Salvage.
func (r *recorder) salvageDamaged(t *testing.T, bad []byte, at int64) {
	t.Helper()
	db, m, err := openBytes(t, bad, salvage())
	if err != nil {
		if at >= 12 || !errors.Is(err, ErrVersion) { // of the version and the flags
			t.Fatalf("byte %d: %v", at, err)
		}
		return
	}
	defer mustClose(t, db)
	if faults := mustCheck(t, db); !slices.ContainsFunc(faults, func(f Fault) bool { return f.Offset <= at && at < f.Offset+f.Length }) {
		t.Fatalf("byte %d: Check finds %v", at, faults)
	}
	got, err := readContent(db)
	must(t, err)
	for k, v := range r.wholeWithout(at) {
		if got[k] != v {
			t.Fatalf("byte %d: salvage has %q = %q, want %q", at, k, got[k], v)
		}
	}
	for k, v := range got {
		if !r.everPut(k, v) {
			t.Fatalf("byte %d: salvage has %q = %q, which was never put", at, k, v)
		}
	}
	wantBytes(t, m, bad)
}

// wholeWithout returns the keys whose last write is not in the record with the byte
// at an offset.
func (r *recorder) wholeWithout(at int64) content {
	whole := content{}
	for k, v := range r.now {
		if !r.within(k, at) {
			whole[k] = v
		}
	}
	return whole
}

// within tells whether the byte at an offset is in the last write of a key, which
// was the last change of its value between two states.
func (r *recorder) within(k id, at int64) bool {
	for i := len(r.states) - 1; i > 0; i-- {
		was, ok := r.states[i-1].content[k]
		is, still := r.states[i].content[k]
		if was != is || ok != still {
			return at >= r.states[i-1].end && at < r.states[i].end
		}
	}
	return false
}

func (r *recorder) everPut(k id, v string) bool {
	for _, s := range r.states {
		if was, ok := s.content[k]; ok && was == v {
			return true
		}
	}
	return false
}

// Every bit of a plain file is changed. Nothing tells a value from another, so only
// this is promised: no panic, bounded memory, an error that says corrupt or a store
// that can be read, and written.
func TestEveryBitOfAPlainFile(t *testing.T) {
	flips := 0
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			r := startRecorder(t, quietPlain())
			k.write(r)
			data := r.bytes()
			for bit := range len(data) * 8 {
				bad := bytes.Clone(data)
				bad[bit/8] ^= 1 << (bit % 8)
				flips++
				if most := allocated(func() { openPlainDamaged(t, bad, bit/8) }); most > 4*mostMemory {
					t.Fatalf("bit %d: %d bytes were allocated", bit, most)
				}
			}
		})
	}
	t.Logf("%d bits changed", flips)
}

func openPlainDamaged(t *testing.T, bad []byte, at int) {
	t.Helper()
	for _, opts := range []Options{readOnly(), salvage(), quietPlain()} {
		db, m, err := openBytes(t, bad, opts)
		if err != nil {
			if !legal(err) {
				t.Fatalf("byte %d: %v", at, err)
			}
			wantBytes(t, m, bad)
			continue
		}
		before, damaged := readable(t, db)
		if len(damaged) > 0 {
			t.Fatalf("byte %d: %v are in the index of a plain file and cannot be read", at, damaged)
		}
		mustCheck(t, db)
		if !opts.ReadOnly && !opts.Salvage {
			putIn(t, db, 9, "after", "1")
			before[id{9, "after"}] = "1"
			db = mustOpen(t, memPath, opts.On(m.Kill()))
			wantContent(t, db, before)
		}
		mustClose(t, db)
	}
}

// Which damage a plain file cannot show: that of a value, a column or a key, and of
// a length where what follows is a record still. It stays with the record.
func TestPlainDamageThatCannotBeSeen(t *testing.T) {
	r := startRecorder(t, quietPlain())
	r.put(1, "a", "one")
	r.put(1, "bcd", "the value")
	r.put(1, "e", "three")
	data := r.bytes()
	at := int(r.states[1].end)
	for name, c := range map[string]struct {
		byte int
		to   byte
		want content
	}{
		"the value":  {at + valueAtKey + 3 + 4 + 1, 'T', keys("a=one", "bcd=tTe value", "e=three")},
		"the key":    {at + valueAtKey, 'B', keys("a=one", "Bcd=the value", "e=three")},
		"the column": {at + 1, 2, content{{1, "a"}: "one", {2, "bcd"}: "the value", {1, "e"}: "three"}},
	} {
		bad := bytes.Clone(data)
		bad[c.byte] = c.to
		db, _, err := openBytes(t, bad, quietPlain())
		must(t, err)
		if got := contentOf(t, db); !got.equal(c.want) {
			t.Errorf("%s: %v", name, got)
		}
		wantSound(t, db)
	}
	// A put of an empty value and a delete of the key differ in one bit.
	r.put(1, "a", "")
	bad := bytes.Clone(r.bytes())
	bad[len(bad)-recordFrame-1] ^= 1
	db, _, err := openBytes(t, bad, quietPlain())
	must(t, err)
	wantContent(t, db, keys("bcd=the value", "e=three"))
}
