package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/tidwall/btree"
	"golang.org/x/sys/unix"
)

const (
	recordSize = 300 // a key, a value, and what else a record needs
	batchBytes = batchSize * 330
	runBytes   = 32 << 10 // the values of a session that lie together
)

// floor measures what the operating system and memory take for what the stores
// do: the least that each line could be.
func (s *stage) floor() error {
	path := filepath.Join(s.Dir, "floor")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, measure := range []func(*os.File) error{
		s.floorWrite, s.floorBatch, s.floorRead, s.floorMapped, s.floorSync,
	} {
		if err := measure(f); err != nil {
			return err
		}
	}
	return s.floorTree()
}

// floorWrite appends records, a system call each, which also fills the file.
func (s *stage) floorWrite(f *os.File) error {
	m := s.maker()
	record := bytes.Repeat(m.value(1, 1), 2)[:recordSize]
	var watch stopwatch
	err := watch.time(s.keys, func() error {
		for range s.keys {
			if _, err := f.Write(record); err != nil {
				return err
			}
		}
		return nil
	})
	s.figure("write", watch.microseconds())
	return err
}

func (s *stage) floorBatch(f *os.File) error {
	end := int64(s.keys) * recordSize
	record := bytes.Repeat([]byte("crab"), batchBytes/4)
	var watch stopwatch
	err := watch.time(s.batches(), func() error {
		for i := range s.batches() {
			if _, err := f.WriteAt(record, end+int64(i*len(record))); err != nil {
				return err
			}
		}
		return nil
	})
	s.figure("pwrite-batch", watch.microseconds())
	return err
}

func (s *stage) floorRead(f *os.File) error {
	for _, line := range []struct {
		id   string
		size int
	}{{"pread", recordSize}, {"pread-run", runBytes}} {
		buf := make([]byte, line.size)
		last := max(1, int64(s.keys)*recordSize-int64(line.size))
		r := rand.New(rand.NewPCG(1, 0))
		var watch stopwatch
		err := watch.time(s.someReads(), func() error {
			for range s.someReads() {
				if _, err := f.ReadAt(buf, r.Int64N(last)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		s.figure(line.id, watch.microseconds())
	}
	return nil
}

// floorMapped copies records out of a mapping whose pages are resident.
func (s *stage) floorMapped(f *os.File) error {
	size := s.keys * recordSize
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return err
	}
	buf := make([]byte, recordSize)
	r := rand.New(rand.NewPCG(2, 0))
	var watch stopwatch
	_ = watch.time(s.someReads(), func() error {
		for range s.someReads() {
			copy(buf, data[r.IntN(size-recordSize):])
		}
		return nil
	})
	s.figure("mapped", watch.microseconds())
	return unix.Munmap(data)
}

// floorSync writes a record and waits for the disk: at the end of the file, and
// where blocks were written before, which needs no change of the file's own data.
func (s *stage) floorSync(f *os.File) error {
	end, err := f.Seek(0, 2)
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	record := make([]byte, recordSize)
	for _, line := range []struct {
		id string
		at int64
	}{{"fdatasync-append", end}, {"fdatasync", 0}} {
		n := min(500, s.someReads())
		start := time.Now()
		for i := range n {
			if _, err := f.WriteAt(record, line.at+int64(i*recordSize)); err != nil {
				return err
			}
			if err := unix.Fdatasync(int(f.Fd())); err != nil {
				return err
			}
		}
		s.figure(line.id, inMilliseconds(time.Since(start))/float64(n))
	}
	return nil
}

// indexed is an entry of an index in memory: a key and the place of its record.
type indexed struct {
	key   []byte
	place int64
}

// floorTree measures a B-tree in memory that holds every key.
func (s *stage) floorTree() error {
	tree := btree.NewBTreeGOptions(func(a, b indexed) bool { return bytes.Compare(a.key, b.key) < 0 },
		btree.Options{NoLocks: true})
	watch, err := s.chunks(s.keys, chunkSize, 0, inOrder, func(part []entry) error {
		for i, e := range part {
			tree.Set(indexed{bytes.Clone(e.key), int64(i)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.figure("tree-put", watch.microseconds())
	watch, err = s.chunks(s.someReads(), chunkSize, 0, s.random(1), func(part []entry) error {
		for _, e := range part {
			if _, ok := tree.Get(indexed{key: e.key}); !ok {
				return fmt.Errorf("the tree lacks %s", e.key)
			}
		}
		return nil
	})
	s.figure("tree-get", watch.microseconds())
	return errors.Join(err, s.floorTreeScan(tree))
}

func (s *stage) floorTreeScan(tree *btree.BTreeG[indexed]) error {
	m := s.maker()
	r := rand.New(rand.NewPCG(5, 0))
	n := max(1, s.keys/50)
	var a answer
	start := time.Now()
	for range n {
		prefix := m.session(r.IntN(s.sessions))
		tree.Ascend(indexed{key: prefix}, func(i indexed) bool {
			if !bytes.HasPrefix(i.key, prefix) {
				return false
			}
			a.key(i.key)
			return true
		})
	}
	s.figure("tree-session", inMicroseconds(time.Since(start))/float64(n))
	if a.Count == 0 {
		return errors.New("the tree has no session")
	}
	return nil
}
