//go:build unix

package crabdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
)

// The tests that end a process, or the power, in the middle of its work share these
// writers. They run in a child process and write a line to a pipe before and after
// each operation. Whoever reads the pipe knows what each operation does, since its
// writer and its number say so, and therefore what the store may hold.

// writers is how many there are. Each has a column of its own, of its number. The
// keeper makes what is written safe from a power loss, and speaks of that under the
// number behind theirs.
const (
	writers = 4
	keeper  = writers
)

// plan is what a child is to do. It goes to the child as JSON.
type plan struct {
	Options Options
	Space   int64 // what is appended before space is reserved
	From    int   // the number of the first operation of each writer
}

// edit is a put or a delete.
type edit struct {
	key, value string
	remove     bool
}

// operation returns what an operation does: an Update if there are several edits.
// Values tell their operation, so that no two states look alike but those before and
// after the delete of an absent key.
func operation(writer, number int) []edit {
	rng := rand.New(rand.NewPCG(uint64(writer), uint64(number)))
	edits := make([]edit, 1)
	if rng.IntN(4) == 0 {
		edits = make([]edit, 2+rng.IntN(4))
	}
	for i := range edits {
		e := edit{key: fmt.Sprint("k", rng.IntN(12)), remove: rng.IntN(4) == 0}
		if !e.remove {
			repeat := 1 + rng.IntN(20)
			if rng.IntN(8) == 0 {
				repeat *= 60 // some pages
			}
			e.value = strings.Repeat(fmt.Sprintf("%d.%d.%d ", writer, number, i), repeat)
		}
		edits[i] = e
	}
	return edits
}

// crew is the writers and the keeper at work.
type crew struct {
	plan
	db    *DB
	out   io.Writer
	wrote chan struct{} // a token when there was an operation
}

// runWriters does what a plan says until something fails, or the process is killed.
func runWriters(path, encoded string, out io.Writer) error {
	c := &crew{out: out, wrote: make(chan struct{}, 1)}
	if err := json.Unmarshal([]byte(encoded), &c.plan); err != nil {
		return err
	}
	c.Options.leastSpace = c.Space
	var err error
	if c.db, err = Open(path, c.Options); err != nil {
		return err
	}
	failed := make(chan error, writers+1)
	for w := range writers {
		go func() { failed <- c.write(w) }()
	}
	go func() { failed <- c.keep() }()
	return <-failed
}

// tell writes one line, in one call, so that it is in the pipe whole or not at all.
func (c *crew) tell(word string, who, number int) error {
	_, err := fmt.Fprintf(c.out, "%s %d %d\n", word, who, number)
	return err
}

func (c *crew) write(writer int) error {
	for n := c.From; ; n++ {
		err := c.tell("begin", writer, n)
		if err == nil {
			err = c.perform(writer, operation(writer, n))
		}
		if err == nil {
			err = c.tell("done", writer, n)
		}
		if err != nil {
			return fmt.Errorf("writer %d, operation %d: %w", writer, n, err)
		}
		select {
		case c.wrote <- struct{}{}:
		default:
		}
	}
}

func (c *crew) perform(writer int, edits []edit) error {
	col := byte(writer)
	switch e := edits[0]; {
	case len(edits) > 1:
		return c.db.Update(ctx, func(tx *Tx) error {
			for _, e := range edits {
				if err := e.in(tx, col); err != nil {
					return err
				}
			}
			return nil
		})
	case e.remove:
		_, err := c.db.Delete(ctx, col, []byte(e.key))
		return err
	default:
		return c.db.Put(ctx, col, []byte(e.key), []byte(e.value))
	}
}

func (e edit) in(tx *Tx, col byte) error {
	if !e.remove {
		return tx.Put(col, []byte(e.key), []byte(e.value))
	}
	_, err := tx.Delete(col, []byte(e.key))
	return err
}

// keep makes the store durable again and again, one way or another, at distances
// that grow and shrink.
func (c *crew) keep() error {
	rng := rand.New(rand.NewPCG(keeper, uint64(c.From)))
	for n := 0; ; n++ {
		for range 1 + rng.IntN(60) {
			<-c.wrote
		}
		err := c.tell("begin", keeper, n)
		if err == nil {
			err = c.settle(rng.IntN(8))
		}
		if err == nil {
			err = c.tell("done", keeper, n)
		}
		if err != nil {
			return fmt.Errorf("keeper: %w", err)
		}
	}
}

func (c *crew) settle(how int) error {
	switch {
	case how == 0:
		return c.db.Compact(ctx)
	case how <= 2:
		return c.db.Checkpoint(ctx)
	case c.Options.Sync == SyncInterval:
		awaitSync(c.db)
		return nil
	default:
		return c.db.Sync()
	}
}

// awaitSync waits until the store has synced, of its own accord, what is in it now.
func awaitSync(db *DB) {
	db.treeMu.Lock()
	log := db.log
	db.treeMu.Unlock()
	end := log.end.Load()
	s := &db.syncer
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.log == log && s.durable < end {
		s.cond.Wait()
	}
}

// witness is what the lines of one child tell.
type witness struct {
	from int

	mu       sync.Mutex
	lines    int
	begun    [writers][]int // at which line each operation began, from from on
	done     [writers][]int // and at which it was acknowledged
	keeping  [writers]int   // how many were done when the keeper began
	promised [writers]int   // and when the keeper began what it has ended since
	kept     int            // how often the keeper ended
	failed   error
}

// hear takes a line of the child.
func (w *witness) hear(line string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var word string
	var who, number int
	if strings.HasPrefix(line, "error ") {
		w.failed = errors.New(line)
		return nil
	}
	if n, err := fmt.Sscanf(line, "%s %d %d\n", &word, &who, &number); n != 3 || err != nil || who > keeper {
		return fmt.Errorf("the child wrote %q", line)
	}
	w.lines++
	switch {
	case who == keeper && word == "begin":
		w.keeping = w.acknowledged()
	case who == keeper:
		w.promised = w.keeping
		w.kept++
	case word == "begin":
		w.begun[who] = append(w.begun[who], w.lines)
	default:
		w.done[who] = append(w.done[who], w.lines)
	}
	return nil
}

// promise returns how many operations of each writer are safe from a power loss,
// by what has been heard by now.
func (w *witness) promise(sync SyncMode) [writers]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if sync == SyncWrite {
		return w.acknowledged()
	}
	return w.promised
}

// acknowledged returns how many operations of each writer were.
func (w *witness) acknowledged() (n [writers]int) {
	for i := range n {
		n[i] = len(w.done[i])
	}
	return n
}

// found is where in a writer's history a state of its column can be. In a plain
// file part of an operation may be there, which then counts as present and as missing.
type found struct {
	present int // so many operations, at least, have left something
	missing int // all from this one on, at least, have not left all
}

// find looks for a column's state among those that lead from an earlier one, with at
// least so many operations in it.
func (w *witness) find(writer int, before, now content, atLeast int, whole bool) (found, bool) {
	f, ok := found{}, false
	see := func(present, missing int) {
		if !ok {
			f.present = present
		}
		f.missing, ok = missing, true
	}
	state := content{}
	for k, v := range before {
		state[k] = v
	}
	if atLeast == 0 && alike(state, now, whole) {
		see(0, 0)
	}
	for i := range w.begun[writer] {
		edits := operation(writer, w.from+i)
		for j, e := range edits {
			state.apply(writer, e)
			switch last := j == len(edits)-1; {
			case last && i+1 >= atLeast && alike(state, now, whole):
				see(i+1, i+1)
			case !last && !whole && i >= atLeast && alike(state, now, whole):
				see(i+1, i)
			}
		}
	}
	return f, ok
}

// alike tells whether a column holds what it ought to. In a plain file a power loss
// may leave zeros in the last of what was not yet promised, which go unseen: such a
// value begins as the right one does.
func alike(want, got content, sealed bool) bool {
	if sealed {
		return want.equal(got)
	}
	for k, v := range got {
		right, ok := want[k]
		begin := strings.TrimRight(v, "\x00")
		if !ok || v != right && (begin == v && v != "" || !strings.HasPrefix(right, begin)) {
			return false
		}
	}
	return len(got) == len(want)
}

func (c content) apply(writer int, e edit) {
	if e.remove {
		delete(c, id{byte(writer), e.key})
	} else {
		c[id{byte(writer), e.key}] = e.value
	}
}

// prefix tells whether there is no operation that began after another, which is
// missing, had been acknowledged.
func (w *witness) prefix(at [writers]found) bool {
	present, missing := 0, w.lines+1
	for i, f := range at {
		if f.present > 0 {
			present = max(present, w.begun[i][f.present-1])
		}
		if f.missing < len(w.done[i]) {
			missing = min(missing, w.done[i][f.missing])
		}
	}
	return present < missing
}
