package crabdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// A concurrent history is what some clients asked of a store, when, and what they
// were answered. It is linearizable when each call can be given a moment between its
// beginning and its end so that the answers are those of a store that does one call
// at a time. Porcupine looks for such moments.

// slate is what the few keys of a history hold: numbers, each of which is put once,
// and 0 for no value.
type slate [6]int64

// action is one thing done with a key or, in a scan or count, with all.
type action struct {
	verb  string
	key   int
	value int64 // of a put
}

// call is what a client asks for: actions that are done at one moment.
type call struct {
	how     string
	actions []action
}

// The ways to call.
const (
	alone    = "alone" // one action, not in a transaction
	update   = "update"
	backed   = "update rolled back"
	view     = "view"
	copying  = "backup"
	renewing = "refresh"
)

// answer is what an action gave: a value, a number of keys, 1 or 0 for a key that was
// there or not, or everything.
type answer struct {
	number int64
	all    slate
}

// after returns what an action makes of a slate, and whether the answer is right.
func (s slate) after(a action, got answer) (slate, bool) {
	before := s
	switch a.verb {
	case "get":
		return s, got == answer{number: s[a.key]}
	case "has":
		return s, got == answer{number: min(s[a.key], 1)}
	case "put":
		s[a.key] = a.value
		return s, got == answer{}
	case "delete":
		s[a.key] = 0
		return s, got == answer{number: min(before[a.key], 1)}
	case "scan", "scan back":
		return s, got == answer{all: s}
	case "count":
		for _, n := range s {
			got.number -= min(n, 1)
		}
		return s, got == answer{}
	}
	panic(a.verb)
}

// afterCall returns what a call makes of a slate, and whether its answers are right.
func (s slate) afterCall(c call, got []answer) (slate, bool) {
	before := s
	for i, a := range c.actions {
		var ok bool
		if s, ok = s.after(a, got[i]); !ok {
			return before, false
		}
	}
	if c.how == backed {
		return before, true
	}
	return s, true
}

// oneStore is a store that does one call at a time.
var oneStore = porcupine.Model{
	Init: func() any { return slate{} },
	Step: func(state, input, output any) (bool, any) {
		s, ok := state.(slate).afterCall(input.(call), output.([]answer))
		return ok, s
	},
}

// byKey is a store of which each key can be looked at by itself, since no call is of
// two.
var byKey = func() porcupine.Model {
	m := oneStore
	m.Partition = func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, len(slate{}))
		for _, o := range history {
			key := o.Input.(call).actions[0].key
			parts[key] = append(parts[key], o)
		}
		return parts
	}
	return m
}()

// longNumber is how often a value is so long that the index does not have its size.
const longNumber = 61

// padded returns the value that stands for a number.
func padded(n int64) []byte {
	length := n % 97
	if n%longNumber == 0 {
		length = unknownSize
	}
	return append(numbered(n), bytes.Repeat([]byte{byte(n)}, int(length))...)
}

func unpadded(b []byte) (int64, error) {
	n := number(b)
	if n <= 0 || !bytes.Equal(b, padded(n)) {
		return 0, fmt.Errorf("a value that nobody put: %.80q", b)
	}
	return n, nil
}

// place is where an action is done: a transaction, or a store.
type place interface {
	Get(col byte, key []byte) ([]byte, error)
	Put(col byte, key, value []byte) error
	Delete(col byte, key []byte) (existed bool, err error)
	Scan(ctx context.Context, col byte, r Range) iter.Seq2[Entry, error]
}

// direct is a store as a place.
type direct struct{ *DB }

func (d direct) Get(col byte, key []byte) ([]byte, error)  { return d.DB.Get(ctx, col, key) }
func (d direct) Put(col byte, key, value []byte) error     { return d.DB.Put(ctx, col, key, value) }
func (d direct) Delete(col byte, key []byte) (bool, error) { return d.DB.Delete(ctx, col, key) }

// on does an action.
func (a action) on(p place) (answer, error) {
	key := []byte{'k', byte('0' + a.key)}
	switch a.verb {
	case "get":
		return getNumber(p, key)
	case "has":
		there, err := p.(direct).Has(ctx, 1, key)
		return oneIf(there), err
	case "put":
		return answer{}, p.Put(1, key, padded(a.value))
	case "delete":
		existed, err := p.Delete(1, key)
		return oneIf(existed), err
	case "count":
		st, err := p.(direct).Stats(ctx)
		return answer{number: st.Keys}, err
	}
	all, err := scanSlate(p, a.verb == "scan back")
	return answer{all: all}, err
}

func oneIf(b bool) answer {
	if b {
		return answer{number: 1}
	}
	return answer{}
}

func getNumber(p place, key []byte) (answer, error) {
	v, err := p.Get(1, key)
	if errors.Is(err, ErrNotFound) {
		return answer{}, nil
	}
	if err != nil {
		return answer{}, err
	}
	n, err := unpadded(v)
	return answer{number: n}, err
}

// scanSlate reads all, and lets others go on at every entry.
func scanSlate(p place, back bool) (all slate, err error) {
	for e, err := range p.Scan(ctx, 1, Range{Reverse: back}) {
		if err != nil {
			return all, err
		}
		n, err := unpadded(e.Value)
		if err != nil {
			return all, err
		}
		all[e.Key[1]-'0'] = n
		runtime.Gosched()
	}
	return all, nil
}

// do makes a call.
func (c call) do(db *DB) (got []answer, err error) {
	all := func(p place) error {
		for _, a := range c.actions {
			one, err := a.on(p)
			got = append(got, one)
			if err != nil {
				return fmt.Errorf("%s %d: %w", a.verb, a.key, err)
			}
			runtime.Gosched()
		}
		if c.how == backed {
			return errBack
		}
		return nil
	}
	switch c.how {
	case alone:
		err = all(direct{db})
	case view:
		err = db.View(ctx, func(tx *Tx) error { return all(tx) })
	default:
		err = db.Update(ctx, func(tx *Tx) error { return all(tx) })
	}
	if c.how == backed && errors.Is(err, errBack) {
		err = nil
	}
	return got, err
}

// client is one of those who make a history.
type client struct {
	id    int
	db    *DB
	rng   *rand.Rand
	began time.Time // the history's beginning
	last  int64     // the last number that it put
	notes []porcupine.Operation
}

// clients is how many work on a store at once. Others take care of it.
const clients = 4

// next returns a number that nobody else puts.
func (c *client) next() int64 {
	c.last++
	return c.last*clients + int64(c.id)
}

func (c *client) action(verbs ...string) action {
	a := action{verb: verbs[c.rng.IntN(len(verbs))], key: c.rng.IntN(len(slate{}))}
	if a.verb == "put" {
		a.value = c.next()
	}
	return a
}

func (c *client) actions(verbs ...string) (all []action) {
	for range 1 + c.rng.IntN(4) {
		all = append(all, c.action(verbs...))
	}
	return all
}

// note makes a call and notes it. What reads no clock but the machine's own makes
// nobody wait for another, which would hide races.
func (c *client) note(in call, do func() ([]answer, error)) error {
	from := time.Since(c.began)
	got, err := do()
	to := time.Since(c.began)
	c.notes = append(c.notes, porcupine.Operation{ClientId: c.id, Input: in, Call: int64(from), Output: got, Return: int64(to)})
	if err != nil {
		return fmt.Errorf("client %d, %v: %w", c.id, in, err)
	}
	return nil
}

func (c *client) call(how string, actions ...action) error {
	in := call{how, actions}
	return c.note(in, func() ([]answer, error) { return in.do(c.db) })
}

// oneKey does something with one key.
func (c *client) oneKey() error {
	return c.call(alone, c.action("get", "get", "has", "put", "put", "delete"))
}

// anyCall does anything.
func (c *client) anyCall() error {
	switch c.rng.IntN(8) {
	case 0, 1:
		return c.call(update, c.actions("get", "put", "delete", "scan")...)
	case 2:
		return c.call(backed, c.actions("get", "put", "delete", "scan back")...)
	case 3:
		return c.call(view, c.actions("get", "scan", "scan back")...)
	case 4:
		return c.call(alone, c.action("scan", "scan back", "count"))
	}
	return c.oneKey()
}

// maintain does what changes nothing of what a store holds.
func (c *client) maintain() error {
	switch c.rng.IntN(4) {
	case 0:
		return c.db.Checkpoint(ctx)
	case 1:
		return c.db.Compact(ctx)
	case 2:
		return c.db.Sync()
	}
	return c.db.Backup(ctx, io.Discard)
}

// backUp takes a copy: a scan, that is, of the moment at which it was taken.
func (c *client) backUp() error {
	return c.note(call{copying, []action{{verb: "scan"}}}, func() ([]answer, error) {
		var b bytes.Buffer
		if err := c.db.Backup(ctx, &b); err != nil {
			return nil, err
		}
		all, err := slateOf(b.Bytes())
		return []answer{{all: all}}, err
	})
}

func slateOf(file []byte) (all slate, err error) {
	err = try(func(t tester) {
		db, err := Open(memPath, readOnly().on(inMemory(t, file)))
		must(t, err)
		defer db.Close()
		all, err = scanSlate(direct{db}, false)
		must(t, err)
	})
	return all, err
}

// follow returns what refreshes a reader: a scan, that is, of a moment of the refresh.
// Whatever is read until the next is of that moment too.
func follow(reader *DB) func(c *client) error {
	return func(c *client) error {
		scan := call{renewing, []action{{verb: "scan"}}}
		if err := c.note(scan, func() ([]answer, error) { return nil, reader.Refresh(ctx) }); err != nil {
			return err
		}
		seen, err := scanSlate(direct{reader}, false)
		c.notes[len(c.notes)-1].Output = []answer{{all: seen}}
		for range 3 {
			if err != nil {
				return err
			}
			in := call{view, c.actions("get", "scan", "scan back")}
			if c.rng.IntN(2) == 0 {
				in = call{alone, c.actions("get", "has", "count")}
			}
			var got []answer
			got, err = in.do(reader)
			if _, ok := seen.afterCall(in, got); err == nil && !ok {
				err = fmt.Errorf("the reader shows %v, and then answers %v with %v", seen, in, got)
			}
		}
		return err
	}
}

// historyOf makes a history: so many calls of each of the clients, who work at once,
// and what others do beside them meanwhile.
func historyOf(t *testing.T, seed, run uint64, db *DB, calls int, work func(*client) error, beside ...func(*client) error) []porcupine.Operation {
	t.Helper()
	var all []*client
	began := time.Now()
	start := func(group *sync.WaitGroup, more func(i int) bool, do func(*client) error) {
		c := &client{id: len(all), db: db, rng: rand.New(rand.NewPCG(seed, run<<8+uint64(len(all)))), began: began}
		all = append(all, c)
		group.Go(func() {
			for i := 0; more(i) && !t.Failed(); i++ {
				if err := do(c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	goOn := func(int) bool {
		select {
		case <-done:
			return false
		default:
			return true
		}
	}
	var working, besides sync.WaitGroup
	for _, do := range beside {
		start(&besides, goOn, do)
	}
	for range clients {
		start(&working, func(i int) bool { return i < calls }, work)
	}
	working.Wait()
	close(done)
	besides.Wait()
	var notes []porcupine.Operation
	for _, c := range all {
		notes = append(notes, c.notes...)
	}
	return notes
}

// wantLinearizable wants a history to be, and leaves a drawing of one that is not.
func wantLinearizable(t *testing.T, model porcupine.Model, notes []porcupine.Operation) {
	t.Helper()
	const patience = time.Minute
	if t.Failed() || porcupine.CheckOperationsTimeout(model, notes, patience) == porcupine.Ok {
		return
	}
	result, info := porcupine.CheckOperationsVerbose(model, notes, patience)
	f, err := os.CreateTemp("", "crabdb-history-*.html")
	must(t, err)
	must(t, errors.Join(porcupine.Visualize(model, info, f), f.Close()))
	t.Fatalf("a history of %d calls is not linearizable (%s); it is drawn in %s", len(notes), result, f.Name())
}

// yielding is a file system in which others go on at every call.
func yielding(m vfs.FS) vfs.FS {
	return faultfs.FS{FS: m, Hook: func(faultfs.Call) error { runtime.Gosched(); return nil }}
}

// busy are options with which compactions and checkpoints come all the time.
func busy() map[string]Options {
	return map[string]Options{
		"sealed":             {CompactMin: 1 << 10, CheckpointEvery: 1 << 10},
		"inline":             {CompactMin: 1 << 10, CompactInline: true, CheckpointEvery: 1 << 10},
		"every write":        {Sync: SyncWrite, CompactMin: 1 << 10, CheckpointEvery: 1 << 10},
		"interval":           {Sync: SyncInterval, SyncEvery: time.Millisecond, CompactMin: 1 << 10},
		"plain":              {Plain: true, CompactMin: 1 << 10},
		"plain, every write": {Plain: true, Sync: SyncWrite, CompactMin: 1 << 10, CompactReplaced: true},
	}
}

// Whatever some clients do with a few keys at once, in transactions and in scans too,
// happened in some order, beside compactions, checkpoints, syncs and backups. What a
// seed fixes is who asks for what, not when.
func TestLinearizable(t *testing.T) {
	seed := newSeed(t)
	for name, opts := range busy() {
		t.Run(name, func(t *testing.T) {
			for run := range uint64(times(12, 5000)) {
				db := mustOpen(t, memPath, opts.on(yielding(memfs.New())))
				notes := historyOf(t, seed, run, db, 60, (*client).anyCall, (*client).maintain, (*client).backUp)
				mustClose(t, db)
				wantLinearizable(t, oneStore, notes)
			}
		})
	}
}

// The same of long histories, in which a call is of one key.
func TestLinearizableByKey(t *testing.T) {
	seed := newSeed(t)
	for name, opts := range busy() {
		t.Run(name, func(t *testing.T) {
			for run := range uint64(times(1, 100)) {
				db := mustOpen(t, newPath(t), opts)
				notes := historyOf(t, seed, run, db, 2000, (*client).oneKey, (*client).maintain)
				mustClose(t, db)
				wantLinearizable(t, byKey, notes)
			}
		})
	}
}

// What a reader in another handle shows is the store at a moment of its last refresh.
// It may be earlier to see a write that is under way than who reads the store itself,
// so these are left out. In a plain file it may see a part of a transaction.
func TestLinearizableRefresh(t *testing.T) {
	seed := newSeed(t)
	for name, opts := range busy() {
		t.Run(name, func(t *testing.T) {
			for run := range uint64(times(12, 5000)) {
				fsys := yielding(memfs.New())
				db := mustOpen(t, memPath, opts.on(fsys))
				reader := mustOpen(t, memPath, readOnly().on(fsys))
				work := (*client).anyCall
				if opts.Plain {
					work = (*client).oneKey
				}
				notes := historyOf(t, seed, run, db, 60, work, (*client).maintain, follow(reader))
				mustClose(t, reader)
				mustClose(t, db)
				wantLinearizable(t, oneStore, slices.DeleteFunc(notes, readsTheWriter))
			}
		})
	}
}

func readsTheWriter(o porcupine.Operation) bool {
	in := o.Input.(call)
	verb := in.actions[0].verb
	return in.how == view || in.how == alone && verb != "put" && verb != "delete"
}
