package crabdb

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// machine is a store, a reader that follows it, and a map of what the two ought to
// hold. Rapid runs its methods in random order and shrinks what fails.
type machine struct {
	opts   Options
	m      *memfs.FS
	db     *DB
	now    content
	reader *DB
	seen   content // what the reader has looked at
}

// TestModel runs random histories on a store and on a map. Thresholds are so small
// that compactions and checkpoints come by themselves all the time.
func TestModel(t *testing.T) {
	for name, opts := range map[string]Options{
		"sealed":        {CompactMin: 200, CheckpointEvery: 300},
		"sealed inline": {CompactMin: 200, CompactInline: true, CheckpointEvery: 300, Sync: SyncWrite},
		"sealed quiet":  quiet(),
		"plain":         {Plain: true, CompactMin: 200},
		"plain inline":  {Plain: true, CompactMin: -1, CompactInline: true, CompactReplaced: true},
		"plain quiet":   quietPlain(),
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				m := &machine{opts: opts, m: memfs.New(), now: content{}, seen: content{}}
				m.open(rt)
				defer m.close(rt)
				rt.Repeat(rapid.StateMachineActions(m))
			})
		})
	}
}

func (m *machine) open(t *rapid.T) {
	db, err := Open(memPath, m.opts.On(m.m))
	must(t, err)
	m.db = db
}

func (m *machine) close(t *rapid.T) {
	must(t, m.db.Close())
	if m.reader != nil {
		m.reader.Close()
	}
}

var (
	columns = rapid.SampledFrom([]byte{0, 1, 1, 1, 2, 255})
	names   = rapid.OneOf(
		rapid.StringN(0, 3, 6),
		rapid.SampledFrom([]string{"", "\x00", "a", "aa", "ab", "a\xFF", "\xFF", "\xFF\xFF", strings.Repeat("k", 300)}),
	)
	values = rapid.OneOf(
		rapid.StringN(0, 20, 40),
		rapid.Map(rapid.IntRange(0, 70_000), func(n int) string { return strings.Repeat("v", n) }),
	)
)

// key draws a key, half of the time one that is there. In a plain file column 0 gets
// none that is empty or begins with zeros: behind the snapshot of an empty index,
// which is zeros, their records cannot be told from others.
func (m *machine) key(t *rapid.T) id {
	if len(m.now) > 0 && rapid.Bool().Draw(t, "existing") {
		all := slices.SortedFunc(maps.Keys(m.now), func(a, b id) int {
			return strings.Compare(string(a.col)+a.key, string(b.col)+b.key)
		})
		return rapid.SampledFrom(all).Draw(t, "key")
	}
	k := id{columns.Draw(t, "column"), names.Draw(t, "key")}
	if m.opts.Plain && k.col == 0 {
		k.key = "k" + k.key
	}
	return k
}

func (m *machine) Put(t *rapid.T) {
	k, v := m.key(t), values.Draw(t, "value")
	must(t, m.db.Put(ctx, k.col, []byte(k.key), []byte(v)))
	m.now[k] = v
}

func (m *machine) Delete(t *rapid.T) {
	k := m.key(t)
	_, want := m.now[k]
	existed, err := m.db.Delete(ctx, k.col, []byte(k.key))
	if err != nil || existed != want {
		t.Fatalf("delete %q: %v, %v; want %v", k, existed, err, want)
	}
	delete(m.now, k)
}

var errBack = errors.New("roll back")

// Update runs some writes and reads in a transaction, which is committed or not.
func (m *machine) Update(t *rapid.T) {
	inside := maps.Clone(m.now)
	back := rapid.Bool().Draw(t, "roll back")
	err := m.db.Update(ctx, func(tx *Tx) error {
		for range rapid.IntRange(0, 5).Draw(t, "writes") {
			m.writeInside(t, tx, inside)
		}
		if got := scanTx(t, tx); !got.equal(inside) {
			t.Fatalf("the transaction sees %v\nwant %v", got, inside)
		}
		if back {
			return errBack
		}
		return nil
	})
	if back != errors.Is(err, errBack) || !back && err != nil {
		t.Fatal(err)
	}
	if !back {
		m.now = inside
	}
}

func (m *machine) writeInside(t *rapid.T, tx *Tx, inside content) {
	k := m.key(t)
	want, there := inside[k]
	if got, err := tx.Get(k.col, []byte(k.key)); there != (err == nil) || string(got) != want {
		t.Fatalf("in the transaction %q = %.40q, %v; want %.40q, %v", k, got, err, want, there)
	}
	if rapid.Bool().Draw(t, "delete") {
		existed, err := tx.Delete(k.col, []byte(k.key))
		if err != nil || existed != there {
			t.Fatalf("delete %q: %v, %v", k, existed, err)
		}
		delete(inside, k)
		return
	}
	v := values.Draw(t, "value")
	if err := tx.Put(k.col, []byte(k.key), []byte(v)); err != nil {
		t.Fatal(err)
	}
	inside[k] = v
}

func scanTx(t *rapid.T, tx *Tx) content {
	got := content{}
	for col := range 256 {
		for e, err := range tx.Scan(ctx, byte(col), Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			got[id{byte(col), string(e.Key)}] = string(e.Value)
		}
	}
	return got
}

func (m *machine) Checkpoint(t *rapid.T) { must(t, m.db.Checkpoint(ctx)) }
func (m *machine) Compact(t *rapid.T)    { must(t, m.db.Compact(ctx)) }

// Reopen closes the store and opens it.
func (m *machine) Reopen(t *rapid.T) {
	must(t, m.db.Close())
	m.open(t)
}

// Kill leaves the file as it is, or with a torn record behind it, and opens it. The
// reader, as its file is another then, is gone too.
func (m *machine) Kill(t *rapid.T) {
	left := m.m.Kill()
	m.close(t)
	m.m, m.reader = left, nil
	data := bytesIn(t, left)
	next := recordOf(!m.opts.Plain, len(data), opPut, 1, "torn", "torn")
	setBytes(t, left, concat(data, next[:rapid.IntRange(0, len(next)-1).Draw(t, "torn")]))
	m.open(t)
}

// Damage spoils the snapshot that the header names, which costs a replay. In a plain
// file it is the count, which is always seen: an offset that is changed may lead into
// an older snapshot, of which an entry looks like a record (FORMAT.md).
func (m *machine) Damage(t *rapid.T) {
	left := m.m.Kill()
	data := bytesIn(t, left)
	h, err := decodeHeader("", data)
	if err != nil || h.indexAt == 0 {
		return
	}
	m.close(t)
	m.m, m.reader = left, nil
	last := h.indexLen - 1
	if m.opts.Plain {
		last = 3
	}
	data[h.indexAt+rapid.Int64Range(0, last).Draw(t, "byte")] ^= 0x40
	setBytes(t, left, data)
	m.open(t)
}

// Refresh lets the reader look.
func (m *machine) Refresh(t *rapid.T) {
	if m.reader == nil {
		var err error
		m.reader, err = Open(memPath, readOnly().On(m.m))
		must(t, err)
	} else {
		must(t, m.reader.Refresh(ctx))
	}
	m.seen = maps.Clone(m.now)
}

// Backup takes a copy and opens it.
func (m *machine) Backup(t *rapid.T) {
	var b bytes.Buffer
	must(t, m.db.Backup(ctx, &b))
	copied, err := Open(memPath, quiet().On(inMemory(t, b.Bytes())))
	must(t, err)
	defer copied.Close()
	if got, err := readContent(copied); err != nil || !got.equal(m.now) {
		t.Fatalf("the backup holds %v, %v\nwant %v", got, err, m.now)
	}
	wantSound(t, copied)
}

// Range scans a part of a column either way.
func (m *machine) Range(t *rapid.T) {
	r := Range{Prefix: []byte(names.Draw(t, "prefix")), Reverse: rapid.Bool().Draw(t, "reverse"), Lend: rapid.Bool().Draw(t, "lend")}
	if rapid.Bool().Draw(t, "has after") {
		r.After = []byte(names.Draw(t, "after"))
	}
	col := columns.Draw(t, "column")
	type entry struct{ key, value string }
	var want, got []entry
	for k, v := range m.now {
		order := strings.Compare(k.key, string(r.After))
		if k.col == col && strings.HasPrefix(k.key, string(r.Prefix)) && (r.After == nil || order != 0 && (order < 0) == r.Reverse) {
			want = append(want, entry{k.key, v})
		}
	}
	slices.SortFunc(want, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	if r.Reverse {
		slices.Reverse(want)
	}
	for e, err := range m.db.Scan(ctx, col, r) {
		must(t, err)
		got = append(got, entry{string(e.Key), string(e.Value)})
	}
	if !slices.Equal(got, want) {
		t.Fatalf("column %d, %+v: %.200q\nwant %.200q", col, r, got, want)
	}
}

// Check compares the store, and the reader, with the map.
func (m *machine) Check(t *rapid.T) {
	if got, err := readContent(m.db); err != nil || !got.equal(m.now) {
		t.Fatalf("the store holds %v, %v\nwant %v", got, err, m.now)
	}
	if m.reader != nil {
		if got, err := readContent(m.reader); err != nil || !got.equal(m.seen) {
			t.Fatalf("the reader sees %v, %v\nwant %v", got, err, m.seen)
		}
	}
	if !m.opts.Plain || m.opts.CompactRatio < 0 {
		wantSound(t, m.db)
	}
	st := stats(t, m.db)
	if st.Keys != int64(len(m.now)) || st.Dead < 0 || st.Live < 0 || st.Poisoned != nil || st.Background != nil {
		t.Fatal(fmt.Sprintf("%+v", st))
	}
}
