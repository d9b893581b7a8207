package jsonkv

import (
	"bytes"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/frozen"
)

// paced is a disk on which something happens before each call.
type paced struct {
	disk
	before func()
}

func (p paced) Lstat(name string) (fs.FileInfo, error) { p.before(); return p.disk.Lstat(name) }
func (p paced) ReadDir(name string) ([]string, error)  { p.before(); return p.disk.ReadDir(name) }
func (p paced) ReadFile(name string) ([]byte, error)   { p.before(); return p.disk.ReadFile(name) }
func (p paced) Rename(from, to string) error           { p.before(); return p.disk.Rename(from, to) }
func (p paced) Remove(name string) error               { p.before(); return p.disk.Remove(name) }
func (p paced) SyncDir(name string) error              { p.before(); return p.disk.SyncDir(name) }

func (p paced) Create(name string, data []byte, mode fs.FileMode, modified time.Time) error {
	p.before()
	return p.disk.Create(name, data, mode, modified)
}

// moments is a history of transactions that each touch documents at random, also one
// alone, so that nothing but the documents tells when a state was.
type moments struct {
	mu           sync.Mutex
	states       []contents
	acknowledged int
}

// write makes so many transactions.
func (m *moments) write(s *Store, r *rand.Rand, transactions int) error {
	for n := 1; n <= transactions; n++ {
		next := maps.Clone(m.states[n-1])
		touched := []string{"local/session/a/meta", "local/session/b/meta", "local/session/c/meta", "local/rest"}
		r.Shuffle(len(touched), func(i, j int) { touched[i], touched[j] = touched[j], touched[i] })
		touched = touched[:1+r.IntN(len(touched))]
		gone := r.IntN(3)
		for i, key := range touched {
			next["session "+key] = "number " + strconv.Itoa(n)
			if i < gone {
				delete(next, "session "+key)
			}
		}
		m.mu.Lock()
		m.states = append(m.states, next)
		m.mu.Unlock()
		err := s.Update(ctx, func(tx kv.KVStorage) error {
			var err error
			for i, key := range touched {
				if i < gone {
					_, err = tx.Delete(ctx, kv.Session, []byte(key))
				} else {
					err = tx.Put(ctx, kv.Session, []byte(key), []byte("number "+strconv.Itoa(n)))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		m.mu.Lock()
		m.acknowledged = n
		m.mu.Unlock()
	}
	return nil
}

func (m *moments) least() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.acknowledged
}

// find returns which state somebody saw who began to look when so many transactions
// had been acknowledged, or -1.
func (m *moments) find(seen contents, least int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := least; n < len(m.states); n++ {
		if maps.Equal(seen, m.states[n]) {
			return n
		}
	}
	return -1
}

// A reader sees one moment, whatever the writer does between any two of its calls.
func TestReaderSeesOneMoment(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	d, m := newMemDisk(), &moments{states: []contents{{}}}
	calls, done, failure := make(chan bool), make(chan bool), error(nil)
	mustOpenOn(t, d, Options{})
	transactions := 3000
	if testing.Short() {
		transactions = 300
	}
	go func() {
		defer close(done)
		w, err := open(paced{d, func() { <-calls }}, "store", Options{})
		if err == nil {
			err = m.write(w, rand.New(rand.NewPCG(seed, 2)), transactions)
		}
		failure = err
	}()
	budget := 0 // of calls of the writer's while one reader reads, so that it comes to an end
	letWrite := func() {
		burst := min(budget, r.IntN(30))
		if r.IntN(2) == 0 {
			burst = 0
		}
		budget -= burst
		for range burst {
			select {
			case calls <- true:
			case <-done:
			}
		}
	}
	seen, over := map[int]bool{}, false
	for !over {
		select {
		case <-done:
			over = true
		default:
		}
		budget = 1 + r.IntN(60)
		least := m.least()
		got := contentsOf(t, mustOpenOn(t, paced{d, letWrite}, Options{ReadOnly: true}))
		n := m.find(got, least)
		if n < 0 {
			t.Fatalf("the reader saw %v, which never was since %d: %v", got, least, m.states[least:])
		}
		seen[n] = true
	}
	if failure != nil || len(seen) < transactions/20 {
		t.Errorf("%v; %d moments seen of %d", failure, len(seen), transactions)
	}
	t.Logf("%d moments seen", len(seen))
}

// film is a disk as it was before each call of somebody who wrote.
type film struct {
	disk
	frames []*memDisk
	at     int
}

func (f *film) now() disk { return f.frames[f.at] }

// take adds what is on a disk, whose files never change.
func (f *film) take(d *memDisk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	frame := newMemDisk()
	for name, entry := range d.root.live {
		if below, ok := entry.(*memDir); ok {
			entry = &memDir{live: maps.Clone(below.live)}
		}
		frame.root.live[name] = entry
	}
	f.frames = append(f.frames, frame)
}

// A reader sees one moment, wherever a writer gets on during two of its calls. What the
// writer does is what is hard to tell for who sees but files: a document comes with
// one change and goes with another.
func TestReaderSeesOneMomentOfAnyTwoSteps(t *testing.T) {
	put := func(key, value string) kv.Change {
		return kv.Change{Column: kv.Session, Key: []byte("local/" + key), Value: []byte(value)}
	}
	del := func(key string) kv.Change {
		return kv.Change{Column: kv.Session, Key: []byte("local/" + key), Delete: true}
	}
	for name, steps := range map[string][][]kv.Change{
		"comes and goes": {{put("session/n/m", "1"), put("rest", "2")}, {del("session/n/m"), put("session/x/m", "3")}},
		"goes and comes": {{del("session/x/m"), put("rest", "2")}, {put("session/x/m", "3"), put("session/y/m", "3")}},
		"alone":          {{put("session/x/m", "2")}, {put("rest", "3")}, {del("session/x/m")}, {put("session/y/m", "4")}},
		"all":            {{put("session/x/m", "2"), put("session/y/m", "2"), put("rest", "2")}, {del("session/x/m"), del("session/y/m"), put("rest", "3")}},
	} {
		t.Run(name, func(t *testing.T) {
			d, shot := newMemDisk(), &film{}
			w := mustOpenOn(t, paced{d, func() { shot.take(d) }}, Options{})
			write := func(changes ...kv.Change) {
				err := w.write(ctx, func(*frozen.Snapshot) ([]kv.Change, error) { return changes, nil })
				if err != nil {
					t.Fatal(err)
				}
			}
			write(put("session/x/m", "1"), put("session/y/m", "1"), put("rest", "1"))
			shot.frames = nil
			for _, changes := range steps {
				write(changes...)
			}
			shot.take(d)
			readAtAnyTwoSteps(t, shot)
		})
	}
}

func readAtAnyTwoSteps(t *testing.T, shot *film) {
	var was []map[string][]byte // what quiet readers see
	quiet := 0                  // calls
	for _, frame := range shot.frames {
		frame.calls = 0
		texts, _, _, err := readAll(frame)
		if err != nil {
			t.Fatal(err)
		}
		was, quiet = append(was, texts), max(quiet, frame.calls)
	}
	every := 5 // of all schedules
	if testing.Short() {
		every = 50
	}
	n, runs := rand.IntN(every), 0
	for from := range shot.frames {
		for to := from; to < len(shot.frames); to++ {
			for first := range quiet {
				for second := first + 1; second < 2*quiet; second++ {
					if n++; n%every == 0 {
						readAtTwoSteps(t, shot, was, [2]int{first, second}, [2]int{from, to})
						runs++
					}
				}
			}
		}
	}
	t.Logf("%d readings, of %d calls each, while a writer made %d", runs, quiet, len(shot.frames))
}

// readAtTwoSteps has the writer be, from each of two calls of the reader's on, where it
// was before a call of its own.
func readAtTwoSteps(t *testing.T, shot *film, was []map[string][]byte, at, frames [2]int) {
	t.Helper()
	shot.at = 0
	calls := 0
	texts, _, _, err := readAll(turning{shot, func() {
		if i := slices.Index(at[:], calls); i >= 0 {
			shot.at = frames[i]
		}
		calls++
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(was[:shot.at+1], func(m map[string][]byte) bool { return maps.EqualFunc(m, texts, bytes.Equal) }) {
		t.Fatalf("at its calls %v the writer had made %v calls: the reader saw %q", at, frames, texts)
	}
}

// turning shows a film to a reader.
type turning struct {
	*film
	before func()
}

func (p turning) Lstat(name string) (fs.FileInfo, error) { p.before(); return p.now().Lstat(name) }
func (p turning) ReadDir(name string) ([]string, error)  { p.before(); return p.now().ReadDir(name) }
func (p turning) ReadFile(name string) ([]byte, error)   { p.before(); return p.now().ReadFile(name) }
func (p turning) Same(a, b fs.FileInfo) bool             { return a == b }
