package main

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	batchSize   = 100
	syncWriters = 16
)

// batches is how many the line of batches takes.
func (w *workload) batches() int { return max(1, w.keys/500) }

// batched is the order of the keys in batches: each adds a hundred messages to a
// session of its own, as an import does.
func (w *workload) batched(i int) int {
	session := i / batchSize * scatter % w.sessions
	return session + (perSession+i%batchSize)*w.sessions
}

// write measures writes into a full store, without syncs, and reads beside them.
func (s *stage) write() error {
	db, err := s.engine.open(s.Dir, mode{})
	if err != nil {
		return err
	}
	for _, line := range []struct {
		group   string
		measure func(store) error
	}{
		{"batch", s.batch},
		{"mixed", s.getBesideWriter},
		{"delete", s.delete},
	} {
		if err == nil && s.wants(line.group) {
			err = line.measure(db)
		}
	}
	return errors.Join(err, db.close())
}

func (s *stage) batch(db store) error {
	watch, err := s.chunks(s.batches()*batchSize, batchSize, 1, s.batched, db.putBatch)
	s.figure("batch", watch.microseconds()*batchSize)
	return err
}

func (s *stage) delete(db store) error {
	watch, err := s.chunks(s.keys/20, chunkSize, 0, s.scattered, func(part []entry) error {
		for _, e := range part {
			if err := db.delete(e.key); err != nil {
				return err
			}
		}
		return nil
	})
	s.figure("delete", watch.microseconds())
	return err
}

// getBesideWriter measures every get of one goroutine while another overwrites
// values, with what they are already, as fast as it can.
func (s *stage) getBesideWriter(db store) error {
	var done atomic.Bool
	writer := make(chan error, 1)
	go func() { writer <- overwrite(db, s.maker(), s.random(6), &done, func(time.Duration) {}) }()
	reads, err := s.timedGets(db)
	done.Store(true)
	s.figure("mixed-median", inMicroseconds(reads.quantile(0.5)))
	s.figure("mixed", inMicroseconds(reads.quantile(0.999)))
	return errors.Join(err, <-writer)
}

func (s *stage) timedGets(db store) (*histogram, error) {
	reads := new(histogram)
	index := s.random(7)
	m := s.maker()
	var buf []byte
	for n := range s.someReads() {
		i := index(n)
		key := m.key(i)
		start := time.Now()
		value, err := db.get(key, buf)
		reads.add(time.Since(start))
		if err == nil {
			err = m.check(i, value)
		}
		if err != nil {
			return reads, err
		}
		buf = value
	}
	return reads, nil
}

// overwrite puts values of version 2 until it is done, at least once, and reports
// how long each put took.
func overwrite(db store, m *maker, index func(int) int, done *atomic.Bool, report func(time.Duration)) error {
	for n := 0; n == 0 || !done.Load(); n++ {
		i := index(n)
		key, value := m.key(i), m.value(i, 2)
		start := time.Now()
		if err := db.put(key, value); err != nil {
			return err
		}
		report(time.Since(start))
	}
	return nil
}

// sync measures puts that are on the disk when they return, of many goroutines.
// The keys are behind all that batches added.
func (s *stage) sync() error {
	db, err := s.engine.open(s.Dir, mode{synced: true})
	if err != nil {
		return err
	}
	each := max(1, s.keys/50/syncWriters)
	var group sync.WaitGroup
	var errs [syncWriters]error
	start := time.Now()
	for w := range syncWriters {
		group.Go(func() {
			m := s.maker()
			for j := range each {
				i := 2*s.keys + j*syncWriters + w
				if err := db.put(m.key(i), m.value(i, 1)); err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	group.Wait()
	s.figure("sync", float64(each*syncWriters)/time.Since(start).Seconds())
	return errors.Join(errors.Join(errs[:]...), db.close())
}
