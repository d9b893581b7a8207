package crabdb

import (
	"maps"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// recorder writes to a store and notes what the file ought to hold up to where.
type recorder struct {
	t      testing.TB
	db     *DB
	m      *memfs.FS
	now    content
	states []state // since the last compaction, oldest first
}

// state is what a file holds when it ends at an offset or a little behind.
type state struct {
	end     int64
	content content
}

func startRecorder(t testing.TB, opts Options) *recorder {
	t.Helper()
	m := memfs.New()
	r := &recorder{t: t, db: mustOpen(t, memPath, opts.On(m)), m: m, now: content{}}
	r.note()
	return r
}

func (r *recorder) note() {
	r.states = append(r.states, state{stats(r.t, r.db).File, maps.Clone(r.now)})
}

func (r *recorder) put(col byte, key, value string) {
	r.t.Helper()
	putIn(r.t, r.db, col, key, value)
	r.now[id{col, key}] = value
	r.note()
}

func (r *recorder) del(col byte, key string) {
	r.t.Helper()
	_, err := r.db.Delete(ctx, col, []byte(key))
	must(r.t, err)
	delete(r.now, id{col, key})
	r.note()
}

// batch is a transaction. In a plain file each part of it is a state.
func (r *recorder) batch(ops ...op) {
	r.t.Helper()
	at := stats(r.t, r.db).File
	in(r.t, r.db, func(tx *Tx) {
		for _, o := range ops {
			at += o.run(r, tx)
			if !r.db.Sealed() {
				r.states = append(r.states, state{at, maps.Clone(r.now)})
			}
		}
	})
	r.note()
}

// op is one write of a batch.
type op struct {
	col        byte
	key, value string
	delete     bool
}

// run does it and returns how many bytes of the log it is.
func (o op) run(r *recorder, tx *Tx) int64 {
	k := id{o.col, o.key}
	if o.delete {
		existed, err := tx.Delete(o.col, []byte(o.key))
		must(r.t, err)
		delete(r.now, k)
		if !existed {
			return 0
		}
		return int64(r.db.size(len(o.key), 0))
	}
	must(r.t, tx.Put(o.col, []byte(o.key), []byte(o.value)))
	r.now[k] = o.value
	return int64(r.db.size(len(o.key), len(o.value)))
}

func (r *recorder) checkpoint() {
	r.t.Helper()
	must(r.t, r.db.Checkpoint(ctx))
	r.note()
}

func (r *recorder) compact() {
	r.t.Helper()
	must(r.t, r.db.Compact(ctx))
	r.compacted()
}

// compacted notes a file of live records in the order of their keys. Cut short, it
// holds the first of them.
func (r *recorder) compacted() {
	s, err := r.db.acquire(ctx)
	must(r.t, err)
	defer s.log.release()
	r.states, r.now = nil, content{}
	at := int64(headerSize)
	r.states = append(r.states, state{at, content{}})
	for c, ok := first(s.view); ok; ok = c.Next() {
		k := c.Key()
		rec, err := s.log.record(k[0], k[1:], location(c.Value()))
		must(r.t, err)
		at += int64(rec.size)
		r.now[id{k[0], string(k[1:])}] = string(rec.value)
		r.states = append(r.states, state{at, maps.Clone(r.now)})
	}
	r.note()
}

func (r *recorder) close() { r.t.Helper(); mustClose(r.t, r.db) }

// at returns what a file holds whose good bytes end at an offset.
func (r *recorder) at(end int64) content {
	last := content{}
	for _, s := range r.states {
		if s.end <= end {
			last = s.content
		}
	}
	return last
}

// bytes returns the file.
func (r *recorder) bytes() []byte { r.t.Helper(); return bytesIn(r.t, r.m) }

// watermark returns that of a file.
func watermark(t testing.TB, data []byte) int64 {
	t.Helper()
	h, err := decodeHeader("", data)
	must(t, err)
	return h.watermark()
}

// kinds are the kinds of files that there are: how each came about.
var kinds = []struct {
	name  string
	write func(r *recorder)
}{
	{"empty", func(r *recorder) {}},
	{"puts", func(r *recorder) { r.put(1, "a", "1"); r.put(1, "b", "22"); r.put(2, "a", "") }},
	{"replaced and deleted", func(r *recorder) {
		r.put(1, "a", "first")
		r.put(1, "b", "x")
		r.put(1, "a", "second")
		r.del(1, "b")
		r.put(0, "c", "y")
	}},
	{"batches", func(r *recorder) {
		r.put(1, "x", "old")
		r.put(1, "z", "there")
		r.batch(op{col: 1, key: "x", value: "1"}, op{col: 1, key: "y", value: "2"}, op{col: 1, key: "z", delete: true})
		r.batch(op{col: 3, key: "x"})
	}},
	{"empty checkpoint", func(r *recorder) { r.checkpoint() }},
	{"checkpoint", func(r *recorder) { r.put(1, "a", "1"); r.put(1, "b", "2"); r.checkpoint() }},
	{"checkpoint and tail", func(r *recorder) {
		r.put(1, "a", "1")
		r.put(1, "b", "2")
		r.checkpoint()
		r.put(1, "c", "3")
		r.del(1, "a")
		r.batch(op{col: 1, key: "d", value: "4"}, op{col: 1, key: "b", value: "5"})
	}},
	{"two checkpoints", func(r *recorder) {
		r.put(1, "a", "1")
		r.checkpoint()
		r.put(1, "b", "2")
		r.del(1, "a")
		r.checkpoint()
		r.put(1, "c", "3")
	}},
	{"compacted", func(r *recorder) { r.put(1, "a", "1"); r.put(1, "a", "2"); r.put(1, "b", "3"); r.compact() }},
	{"compacted and tail", func(r *recorder) {
		r.put(1, "a", "1")
		r.put(1, "b", "3")
		r.del(1, "a")
		r.compact()
		r.put(1, "c", "4")
		r.put(1, "b", "5")
	}},
	{"all deleted", func(r *recorder) { r.put(1, "a", "1"); r.del(1, "a") }},
	{"all deleted and compacted", func(r *recorder) { r.put(1, "a", "1"); r.del(1, "a"); r.compact() }},
	{"empty keys", func(r *recorder) { r.put(0, "", "v"); r.put(1, "", ""); r.put(0, "", "w"); r.del(1, "") }},
	{"closed", func(r *recorder) { r.put(1, "a", "1"); r.put(1, "b", "2"); r.close() }},
}

// eachKind runs a test on a file of each kind and format, as a killed process, or a
// closed store, left it.
func eachKind(t *testing.T, test func(t *testing.T, r *recorder, data []byte, opts Options)) {
	t.Helper()
	eachFormat(t, func(t *testing.T, opts Options) {
		for _, k := range kinds {
			t.Run(k.name, func(t *testing.T) {
				r := startRecorder(t, opts)
				k.write(r)
				test(t, r, r.bytes(), opts)
			})
		}
	})
}
