package crabdb

import (
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

// history is what was written to a store, and what of it was promised to survive a
// power loss.
type history struct {
	states   []content // acknowledged, oldest first
	promised int       // index of the oldest that may be found
}

func (h *history) last() content { return h.states[len(h.states)-1] }

// crash is a file system as a crash left it, and which states are legal in it.
type crash struct {
	left   *memfs.FS
	what   string
	states []content // without the write at hand
	hand   int       // number of the write at hand
}

// crasher takes what a crash would leave before every call that changes something.
type crasher struct {
	mu      sync.Mutex
	m       *memfs.FS
	rng     *rand.Rand
	history history
	armed   bool
	step    string
	crashes []crash
	random  int // crashes at a call with random sectors
	sealed  bool
}

func (c *crasher) hook(call faultfs.Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.armed || !call.Op.Changes() {
		return nil
	}
	c.take("killed", call, c.m.Kill())
	c.take("synced alone", call, c.m.Synced())
	if !c.sealed { // nothing tells a hole in a plain file from what was written
		return nil
	}
	fates := []memfs.Fate{memfs.Lost, memfs.Kept, memfs.Zeroed, memfs.Garbled}
	for range c.random {
		c.take("random", call, c.m.Crash(
			func() memfs.Fate { return fates[c.rng.IntN(len(fates))] },
			func() bool { return c.rng.IntN(2) == 0 }))
	}
	return nil
}

func (c *crasher) take(how string, call faultfs.Call, left *memfs.FS) {
	states := c.history.states
	if how != "killed" {
		states = states[c.history.promised:]
	} else {
		states = states[len(states)-1:]
	}
	what := fmt.Sprintf("%s, %s, before %s", c.step, how, call)
	c.crashes = append(c.crashes, crash{left, what, slices.Clone(states), len(c.history.states)})
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
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	crashes := 0
	eachFormat(t, func(t *testing.T, opts Options) {
		for _, sync := range []SyncMode{SyncCheckpoint, SyncWrite} {
			for run := range times(2, 200) {
				rng := rand.New(rand.NewPCG(seed, uint64(run)))
				c := &crasher{m: memfs.New(), rng: rng, random: 3, sealed: !opts.Plain, history: history{states: []content{{}}}}
				o := opts.with(sync).on(faultfs.FS{FS: c.m, Hook: c.hook})
				c.run(t, o, script(rng))
				for _, x := range c.crashes {
					crashes++
					x.check(t, c, opts, 2)
				}
			}
		}
	})
	t.Logf("%d crashes", crashes)
}

func (c *crasher) run(t *testing.T, opts Options, steps []string) {
	db := mustOpen(t, memPath, opts)
	for i, step := range steps {
		c.mu.Lock()
		c.step, c.armed = fmt.Sprintf("step %d, %s", i, step), true
		c.mu.Unlock()
		next := maps.Clone(c.history.last())
		switch step {
		case "put":
			k, v := c.key(), strings.Repeat(fmt.Sprint(i, " "), c.rng.IntN(200))
			put(t, db, k, v)
			next[id{1, k}] = v
		case "delete":
			k := c.key()
			_, err := db.Delete(ctx, 1, []byte(k))
			must(t, err)
			delete(next, id{1, k})
		case "update":
			in(t, db, func(tx *Tx) {
				for range 3 {
					k, v := c.key(), fmt.Sprint("update ", i)
					must(t, tx.Put(1, []byte(k), []byte(v)))
					next[id{1, k}] = v
				}
			})
		case "checkpoint":
			must(t, db.Checkpoint(ctx))
		case "compact":
			must(t, db.Compact(ctx))
		case "sync":
			must(t, db.Sync())
		case "backup":
			must(t, db.Backup(ctx, &strings.Builder{}))
		case "reopen":
			mustClose(t, db)
			db = mustOpen(t, memPath, opts)
		}
		c.acknowledge(step, next, opts.Sync)
	}
	c.armed = false
	mustClose(t, db)
}

func (c *crasher) key() string { return fmt.Sprint("k", c.rng.IntN(8)) }

// acknowledge notes a step that has returned.
func (c *crasher) acknowledge(step string, next content, sync SyncMode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	writes := step == "put" || step == "delete" || step == "update"
	if writes {
		c.history.states = append(c.history.states, next)
	}
	if step != "backup" && (!writes || sync == SyncWrite) {
		c.history.promised = len(c.history.states) - 1
	}
}

// check opens what a crash left, and crashes again on the way, so many times.
func (x crash) check(t *testing.T, c *crasher, opts Options, again int) {
	t.Helper()
	legal := x.states
	if x.hand < len(c.history.states) {
		legal = append(legal, c.history.states[x.hand])
	}
	if len(x.left.Kill().Names()) == 0 {
		return // before the store's name was durable there is none
	}
	var during []*memfs.FS
	hook := func(call faultfs.Call) error {
		if again > 0 && call.Op.Changes() && c.rng.IntN(2) == 0 {
			during = append(during, x.left.Synced())
		}
		return nil
	}
	db, err := Open(memPath, opts.on(faultfs.FS{FS: x.left, Hook: hook}))
	if err != nil {
		t.Fatalf("%s: %v", x.what, err)
	}
	defer db.Close()
	got := contentOf(t, db)
	if !slices.ContainsFunc(legal, got.equal) {
		t.Fatalf("%s: the store holds %v\nwant one of %v", x.what, got, legal)
	}
	wantSoundIndex(t, db)
	for _, left := range during {
		y := x
		y.left, y.what = left, x.what+", and again"
		y.check(t, c, opts, again-1)
	}
}
