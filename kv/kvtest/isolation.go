package kvtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/crabstore/crabstore/kv"
)

func isolationPromises() []promise {
	return []promise{
		{name: "B01_CountersLoseNoUpdate", test: countersLoseNoUpdate, isolated: true},
		{name: "UpdatesThatMeetAreSerializable", test: updatesThatMeet, isolated: true},
		{name: "PutThatMeetsAnUpdateIsSerializable", test: putThatMeetsAnUpdate, isolated: true},
		{name: "NoWriteSkew", test: noWriteSkew, isolated: true},
		{name: "ReadersSeeWholeUpdates", test: readersSeeWholeUpdates, isolated: true},
		{name: "WaitingForTheTurnHonoursContext", test: waitingHonoursContext, isolated: true},
	}
}

// add adds n to the number under a key, as a transaction does: by reading it.
func add(ctx context.Context, tx kv.KVStorage, key string, n int) error {
	value, err := tx.Get(ctx, col, []byte(key))
	if err != nil {
		return err
	}
	was, err := strconv.Atoi(string(value))
	if err != nil {
		return err
	}
	runtime.Gosched() // let another come between
	return tx.Put(ctx, col, []byte(key), strconv.AppendInt(nil, int64(was+n), 10))
}

func countersLoseNoUpdate(f *fixture) {
	const writers, each = 50, 4
	f.put("n", "0")
	f.together(writers, func(int) error {
		for range each {
			if err := kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error { return add(f.ctx, tx, "n", 1) }); err != nil {
				return err
			}
		}
		return nil
	})
	f.wantValue("n", strconv.Itoa(writers*each))
}

// together runs fn in n goroutines and reports what they return.
func (f *fixture) together(n int, fn func(i int) error) {
	f.Helper()
	f.within(fmt.Sprintf("%d goroutines", n), func() {
		var group sync.WaitGroup
		for i := range n {
			group.Go(func() {
				if err := fn(i); err != nil {
					f.Errorf("goroutine %d: %v", i, err)
				}
			})
		}
		group.Wait()
	})
}

// meeting is where two transactions wait for each other between their reads and
// their writes. A store with one writer at a time never lets the second one come,
// so the first one leaves after a while.
type meeting struct {
	once  [2]sync.Once
	there [2]chan struct{}
}

func newMeeting() *meeting {
	return &meeting{there: [2]chan struct{}{make(chan struct{}), make(chan struct{})}}
}

// come announces that number i has come, and waits for the other.
func (m *meeting) come(i int) {
	m.once[i].Do(func() { close(m.there[i]) })
	limit := time.NewTimer(2 * time.Millisecond)
	defer limit.Stop()
	select {
	case <-m.there[1-i]:
	case <-limit.C:
	}
}

// updatesThatMeet has two updates read the same number before either writes it.
func updatesThatMeet(f *fixture) {
	f.put("n", "0")
	rounds := pick(50)
	for range rounds {
		m := newMeeting()
		f.together(2, func(i int) error {
			return kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
				if _, err := tx.Get(f.ctx, col, []byte("n")); err != nil {
					return err
				}
				m.come(i)
				return add(f.ctx, tx, "n", 1)
			})
		})
	}
	f.wantValue("n", strconv.Itoa(2*rounds))
}

// putThatMeetsAnUpdate has a plain Put fall between an update's read and its
// write: it comes before all of the update or behind all of it.
func putThatMeetsAnUpdate(f *fixture) {
	for range pick(50) {
		f.put("n", "0")
		m := newMeeting()
		f.together(2, func(i int) error {
			if i == 0 {
				m.come(0)
				return f.store.Put(f.ctx, col, []byte("n"), []byte("100"))
			}
			return kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
				value, err := tx.Get(f.ctx, col, []byte("n"))
				if err != nil {
					return err
				}
				was, err := strconv.Atoi(string(value))
				if err != nil {
					return err
				}
				m.come(1)
				return tx.Put(f.ctx, col, []byte("n"), strconv.AppendInt(nil, int64(was+1), 10))
			})
		})
		if got := f.get("n"); got != "101" && got != "100" {
			f.Fatalf("a Put of 100 and an Update that adds 1 to 0 made %s; in either order it is 101 or 100", got)
		}
	}
}

// noWriteSkew has two updates that each read two switches, of which one has to
// stay on, and each turn off its own when both are on. By keys the two write
// nothing in common: only a store that knows what they read keeps one on. The
// switches are read by Get in one half of the rounds and by a scan in the other.
func noWriteSkew(f *fixture) {
	switches := []string{"switch/0", "switch/1"}
	for round := range pick(50) {
		for _, key := range switches {
			f.put(key, "on")
		}
		m := newMeeting()
		f.together(2, func(i int) error {
			return kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
				on, err := countOn(f.ctx, tx, switches, round%2 == 0)
				if err != nil {
					return err
				}
				m.come(i)
				if on < 2 {
					return nil
				}
				return tx.Put(f.ctx, col, []byte(switches[i]), []byte("off"))
			})
		})
		if on, err := countOn(f.ctx, f.store, switches, true); on != 1 || err != nil {
			f.Fatalf("%d switches are on, %v; want 1: each update turned off its own when it saw both on", on, err)
		}
	}
}

func countOn(ctx context.Context, s kv.KVStorage, keys []string, byGet bool) (on int, err error) {
	if !byGet {
		for e, err := range s.Scan(ctx, col, []byte("switch/")) {
			if err != nil {
				return 0, err
			}
			if string(e.Value) == "on" {
				on++
			}
		}
		return on, nil
	}
	for _, key := range keys {
		value, err := s.Get(ctx, col, []byte(key))
		if err != nil {
			return 0, err
		}
		if string(value) == "on" {
			on++
		}
	}
	return on, nil
}

// waitingHonoursContext has writers come while an update is under way, each with
// a context that ends before it does. A store on which they do not wait lets them
// succeed.
func waitingHonoursContext(f *fixture) {
	begun, end := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(end) })
	defer release()
	holder := make(chan error, 1)
	var once sync.Once
	go func() {
		holder <- kv.Update(f.ctx, f.store, func(tx kv.KVStorage) error {
			once.Do(func() { close(begun) })
			<-end
			return tx.Put(f.ctx, col, []byte("holder"), nil)
		})
	}()
	f.wait(begun, "Update")
	want := []string{"holder"}
	f.within("waiting for the turn with a context that ends", func() {
		for name, write := range writesOf(f.store) {
			ctx, cancel := context.WithTimeout(f.ctx, 20*time.Millisecond)
			err := write(ctx, name)
			cancel()
			switch {
			case err == nil:
				want = append(want, name)
			case !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, kv.ErrBusy):
				f.Errorf("%s that waits: %v; want the error of the context", name, err)
			}
		}
	})
	release()
	f.must(<-holder, "the Update that the others waited for")
	for name, write := range writesOf(f.store) {
		f.must(write(f.ctx, "then "+name), "%s when the turn is free", name)
		want = append(want, "then "+name)
	}
	f.wantSet(want)
}

// writesOf returns the ways of putting a key, by name.
func writesOf(s kv.KVStorage) map[string]func(ctx context.Context, key string) error {
	return map[string]func(ctx context.Context, key string) error{
		"Put": func(ctx context.Context, key string) error { return s.Put(ctx, col, []byte(key), nil) },
		"Update": func(ctx context.Context, key string) error {
			return kv.Update(ctx, s, func(tx kv.KVStorage) error { return tx.Put(ctx, col, []byte(key), nil) })
		},
	}
}
