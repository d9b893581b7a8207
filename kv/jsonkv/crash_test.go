package jsonkv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/kv"
)

var ctx = context.Background()

// contents is all that a store holds, by column and key.
type contents map[string]string

func contentsOf(t testing.TB, s kv.KVStorage) contents {
	t.Helper()
	all := contents{}
	for _, col := range kv.Columns() {
		for e, err := range s.Scan(ctx, col, nil) {
			if err != nil {
				t.Fatal(err)
			}
			all[col.String()+" "+string(e.Key)] = string(e.Value)
		}
	}
	return all
}

func mustOpenOn(t testing.TB, d disk, o Options) *Store {
	t.Helper()
	s, err := open(d, "store", o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t testing.TB, s kv.KVStorage, col kv.Column, key, value string) {
	t.Helper()
	if err := s.Put(ctx, col, []byte(key), []byte(value)); err != nil {
		t.Fatal(err)
	}
}

// transaction is one that a crash test makes: from what it is made, and what it does.
type transaction struct {
	name   string
	before func(t testing.TB, s kv.KVStorage)
	do     func(tx kv.KVStorage) error
}

func transactions() []transaction {
	all := func(errs ...error) error { return errors.Join(errs...) }
	set := func(tx kv.KVStorage, col kv.Column, key, value string) error {
		return tx.Put(ctx, col, []byte(key), []byte(value))
	}
	remove := func(tx kv.KVStorage, key string) error {
		_, err := tx.Delete(ctx, kv.Session, []byte(key))
		return err
	}
	before := func(t testing.TB, s kv.KVStorage) {
		put(t, s, kv.Session, "local/session/a/meta", "a1")
		put(t, s, kv.Session, "local/session/b/meta", "b1")
		put(t, s, kv.Session, "local/idx/sess/a", "a")
		put(t, s, kv.Memory, "local/memory/m", "m1")
	}
	return []transaction{
		{"three documents", before, func(tx kv.KVStorage) error {
			return all(set(tx, kv.Session, "local/session/a/meta", "a2"), set(tx, kv.Session, "local/session/b/meta", "b2"),
				set(tx, kv.Memory, "local/memory/m", "m2"))
		}},
		{"one replaced, one new, one removed, and the rest", before, func(tx kv.KVStorage) error {
			return all(set(tx, kv.Session, "local/session/a/meta", "a2"), set(tx, kv.Session, "local/session/c/meta", "c2"),
				remove(tx, "local/session/b/meta"), set(tx, kv.Memory, "local/memory/m", "m2"))
		}},
		{"two removed", before, func(tx kv.KVStorage) error {
			return all(remove(tx, "local/session/a/meta"), remove(tx, "local/session/b/meta"))
		}},
		{"one document", before, func(tx kv.KVStorage) error { return set(tx, kv.Session, "local/session/a/meta", "a2") }},
		{"one new", before, func(tx kv.KVStorage) error { return set(tx, kv.Session, "local/session/c/meta", "c2") }},
		{"one removed", before, func(tx kv.KVStorage) error { return remove(tx, "local/session/a/meta") }},
		{"one that a commit before removed", func(t testing.TB, s kv.KVStorage) {
			before(t, s)
			err := kv.Update(ctx, s, func(tx kv.KVStorage) error {
				return all(set(tx, kv.Session, "local/session/a/meta", "a2"), remove(tx, "local/session/b/meta"))
			})
			if err != nil {
				t.Fatal(err)
			}
		}, func(tx kv.KVStorage) error { return set(tx, kv.Session, "local/session/b/meta", "b3") }},
		{"the rest", before, func(tx kv.KVStorage) error { return set(tx, kv.Memory, "local/memory/m", "m2") }},
	}
}

// begin makes the store on which a transaction is tried.
func (x transaction) begin(t testing.TB) (d *memDisk, s *Store, before, after contents) {
	t.Helper()
	d = newMemDisk()
	s = mustOpenOn(t, d, Options{})
	x.before(t, s)
	before = contentsOf(t, s)
	err := s.Update(ctx, func(tx kv.KVStorage) error {
		if err := x.do(tx); err != nil {
			return err
		}
		after = contentsOf(t, tx)
		return errInjected
	})
	if err != errInjected || maps.Equal(before, after) {
		t.Fatalf("%v: %v", err, after)
	}
	return d, s, before, after
}

// A process that is killed at any call of the file system, or a machine that loses
// power there, leaves all of a transaction or nothing, and all if it was
// acknowledged. A reader sees it before anybody has tidied up, and tidying up that is
// cut short, at any call too, changes nothing of that.
func TestCrashAtEveryCall(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, x := range transactions() {
		for _, power := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, power lost %v", x.name, power), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				rounds, olds, news := 1, 0, 0
				if power {
					rounds = 5
				}
				for call, over := 1, false; !over; call++ {
					for range rounds {
						d, s, before, after := x.begin(t)
						d.failAt(call, true)
						err := s.Update(ctx, x.do)
						over = d.calls < call
						d.failAt(0, false)
						if power {
							d.root.losePower(r)
						}
						got := afterCrash(t, d, r, power)
						switch {
						case maps.Equal(got, after):
							news++
						case maps.Equal(got, before) && err != nil:
							olds++
						default:
							t.Fatalf("killed at call %d, the update returned %v: the store holds %v, want %v or %v", call, err, got, before, after)
						}
					}
				}
				if olds == 0 || news == 0 {
					t.Errorf("%d times nothing, %d times all", olds, news)
				}
			})
		}
	}
}

// afterCrash returns what a store holds after a crash, which it has to go on holding.
func afterCrash(t testing.TB, d *memDisk, r *rand.Rand, power bool) contents {
	t.Helper()
	want := contentsOf(t, mustOpenOn(t, d, Options{ReadOnly: true}))
	for call, over := 1, false; !over; call++ {
		d.failAt(call, true)
		_, err := open(d, "store", Options{})
		over = d.calls < call
		d.failAt(0, false)
		if over != (err == nil) {
			t.Fatalf("opening, killed at call %d: %v", call, err)
		}
		if power && !over { // what was tidied away may come back
			d.root.losePower(r)
		}
		if got := contentsOf(t, mustOpenOn(t, d, Options{ReadOnly: true})); !maps.Equal(got, want) {
			t.Fatalf("opening, killed at call %d, made %v of %v", call, got, want)
		}
	}
	for _, dir := range []string{".", sessionsDir} {
		names, err := d.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if isNew(name) || name == commitName {
				t.Fatalf("%s is left behind in %s", name, dir)
			}
		}
	}
	return want
}

// A call of the file system that fails, be it any, fails the transaction: nothing of
// it is there and the next one succeeds, or the store says that it does not know, and
// knows when it is opened again.
func TestFailureAtEveryCall(t *testing.T) {
	for _, x := range transactions() {
		t.Run(x.name, func(t *testing.T) {
			refused, poisoned := 0, 0
			for call := 1; ; call++ {
				d, s, before, after := x.begin(t)
				d.failAt(call, false)
				err := s.Update(ctx, x.do)
				over := d.calls < call
				d.failAt(0, false)
				if over {
					break
				}
				again := s.Update(ctx, x.do)
				got := contentsOf(t, mustOpenOn(t, d, Options{ReadOnly: true}))
				switch {
				case err == nil: // a stale file that could not be removed, at most
				case errors.Is(err, ErrPoisoned):
					poisoned++
					if !errors.Is(err, errInjected) || !errors.Is(again, ErrPoisoned) || !maps.Equal(contentsOf(t, s), before) {
						t.Fatalf("call %d: %v, then %v", call, err, again)
					}
					if !maps.Equal(got, before) && !maps.Equal(got, after) {
						t.Fatalf("call %d: the store holds %v", call, got)
					}
					continue
				case errors.Is(err, errInjected):
					refused++
				default:
					t.Fatalf("call %d: %v", call, err)
				}
				if again != nil || !maps.Equal(got, after) || !maps.Equal(contentsOf(t, s), after) {
					t.Fatalf("call %d: %v, then %v, and the store holds %v", call, err, again, got)
				}
			}
			if refused == 0 || poisoned == 0 {
				t.Errorf("refused %d times, poisoned %d times", refused, poisoned)
			}
		})
	}
}

// A store that is being made when the process is killed can be made again.
func TestCrashAtEveryCallOfCreating(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for call, over := 1, false; !over; call++ {
		d := newMemDisk()
		d.failAt(call, true)
		_, err := open(d, "store", Options{})
		over = d.calls < call
		d.failAt(0, false)
		d.root.losePower(r)
		if over != (err == nil) {
			t.Fatalf("call %d: %v", call, err)
		}
		s := mustOpenOn(t, d, Options{})
		put(t, s, kv.Session, "local/session/a/meta", "a")
		if got := contentsOf(t, mustOpenOn(t, d, Options{})); len(got) != 1 {
			t.Fatalf("call %d: %v", call, got)
		}
	}
}

// Those who wait for the same writing fail together, and so does who decided upon
// what could not be written.
func TestFailureOfWritesThatComeTogether(t *testing.T) {
	d := newMemDisk()
	s := mustOpenOn(t, d, Options{})
	put(t, s, kv.Memory, "n", "0")
	s.writing.Lock() // so that what is written gathers
	results := make(chan error)
	write := func(fn func(tx kv.KVStorage) error) {
		go func() { results <- s.Update(ctx, fn) }()
	}
	gathered := func(key string) {
		for {
			next, _ := s.queue.begin()
			if _, ok := next.entries.Get("\x02" + key); ok {
				return
			}
			runtime.Gosched()
		}
	}
	write(func(tx kv.KVStorage) error { return tx.Put(ctx, kv.Memory, []byte("a"), nil) })
	gathered("a")
	write(func(tx kv.KVStorage) error { return tx.Put(ctx, kv.Memory, []byte("b"), nil) })
	gathered("b")
	decided, failed := make(chan bool), make(chan bool)
	write(func(tx kv.KVStorage) error {
		if _, err := tx.Get(ctx, kv.Memory, []byte("a")); err != nil {
			return err
		}
		close(decided)
		<-failed
		return tx.Put(ctx, kv.Memory, []byte("c"), nil)
	})
	<-decided
	d.failAt(1, false)
	s.writing.Unlock()
	for range 2 {
		if err := <-results; !errors.Is(err, errInjected) {
			t.Errorf("one of two that came together: %v", err)
		}
	}
	d.failAt(0, false)
	close(failed)
	if err := <-results; !errors.Is(err, errInjected) {
		t.Errorf("decided upon what was not written: %v", err)
	}
	put(t, s, kv.Memory, "d", "")
	got := contentsOf(t, mustOpenOn(t, d, Options{ReadOnly: true}))
	if len(got) != 2 || !maps.Equal(got, contentsOf(t, s)) || !strings.Contains(fmt.Sprint(got), "memory d") {
		t.Errorf("the store holds %v", got)
	}
}
