//go:build amd64 || arm64 || riscv64 || loong64 || ppc64le || s390x

package vfs

import (
	"runtime/debug"
	"syscall"
)

const (
	// reach is how much of a file is mapped, from its start. It costs addresses and
	// nothing else, so the mapping is made once and long enough for the file to
	// grow; what is behind it is read as ever.
	reach = 64 << 30

	// copied is the most that is read by way of the mapping: for more, a system call
	// is cheaper than touching each page.
	copied = 64 << 10
)

type mappedFile struct {
	osFile
	memory []byte
}

func (f osFile) mapped() (File, error) {
	memory, err := syscall.Mmap(int(f.Fd()), 0, reach, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &mappedFile{f, memory}, nil
}

// ReadAt reads from an offset. What cannot be had from memory, since the file ends
// before or the disk fails, the system is asked for, which has an error for it.
func (f *mappedFile) ReadAt(b []byte, offset int64) (int, error) {
	if len(b) <= copied && offset >= 0 && offset <= int64(len(f.memory)-len(b)) && f.copy(b, offset) {
		return len(b), nil
	}
	return f.osFile.ReadAt(b, offset)
}

// copy tells whether the memory was there to be read: a fault, which would end the
// process otherwise, is made a panic and caught.
func (f *mappedFile) copy(b []byte, offset int64) (ok bool) {
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
	copy(b, f.memory[offset:])
	return true
}

// Close closes the file. Nobody may be reading.
func (f *mappedFile) Close() error {
	memory := f.memory
	f.memory = nil
	err := syscall.Munmap(memory)
	if closed := f.osFile.Close(); closed != nil {
		return closed
	}
	return err
}
