//go:build amd64 || arm64 || riscv64 || loong64 || ppc64le || s390x

package vfs

import (
	"os"
	"runtime/debug"
	"sync/atomic"
	"syscall"
)

const (
	// reach is how much of a file is mapped, from its start. It costs addresses and
	// nothing else, so the mapping is made once and long enough for the file to
	// grow; what is behind it is read as ever.
	reach = 64 << 30

	// copied is the most that is read or written by way of memory, in bytes: for more,
	// a system call is cheaper than touching each page.
	copied = 16 << 10

	// head is how much of a write is in memory before the rest of it, in bytes, so that
	// a process that is killed in the middle leaves no end without its beginning. A
	// copy by itself has no order.
	head = 64
)

type mappedFile struct {
	osFile
	memory []byte                 // the file, from its start
	window atomic.Pointer[window] // what is reserved of it; nil if nothing is, or not in memory
}

// window is a stretch of a file as memory that can be written.
type window struct {
	from   int64
	memory []byte
}

func (f osFile) mapped() (File, error) {
	memory, err := syscall.Mmap(int(f.Fd()), 0, reach, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &mappedFile{osFile: f, memory: memory}, nil
}

// ReadAt reads from an offset. What cannot be had from memory, since the file ends
// before or the disk fails, the system is asked for, which has an error for it.
func (f *mappedFile) ReadAt(b []byte, offset int64) (int, error) {
	if len(b) <= copied && offset >= 0 && offset <= int64(len(f.memory)-len(b)) && guardedCopy(b, f.memory[offset:], 0) {
		return len(b), nil
	}
	return f.osFile.ReadAt(b, offset)
}

// WriteAt writes at an offset; where space was reserved, by copying. If that fails, as
// it can where a file system has no space for what it had said to have, the system is
// asked to write the whole.
func (f *mappedFile) WriteAt(b []byte, offset int64) (int, error) {
	w := f.window.Load()
	if w != nil && len(b) <= copied && offset >= w.from && offset-w.from <= int64(len(w.memory)-len(b)) && guardedCopy(w.memory[offset-w.from:], b, min(len(b), head)) {
		return len(b), nil
	}
	return f.osFile.WriteAt(b, offset)
}

// Reserve makes the file longer, and a stretch of it memory.
func (f *mappedFile) Reserve(from, to int64, memory bool) error {
	f.dropWindow()
	if err := f.osFile.Reserve(from, to, memory); err != nil || !memory {
		return err
	}
	from -= from % int64(os.Getpagesize())
	b, err := syscall.Mmap(int(f.Fd()), from, int(to-from), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err == nil { // else writes go by the system
		f.window.Store(&window{from, b})
	}
	return nil
}

// Truncate sets the length.
func (f *mappedFile) Truncate(size int64) error {
	f.dropWindow()
	return f.osFile.Truncate(size)
}

func (f *mappedFile) dropWindow() {
	if w := f.window.Swap(nil); w != nil {
		_ = syscall.Munmap(w.memory) // it is there, so that cannot fail
	}
}

// guardedCopy copies as copy does, so many bytes first. It tells whether the memory of
// both was there: a fault, which would end the process otherwise, is made a panic and
// caught.
func guardedCopy(to, from []byte, first int) (ok bool) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			if _, fault := p.(interface{ Addr() uintptr }); !fault {
				panic(p)
			}
			ok = false
		}
	}()
	copy(to, from[:first])
	copy(to[first:], from[first:])
	return true
}

// Close closes the file. Nobody may be reading or writing.
func (f *mappedFile) Close() error {
	f.dropWindow()
	memory := f.memory
	f.memory = nil
	err := syscall.Munmap(memory)
	if closed := f.osFile.Close(); closed != nil {
		return closed
	}
	return err
}
