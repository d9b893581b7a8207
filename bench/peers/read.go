package main

import (
	"errors"
	"fmt"
	"hash/crc64"
	"math/rand/v2"
	"sync"
	"time"
)

// read opens a store that was closed cleanly, and measures memory and all kinds
// of reading. Every key is read once before, so that caches are warm.
func (s *stage) read() error {
	before, err := memoryNow()
	if err != nil {
		return err
	}
	db, took, err := s.openTimed()
	if err != nil {
		return err
	}
	s.figure("open", inMilliseconds(took))
	return errors.Join(s.readOpen(db, before), db.close())
}

func (s *stage) readOpen(db store, before memory) error {
	if err := s.memory("opened", before); err != nil {
		return err
	}
	a, err := s.gets(db, s.keys, s.scattered)
	if err != nil {
		return err
	}
	s.answer("all", a.answer)
	if err := s.memory("used", before); err != nil {
		return err
	}
	for _, line := range []struct {
		group   string
		measure func(store) error
	}{
		{"get", s.get},
		{"get", s.getBoth},
		{"absent", s.absent},
		{"scan", s.scanSessions},
		{"full", s.scanAll},
	} {
		if s.wants(line.group) {
			if err := line.measure(db); err != nil {
				return err
			}
		}
	}
	return nil
}

// memory records what a store takes more than the process took before, in MiB.
func (s *stage) memory(id string, before memory) error {
	now, err := memoryNow()
	s.figure("anonymous-"+id, inMiB(max(0, now.anonymous-before.anonymous)))
	s.figure("mapped-"+id, inMiB(max(0, now.mapped-before.mapped)))
	return err
}

// got is what getting many keys gave, and how long it took.
type got struct {
	answer
	stopwatch
}

func (s *stage) gets(db store, n int, index func(int) int) (got, error) {
	var g got
	var buf []byte
	watch, err := s.chunks(n, chunkSize, 0, index, func(part []entry) (err error) {
		for _, e := range part {
			if buf, err = db.get(e.key, buf); err != nil {
				return fmt.Errorf("get %s: %w", e.key, err)
			}
			g.value(buf)
		}
		return nil
	})
	g.stopwatch = watch
	return g, err
}

// someReads is how many reads a line takes.
func (s *stage) someReads() int { return max(1, s.keys/5) }

// random returns keys at random, the same for a seed.
func (s *stage) random(seed uint64) func(int) int {
	r := rand.New(rand.NewPCG(seed, 0))
	return func(int) int { return r.IntN(s.keys) }
}

func (s *stage) get(db store) error {
	g, err := s.gets(db, s.someReads(), s.random(1))
	s.figure("get", g.microseconds())
	s.answer("get", g.answer)
	return err
}

// getBoth gets with two goroutines, and records gets a second of both together.
func (s *stage) getBoth(db store) error {
	const readers = 2
	var group sync.WaitGroup
	var parts [readers]got
	var errs [readers]error
	start := time.Now()
	for i := range parts {
		group.Go(func() { parts[i], errs[i] = s.gets(db, s.someReads(), s.random(uint64(i+2))) })
	}
	group.Wait()
	took := time.Since(start)
	var all answer
	for _, p := range parts {
		all.add(p.answer)
	}
	s.figure("get-two", float64(all.Count)/took.Seconds())
	s.answer("get-two", all)
	return errors.Join(errs[:]...)
}

// absent asks sessions at random for a message behind their last.
func (s *stage) absent(db store) error {
	index := s.random(4)
	behind := func(i int) int { return index(i) + absentMessage*s.sessions }
	watch, err := s.chunks(s.someReads(), chunkSize, 0, behind, func(part []entry) error {
		for _, e := range part {
			if _, err := db.get(e.key, nil); !errors.Is(err, errAbsent) {
				return fmt.Errorf("get of %s, which is absent: %v", e.key, err)
			}
		}
		return nil
	})
	s.figure("absent", watch.microseconds())
	return err
}

// scanSessions reads sessions at random, first their keys, then with values.
func (s *stage) scanSessions(db store) error {
	for _, line := range []struct {
		id     string
		values bool
	}{{"session-keys", false}, {"session-values", true}} {
		m := s.maker()
		r := rand.New(rand.NewPCG(5, 0))
		n := max(1, s.keys/50)
		var a answer
		start := time.Now()
		for range n {
			if err := scan(db, m.session(r.IntN(s.sessions)), line.values, &a); err != nil {
				return err
			}
		}
		s.figure(line.id, inMicroseconds(time.Since(start))/float64(n))
		s.answer(line.id, a)
	}
	return nil
}

// scanAll reads the whole store, first its keys, then with values.
func (s *stage) scanAll(db store) error {
	for _, line := range []struct {
		id     string
		values bool
	}{{"full-keys", false}, {"full-values", true}} {
		var a answer
		start := time.Now()
		if err := scan(db, []byte(keyPrefix), line.values, &a); err != nil {
			return err
		}
		s.figure(line.id, float64(time.Since(start))/float64(s.keys))
		s.answer(line.id, a)
	}
	return nil
}

func scan(db store, prefix []byte, values bool, a *answer) error {
	return db.scan(prefix, values, func(key, value []byte) {
		a.key(key)
		if values {
			a.value(value)
		}
	})
}

// digest sums up everything that a store holds in the end, order included.
func (s *stage) digest() error {
	db, err := s.engine.open(s.Dir, mode{})
	if err != nil {
		return err
	}
	table := crc64.MakeTable(crc64.ECMA)
	var a answer
	err = db.scan([]byte(keyPrefix), true, func(key, value []byte) {
		a.Count++
		a.Sum = crc64.Update(crc64.Update(a.Sum, table, key), table, value)
	})
	s.answer("digest", a)
	return errors.Join(err, db.close())
}
