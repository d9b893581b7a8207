package crabdb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

// note makes a call and notes it. The machine's clock gives the times: a counter that
// all clients share would make them wait for each other, and hide races.
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
		return c.call(rolledBack, c.actions("get", "put", "delete", "scan back")...)
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
		db, err := Open(memPath, readOnly().On(inMemory(t, file)))
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
			for run := range uint64(times(12, 1000)) {
				db := mustOpen(t, memPath, opts.On(yielding(memfs.New())))
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
				fsys, path := vfs.FS(memfs.New()), memPath
				if name == "sealed" || name == "plain" { // which sync seldom
					fsys, path = vfs.OS{}, newPath(t)
				}
				db := mustOpen(t, path, opts.On(fsys))
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
			for run := range uint64(times(12, 1000)) {
				fsys := yielding(memfs.New())
				db := mustOpen(t, memPath, opts.On(fsys))
				reader := mustOpen(t, memPath, readOnly().On(fsys))
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
