package main

import (
	"errors"
	"sync/atomic"
	"time"
)

// stall measures each put of a writer while a store of the size asked for
// compacts.
func (s *stage) stall() error {
	s.workload = newWorkload(max(perSession, int(s.Stall)/(keySize+valueSize)))
	db, err := s.engine.open(s.Dir, mode{manual: true})
	if err != nil {
		return err
	}
	if _, err := s.chunks(s.keys, overwriteBatch, 1, inOrder, db.putBatch); err != nil {
		return errors.Join(err, db.close())
	}
	puts := new(histogram)
	beside := s.besideCompact
	if s.engine.stall == besideItself {
		beside = s.besideItself
	}
	if err := beside(db, puts); err != nil {
		return errors.Join(err, db.close())
	}
	s.figure("stall", inMilliseconds(puts.quantile(0.999)))
	s.figure("stall-max", inMilliseconds(puts.max))
	return db.close()
}

// besideCompact writes for as long as compaction runs.
func (s *stage) besideCompact(db store, puts *histogram) error {
	var done atomic.Bool
	writer := make(chan error, 1)
	go func() { writer <- overwrite(db, s.maker(), s.paced(s.random(8)), &done, puts.add) }()
	err := db.compact()
	done.Store(true)
	return errors.Join(err, <-writer)
}

// besideItself overwrites a quarter of the store, which sets its own compactors to
// work.
func (s *stage) besideItself(db store, puts *histogram) error {
	var done atomic.Bool
	return overwrite(db, s.maker(), s.paced(s.random(8)), &done, func(d time.Duration) {
		puts.add(d)
		done.Store(puts.total >= uint64(s.keys/4))
	})
}

// paced holds a writer to so many puts a second as were asked for, on the average:
// it catches up on what a stall held back. Without a pace, a writer goes as fast
// as it can, which an LSM's compaction never gets ahead of.
func (s *stage) paced(index func(int) int) func(int) int {
	if s.Pace == 0 {
		return index
	}
	start := time.Now()
	return func(n int) int {
		due := time.Duration(n) * time.Second / time.Duration(s.Pace)
		if ahead := due - time.Since(start); ahead > time.Millisecond {
			time.Sleep(ahead)
		}
		return index(n)
	}
}
