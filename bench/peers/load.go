package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// load puts every key once, one call each, into an empty store. The process is
// killed when it has reported.
func (s *stage) load() error {
	db, err := s.engine.open(s.Dir, mode{})
	if err != nil {
		return err
	}
	watch, err := s.chunks(s.keys, chunkSize, 1, inOrder, func(part []entry) error {
		for _, e := range part {
			if err := db.put(e.key, e.value); err != nil {
				return err
			}
		}
		return nil
	})
	s.figure("put", watch.microseconds())
	return err
}

func killSelf() {
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {}
}

// recover opens what the killed process left, counts what is missing of what it
// was told was written, and puts that again, so that all stores go on alike.
func (s *stage) recover() error {
	db, took, err := s.openTimed()
	if err != nil {
		return err
	}
	s.figure("open-killed", inMilliseconds(took))
	lost, err := s.putLost(db)
	if err != nil {
		return errors.Join(err, db.close())
	}
	s.figure("lost", float64(lost))
	if err := db.close(); err != nil {
		return err
	}
	return s.size("size")
}

// openTimed opens the store and gets one value, since opening may put work off.
func (s *stage) openTimed() (store, time.Duration, error) {
	m := s.maker()
	key := m.key(0)
	start := time.Now()
	db, err := s.engine.open(s.Dir, mode{})
	if err != nil {
		return nil, 0, err
	}
	value, err := db.get(key, nil)
	took := time.Since(start)
	if err == nil {
		err = m.check(0, value)
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("first get: %w", err), db.close())
	}
	return db, took, nil
}

// putLost puts what is missing at the end of the history, and says how much it was.
func (s *stage) putLost(db store) (lost int, err error) {
	m := s.maker()
	for i := s.keys - 1; i > 0; i-- {
		_, err := db.get(m.key(i), nil)
		if err == nil {
			return lost, nil
		}
		if !errors.Is(err, errAbsent) {
			return lost, err
		}
		if err := db.put(m.key(i), m.value(i, 1)); err != nil {
			return lost, err
		}
		lost++
	}
	return lost, nil
}

// overwriteBatch is how many values are overwritten in a commit, where that is not
// what is measured.
const overwriteBatch = 1000

// compact overwrites every value once and compacts the store.
func (s *stage) compact() error {
	db, err := s.engine.open(s.Dir, mode{manual: true})
	if err != nil {
		return err
	}
	if _, err := s.chunks(s.keys, overwriteBatch, 2, inOrder, db.putBatch); err != nil {
		return errors.Join(err, db.close())
	}
	start := time.Now()
	if err := db.compact(); err != nil {
		return errors.Join(err, db.close())
	}
	s.figure("compaction", time.Since(start).Seconds())
	if err := db.close(); err != nil {
		return err
	}
	return s.size("size")
}

// size records what the closed store takes on the disk, in MiB.
func (s *stage) size(id string) error {
	bytes, err := diskUse(s.Dir)
	s.figure(id, inMiB(bytes))
	return err
}
