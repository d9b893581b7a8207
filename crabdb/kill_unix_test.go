//go:build unix

package crabdb

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A process that is killed at any moment loses nothing that it acknowledged, in
// whatever sync mode, nor leaves half of a batch in a sealed file. The histories go
// on over the kills; a child that is killed before it has begun to write was
// recovering from the kill before.
func TestKillNine(t *testing.T) {
	eachCampaign(t, func(t *testing.T, opts Options, seed uint64) {
		c := newCampaign(t, newPath(t), opts, seed)
		n := count(t, "CRABDB_KILLS", 100, 3000)
		if opts.Plain {
			n = max(n/4, 1)
		}
		for range n {
			w := c.live(func(*witness) {})
			if c.rng.IntN(4) == 0 {
				c.recover(func() {})
			}
			if w.failed != nil {
				t.Fatalf("%s: the child failed: %v", c, w.failed)
			}
			c.verify(w, w.acknowledged(), c.rng.IntN(2) == 0)
		}
		if c.tails > 0 {
			t.Errorf("%d torn tails held whole records", c.tails)
		}
		t.Log(c)
	})
}

// eachCampaign runs a test in each format and sync mode; not at the same time, since
// a child that one is about to start holds for a moment, until it runs its program,
// the files, and the lock, that another is closing.
func eachCampaign(t *testing.T, test func(t *testing.T, opts Options, seed uint64)) {
	t.Helper()
	seed := newSeed(t)
	for format, plain := range map[string]bool{"sealed": false, "plain": true} {
		for i, mode := range []string{"SyncCheckpoint", "SyncInterval", "SyncWrite"} {
			t.Run(format+" "+mode, func(t *testing.T) {
				test(t, Options{Plain: plain, Sync: SyncMode(i)}, seed)
			})
		}
	}
}

// campaign is a store that lives through one child after another.
type campaign struct {
	t    *testing.T
	path string
	opts Options // its format and sync mode
	rng  *rand.Rand
	from int              // the number of the next operations
	held [writers]content // what each column holds
	back bool             // what was lost may be back, until something is acknowledged

	ends, opening, recoveries, acknowledged, lost, kept, tails int
}

func newCampaign(t *testing.T, path string, opts Options, seed uint64) *campaign {
	return &campaign{t: t, path: path, opts: opts, rng: rand.New(rand.NewPCG(seed, uint64(opts.Sync)))}
}

func (c *campaign) String() string {
	return fmt.Sprintf("%d ends, %d of them while opening, and %d more; %d operations acknowledged, %d of them lost; made durable %d times; %d torn tails with whole records",
		c.ends, c.opening, c.recoveries, c.acknowledged, c.lost, c.kept, c.tails)
}

// options are those of a child: quiet, or with compactions and checkpoints all the
// time, beside the writers or in their way.
func (c *campaign) options() Options {
	o := c.opts
	o.SyncEvery = time.Duration(1+c.rng.IntN(4)) * time.Millisecond
	o.CompactRatio, o.CheckpointEvery = -1, -1
	if busy := c.rng.IntN(4); busy > 0 {
		o.CompactRatio, o.CompactMin = 0.5, int64(2000+c.rng.IntN(60_000))
		o.CheckpointEvery = int64(1000 + c.rng.IntN(30_000))
		o.CompactInline = busy == 1
	}
	return o
}

// live lets a child write until a random moment, by the clock or by what it has
// acknowledged, and ends it. What is to be done to the machine first comes first.
// The clock starts before the child opens the store.
func (c *campaign) live(disaster func(w *witness)) *witness {
	c.t.Helper()
	encoded, err := json.Marshal(plan{c.options(), int64(1 + c.rng.IntN(100_000)), c.from})
	must(c.t, err)
	process := start(c.t)
	process.do("chdir", ".") // it is up
	w := &witness{from: c.from}
	ended := make(chan struct{})
	end := func() { disaster(w); process.cmd.Process.Kill(); close(ended) }
	_, err = fmt.Fprintf(process.in, "%q %q %q\n", "write", c.path, encoded)
	must(c.t, err)
	span := []int{2000, 10_000, 30_000, 60_000}[c.rng.IntN(4)]
	clock := time.AfterFunc(time.Duration(c.rng.IntN(span))*time.Microsecond, end)
	c.listen(w, process, 1+c.rng.IntN(3000), func() bool {
		sooner := clock.Stop()
		if sooner {
			end()
		}
		return sooner
	})
	<-ended
	process.kill()
	return w
}

// listen reads what a child writes until it is dead, and ends it after so many lines
// unless that has been done. Nothing else may end it, or make it fail before.
func (c *campaign) listen(w *witness, process *child, lines int, end func() bool) {
	c.t.Helper()
	for {
		line, err := process.out.ReadString('\n')
		if err == io.EOF && line == "" {
			if end() {
				c.t.Fatalf("%s: the child died", c)
			}
			return
		}
		must(c.t, err)
		must(c.t, w.hear(line))
		if w.failed != nil && end() {
			c.t.Fatalf("%s: the child failed: %v", c, w.failed)
		}
		if w.lines == lines {
			end()
		}
	}
}

// recover lets a child begin to open the store, and ends it.
func (c *campaign) recover(disaster func()) {
	c.t.Helper()
	process := start(c.t)
	process.do("chdir", ".")
	_, err := fmt.Fprintf(process.in, "%q %q\n", "open", c.path)
	must(c.t, err)
	<-time.After(time.Duration(c.rng.IntN(3000)) * time.Microsecond)
	disaster()
	process.kill()
	c.recoveries++
}

// verify wants the store to hold of each writer at least so many operations, whole
// and without a gap, and nothing else. The next child goes on from there; it is that
// child who recovers the store if it is but looked at here.
func (c *campaign) verify(w *witness, atLeast [writers]int, look bool) {
	c.t.Helper()
	opts := quiet()
	opts.Plain = c.opts.Plain
	if _, err := os.Stat(c.path); err == nil {
		opts.ReadOnly = look
	}
	db, err := Open(c.path, opts)
	must(c.t, err)
	defer db.Close()
	wantSound(c.t, db)
	columns := c.columns(contentOf(c.t, db))
	var at [writers]found
	back := c.back && w.acknowledged() == [writers]int{}
	for i, now := range columns {
		if back {
			break
		}
		var ok bool
		if at[i], ok = w.find(i, c.held[i], now, atLeast[i], db.Sealed()); !ok {
			c.t.Fatalf("%s: writer %d began %d operations from %d on, %d must be there, and there is %v\nfrom %v",
				c, i, len(w.begun[i]), w.from, atLeast[i], now, c.held[i])
		}
	}
	if !w.prefix(at) {
		c.t.Fatalf("%s: what is there is no prefix: %v", c, at)
	}
	if !opts.ReadOnly { // what was seen here is not to change any more
		must(c.t, db.Put(ctx, mark, nil, fmt.Append(nil, c.from)))
	}
	must(c.t, db.Close())
	c.note(w, at)
	c.held = columns
}

// mark is the column of who verifies.
const mark = 99

// columns takes the content apart. A key that is empty or has zeros in it is what a
// power loss made of the last one in a plain file.
func (c *campaign) columns(all content) (columns [writers]content) {
	for i := range columns {
		columns[i] = content{}
	}
	for k, v := range all {
		switch {
		case c.opts.Plain && (k.key == "" || strings.Contains(k.key, "\x00")):
		case k.col < writers:
			columns[k.col][k] = v
		case k.col != mark:
			c.t.Fatalf("%s: nobody wrote %v", c, k)
		}
	}
	return columns
}

func (c *campaign) note(w *witness, at [writers]found) {
	kept, err := filepath.Glob(c.path + tornSuffix + "*")
	must(c.t, err)
	for _, name := range kept {
		c.tails++
		must(c.t, os.Remove(name))
	}
	c.ends++
	c.kept += w.kept
	if w.lines == 0 {
		c.opening++
	}
	for i, done := range w.acknowledged() {
		c.acknowledged += done
		c.lost += max(0, done-at[i].missing)
		c.from = max(c.from, w.from+len(w.begun[i]))
	}
}
