package crabdb

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/crabstore/crabstore/crabdb/internal/vfs/faultfs"
	"github.com/crabstore/crabstore/crabdb/internal/vfs/memfs"
)

// history is what was written to a store, write by write, and what of it was promised
// to survive a power loss.
type history struct {
	writes   []write // acknowledged, oldest first; the first is the empty store
	promised int     // index of the oldest that may be found as the last

	// ghosts are states that a crash has taken away. Until something is appended, which
	// paves over what is left of them on the disk, another crash may bring them back.
	ghosts []content
	laid   int // how many writes there were when they were laid, or 0
}

// write is what the store may hold when a crash comes before the write is finished,
// besides what it held before: the last is the finished write. In a sealed file there
// is no other; in a plain one there is one for each part of a transaction.
type write []content

func (w write) last() content { return w[len(w)-1] }

func (h *history) now() content { return h.writes[len(h.writes)-1].last() }

// legal returns what may be found when a write is the last that has to be there, and
// the one behind so many was at hand.
func (h *history) legal(oldest, hand int) []content {
	legal := []content{h.writes[oldest].last()}
	for _, w := range h.writes[oldest+1 : min(hand+1, len(h.writes))] {
		legal = append(legal, w...)
	}
	if h.laid == 0 || hand <= h.laid {
		legal = append(legal, h.ghosts...)
	}
	return legal
}

// add notes a write that was acknowledged. One that changed nothing wrote nothing.
func (h *history) add(w write) {
	if h.laid == 0 && !w.last().equal(h.now()) {
		h.laid = len(h.writes)
	}
	h.writes = append(h.writes, w)
}

// crash is a file system as a crash left it.
type crash struct {
	left   *memfs.FS
	what   string
	oldest int // the write that has to be there, with all before it
	hand   int // the write at hand
}

// crasher writes to a store, and takes what crashes would leave before the calls that
// change the file system.
type crasher struct {
	opts Options
	rng  *rand.Rand // of the hook and the checks
	pick func() bool
	keys int // how many there are

	alike bool // values have one length

	mu      sync.Mutex // the hook may be called by background work
	m       *memfs.FS
	process int // the one that runs; another before it was killed
	history history
	armed   bool
	step    string
	crashes []crash
	checked int
}

func newCrasher(opts Options, seed, run uint64) *crasher {
	return &crasher{
		opts:    opts,
		m:       memfs.New(),
		rng:     rand.New(rand.NewPCG(seed, run+1<<32)),
		pick:    func() bool { return true },
		keys:    8,
		history: history{writes: []write{{content{}}}},
	}
}

var errKilled = errors.New("the process is gone")

// open opens the store as another process.
func (c *crasher) open() (*DB, error) {
	c.mu.Lock()
	c.process++
	process, m := c.process, c.m
	c.mu.Unlock()
	return Open(memPath, c.opts.On(faultfs.FS{FS: m, Hook: func(call faultfs.Call) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if process != c.process {
			return errKilled
		}
		if c.armed && call.Op.Changes() && c.pick() {
			c.take("before "+call.String(), c.eachLoss()...)
		}
		return nil
	}}))
}

// eachLoss returns the crashes that the format is to survive.
func (c *crasher) eachLoss() []memfs.Loss { return c.m.Losses(c.rng, !c.opts.Plain) }

// take notes what crashes leave.
func (c *crasher) take(when string, losses ...memfs.Loss) {
	for _, l := range losses {
		oldest := c.history.promised
		if l.Killed {
			oldest = len(c.history.writes) - 1
		}
		what := fmt.Sprintf("%s, %s, %s", c.step, l.How, when)
		c.crashes = append(c.crashes, crash{l.Left(), what, oldest, len(c.history.writes)})
	}
}

// script are some sixty operations of all kinds.
func script(rng *rand.Rand) []string {
	steps := []string{"put", "checkpoint"}
	for range 12 {
		for range 2 + rng.IntN(3) {
			steps = append(steps, []string{"put", "put", "put", "delete", "update"}[rng.IntN(5)])
		}
		steps = append(steps, []string{"checkpoint", "compact", "sync", "reopen", "backup"}[rng.IntN(5)])
	}
	return steps
}

// A crash before any call of the file system leaves a state that was acknowledged,
// not older than was promised, or the one that the write at hand makes; a killed
// process loses nothing at all. Crashing again during the recovery changes nothing
// of that.
func TestCrashBeforeEachCall(t *testing.T) {
	seed := newSeed(t)
	crashes := 0
	eachFormat(t, func(t *testing.T, opts Options) {
		for _, sync := range []SyncMode{SyncCheckpoint, SyncWrite} {
			for run := range uint64(times(2, 200)) {
				c := newCrasher(opts.with(sync).spacious(), seed, run)
				rng := rand.New(rand.NewPCG(seed, run))
				must(t, c.run(rng, script(rng)))
				crashes += c.checked
			}
		}
	})
	t.Logf("%d crashes", crashes)
}

func (c *crasher) run(rng *rand.Rand, steps []string) error {
	db, err := c.open()
	if err != nil {
		return err
	}
	defer func() { db.Close() }()
	for i, step := range steps {
		c.mu.Lock()
		c.step, c.armed = fmt.Sprintf("step %d, %s", i, step), true
		c.mu.Unlock()
		var wrote write
		switch step {
		case "put", "delete", "update":
			wrote, err = c.write(db, rng, step)
		case "checkpoint":
			err = db.Checkpoint(ctx)
		case "compact":
			err = db.Compact(ctx)
		case "sync":
			err = db.Sync()
		case "backup":
			err = c.backup(db)
		case "reopen":
			if err = db.Close(); err == nil {
				db, err = c.open()
			}
		case "kill":
			db, err = c.kill(db)
		case "crash":
			db, err = c.crash(db)
		}
		if err != nil {
			return fmt.Errorf("step %d, %s: %w", i, step, err)
		}
		c.acknowledge(step, wrote)
	}
	c.mu.Lock()
	c.armed = false
	c.mu.Unlock()
	return errors.Join(db.Close(), c.check())
}

// kill ends the process and goes on with another. What the first had not synced is
// still not on the disk.
func (c *crasher) kill(db *DB) (*DB, error) {
	c.mu.Lock()
	c.process++
	c.m.ReleaseLocks()
	c.mu.Unlock()
	db.Close() // for its goroutines
	return c.open()
}

// crash loses power and goes on with what is left.
func (c *crasher) crash(db *DB) (*DB, error) {
	c.mu.Lock()
	c.process++
	c.armed = false // until it is known what the history is
	losses := c.eachLoss()
	c.take("at rest", losses[c.rng.IntN(len(losses))])
	c.mu.Unlock()
	db.Close() // for its goroutines
	last := c.crashes[len(c.crashes)-1]
	c.m = last.left.Kill()
	if err := c.check(); err != nil {
		return db, err
	}
	db, err := c.open()
	if err != nil {
		return db, err
	}
	found, err := readContent(db)
	legal := c.history.legal(last.oldest, last.hand)
	if err == nil && !slices.ContainsFunc(legal, found.equal) {
		err = fmt.Errorf("%s: the store holds %v, and another when it was checked", last.what, found)
	}
	c.history = history{writes: []write{{found}}, ghosts: legal}
	return db, err
}

// write makes a write of some kind, and returns what it may leave.
func (c *crasher) write(db *DB, rng *rand.Rand, kind string) (write, error) {
	name := func() string { return fmt.Sprintf("k%02d", rng.IntN(c.keys)) }
	text := func() string {
		if c.alike { // so that one may come to stand where another did before a crash
			return fmt.Sprintf("%080d", rng.IntN(1000))
		}
		return strings.Repeat(fmt.Sprint(rng.IntN(1000), " "), rng.IntN(200))
	}
	next := maps.Clone(c.history.now())
	switch kind {
	case "put":
		k, v := name(), text()
		next[id{1, k}] = v
		return write{next}, db.Put(ctx, 1, []byte(k), []byte(v))
	case "delete":
		k := name()
		delete(next, id{1, k})
		_, err := db.Delete(ctx, 1, []byte(k))
		return write{next}, err
	}
	var parts write
	err := db.Update(ctx, func(tx *Tx) error {
		for range 3 {
			k, v := name(), text()
			next[id{1, k}] = v
			parts = append(parts, maps.Clone(next))
			if err := tx.Put(1, []byte(k), []byte(v)); err != nil {
				return err
			}
		}
		return nil
	})
	if !c.opts.Plain {
		parts = parts[2:]
	}
	return parts, err
}

// backup takes a copy, which has to hold what the store does.
func (c *crasher) backup(db *DB) error {
	var b bytes.Buffer
	if err := db.Backup(ctx, &b); err != nil {
		return err
	}
	return try(func(t tester) {
		wantLegal(t, inMemory(t, b.Bytes()), quiet(), c.history.now())
	})
}

// acknowledge notes a step that has returned.
func (c *crasher) acknowledge(step string, wrote write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wrote != nil {
		c.history.add(wrote)
	}
	if syncs := step != "backup" && step != "kill" && wrote == nil; syncs || c.opts.Sync == SyncWrite {
		c.history.promised = len(c.history.writes) - 1
	}
}

// check opens what each crash left, and crashes again on the way.
func (c *crasher) check() error {
	for _, x := range c.crashes {
		if err := c.recover(x, 2); err != nil {
			return fmt.Errorf("%s: %w", x.what, err)
		}
	}
	c.crashes = nil
	return nil
}

func (c *crasher) recover(x crash, again int) error {
	c.checked++
	if len(x.left.Kill().Names()) == 0 {
		return nil // before the store's name was durable there is none
	}
	var during []*memfs.FS
	hook := func(call faultfs.Call) error {
		if again > 0 && call.Op.Changes() && c.rng.IntN(2) == 0 {
			during = append(during, x.left.Synced())
		}
		return nil
	}
	opts := quiet()
	opts.Plain = c.opts.Plain
	err := try(func(t tester) {
		wantLegal(t, faultfs.FS{FS: x.left, Hook: hook}, opts, c.history.legal(x.oldest, x.hand)...)
	})
	if err != nil {
		return err
	}
	for _, left := range during {
		y := x
		y.left = left
		if err := c.recover(y, again-1); err != nil {
			return fmt.Errorf("and again: %w", err)
		}
	}
	return nil
}
