package crashtest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/crabdb/crashdisk"
	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/crabkv"
)

// history is a store on a disk, and what a crash may leave of it.
type history struct {
	subject *Subject
	opts    crabdb.Options
	rng     *rand.Rand // of the steps
	looks   *rand.Rand // of what is asked after a crash
	store   *recorded
	checked int
	sound   map[uint64]bool // the states that were

	mu     sync.Mutex // for what follows, since engines work in the background too
	disk   *crashdisk.Disk
	dice   *rand.Rand
	step   string                                         // at hand
	take   func(losses []crashdisk.Loss) []crashdisk.Loss // of those that a crash at a call can be
	states []uint64                                       // the sums of the store after each commit; the first is where the history begins
	oldest int                                            // of the states that a power loss may leave
	ghosts []uint64                                       // states that the last crash took; see crabdb.history
	found  []crash
}

// crash is a disk as a crash left it.
type crash struct {
	what   string
	disk   *crashdisk.Disk
	oldest int // of the states that may be found
	hand   int // the state that the commit at hand makes; there may be none
	ghosts []uint64
}

func newHistory(subject *Subject, opts crabdb.Options, seed, run uint64) (*history, error) {
	h := &history{
		subject: subject, opts: opts, disk: crashdisk.New(),
		rng:   rand.New(rand.NewPCG(seed, run)),
		looks: rand.New(rand.NewPCG(seed, run+1<<34)),
		dice:  rand.New(rand.NewPCG(seed, run+1<<32)),
		sound: map[uint64]bool{},
		take:  func(all []crashdisk.Loss) []crashdisk.Loss { return all },
	}
	if err := h.open(); err != nil {
		return nil, err
	}
	h.states = []uint64{h.store.sum()}
	h.disk.Watch(h.call)
	return h, nil
}

// recorded is a store that tells its history of each commit.
type recorded struct {
	*crabkv.Store
	history *history
}

func (r *recorded) Update(ctx context.Context, fn func(tx kv.KVStorage) error) error {
	return r.committed(r.Store.Update(ctx, fn))
}

func (r *recorded) Put(ctx context.Context, col kv.Column, key, value []byte) error {
	return r.committed(r.Store.Put(ctx, col, key, value))
}

func (r *recorded) Delete(ctx context.Context, col kv.Column, key []byte) (bool, error) {
	existed, err := r.Store.Delete(ctx, col, key)
	return existed, r.committed(err)
}

func (r *recorded) committed(err error) error {
	if err != nil || r.history.opts.Plain {
		return err
	}
	h, sum := r.history, r.sum()
	h.mu.Lock()
	defer h.mu.Unlock()
	if sum != h.states[len(h.states)-1] {
		h.ghosts = nil
	}
	h.states = append(h.states, sum)
	if h.opts.Sync == crabdb.SyncWrite {
		h.oldest = len(h.states) - 1
	}
	return nil
}

var sumSeed = maphash.MakeSeed()

// sum is that of all the store holds.
func (r *recorded) sum() uint64 {
	var m maphash.Hash
	m.SetSeed(sumSeed)
	for _, col := range kv.Columns() {
		for e, err := range r.Scan(context.Background(), col, nil) {
			if err != nil {
				panic(err) // run makes an error of it
			}
			m.Write(binary.LittleEndian.AppendUint32([]byte{byte(col)}, uint32(len(e.Key))))
			m.Write(e.Key)
			m.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(e.Value))))
			m.Write(e.Value)
		}
	}
	return m.Sum64()
}

// open opens the store as another process.
func (h *history) open() error {
	db, err := h.disk.Open(h.opts)
	if err != nil {
		return err
	}
	h.store = &recorded{crabkv.New(db, kv.DefaultRealm), h}
	return nil
}

// reopen opens a store of which nothing can be lost.
func (h *history) reopen() error {
	if err := h.open(); err != nil {
		return err
	}
	if !h.opts.Plain && h.store.sum() != h.states[len(h.states)-1] {
		return errors.New("the store is not as it was")
	}
	return nil
}

// call comes before each call that changes the disk.
func (h *history) call(call string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.take(h.disk.Losses(h.dice, h.opts.Plain)) {
		h.found = append(h.found, h.crash("before "+call, l))
	}
}

func (h *history) crash(when string, l crashdisk.Loss) crash {
	oldest := h.oldest
	if l.Killed {
		oldest = len(h.states) - 1
	}
	return crash{fmt.Sprintf("%s, %s, %s", h.step, l.How, when), l.Disk(), oldest, len(h.states), h.ghosts}
}

// engine are the steps that are the store's own.
var engine = []string{"checkpoint", "compact", "sync", "reopen", "kill", "lose power"}

// run does a step, and looks at what crashes during it would have left.
func (h *history) run(name string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v\n%s", name, p, debug.Stack())
		}
	}()
	h.begin(name)
	if s := h.subject.step(name); s != nil {
		err = s.Do(h.store, h.rng)
	} else {
		err = h.runEngine(name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return h.check()
}

func (h *history) begin(step string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.step = step
}

func (h *history) runEngine(name string) error {
	ctx := context.Background()
	switch name {
	case "checkpoint":
		return h.synced(h.store.Checkpoint(ctx))
	case "compact":
		return h.synced(h.store.Compact(ctx))
	case "sync":
		return h.synced(h.store.DB().Sync())
	case "reopen":
		if err := h.synced(h.store.Close()); err != nil {
			return err
		}
		return h.reopen()
	case "kill":
		h.disk.Kill()
		h.store.Close() // for its goroutines
		return h.reopen()
	case "lose power":
		return h.losePower()
	}
	return errors.New("there is no such step")
}

// synced notes that no state before this one may be found any longer.
func (h *history) synced(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.oldest = len(h.states) - 1
	return err
}

// losePower goes on with what a crash leaves.
func (h *history) losePower() error {
	h.mu.Lock()
	losses := h.disk.Losses(h.dice, h.opts.Plain)
	left := h.crash("at rest", losses[h.dice.IntN(len(losses))])
	h.mu.Unlock()
	h.disk.Watch(nil)
	h.store.Close() // for its goroutines; its disk is another
	if err := h.check(); err != nil {
		return err // what crashes before had left, by what the history was
	}
	h.disk = left.disk
	if err := h.open(); err != nil {
		return err
	}
	legal := h.legal(left)
	if err := h.look(h.store, left); err != nil {
		return fmt.Errorf("%s: %w", left.what, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states, h.oldest, h.ghosts = []uint64{h.store.sum()}, 0, legal
	h.disk.Watch(h.call)
	return nil
}

// check looks at all that crashes have left.
func (h *history) check() error {
	h.mu.Lock()
	found := h.found
	h.found = nil
	h.mu.Unlock()
	for _, x := range found {
		if err := h.recover(x); err != nil {
			return fmt.Errorf("%s: %w", x.what, err)
		}
	}
	return nil
}

// recover opens what a crash left, and goes on with it for a little.
func (h *history) recover(x crash) error {
	if x.disk.Empty() {
		return nil // before the store's name was durable there is none
	}
	db, err := x.disk.Open(crabdb.Options{Plain: h.opts.Plain})
	if err != nil {
		return err
	}
	s := &recorded{crabkv.New(db, kv.DefaultRealm), h}
	defer s.Close()
	if err := h.look(s, x); err != nil {
		return err
	}
	if h.looks.IntN(12) > 0 {
		return nil
	}
	for range 2 {
		step := h.subject.any(h.looks)
		if err := step.Do(s.Store, h.looks); err != nil {
			return fmt.Errorf("going on with %s: %w", step.Name, err)
		}
	}
	if err := h.subject.Sound(s.Store, h.looks); err != nil {
		return fmt.Errorf("having gone on: %w", err)
	}
	return nil
}

// look wants a store to hold what a crash may leave, and makes it sound where the
// format does not keep it so.
func (h *history) look(s *recorded, x crash) error {
	h.checked++
	if h.opts.Plain {
		if err := h.subject.Bear(s.Store, h.looks); err != nil {
			return err
		}
		if err := h.subject.Repair(s.Store); err != nil {
			return fmt.Errorf("repair: %w", err)
		}
		return h.subject.Sound(s.Store, h.looks)
	}
	sum := s.sum()
	if !slices.Contains(h.legal(x), sum) {
		return errors.New("the store is not as it was after any commit that may be the last one")
	}
	if h.sound[sum] && h.looks.IntN(8) > 0 {
		return nil
	}
	h.sound[sum] = true
	return h.subject.Sound(s.Store, h.looks)
}

// legal returns the states that a crash may leave.
func (h *history) legal(x crash) []uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Concat(h.states[x.oldest:min(x.hand+1, len(h.states))], x.ghosts)
}

// close ends the history.
func (h *history) close() error {
	h.begin("close")
	return errors.Join(h.store.Close(), h.check())
}
