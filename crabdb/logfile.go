package crabdb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/crabstore/crabstore/crabdb/internal/vfs"
)

// logFile is an open data file. Whoever reads it holds a reference, so that a
// compaction or Close can put it aside while scans go on; the last one to let go
// closes it.
type logFile struct {
	layout
	path string
	file vfs.File
	refs atomic.Int64 // starts at 1, the store's own
	end  atomic.Int64 // where the next record goes; moved by who has the turn

	began    int64 // where it went first; the turn holder's, as what follows
	reserved int64 // up to where there is space on the disk
}

func newLogFile(path string, file vfs.File, sealed bool) *logFile {
	l := &logFile{layout: layout{sealed}, path: path, file: file}
	l.refs.Store(1)
	return l
}

// mapReads makes reads cheaper where that can be. In a plain file, which has no
// checksums to tell what was read, they stay as they are. Nobody else has the log yet.
func (l *logFile) mapReads() {
	if l.sealed {
		l.file = vfs.Mapped(l.file)
	}
}

// acquire takes a reference. It fails when the last one was let go.
func (l *logFile) acquire() bool {
	for {
		n := l.refs.Load()
		if n == 0 {
			return false
		}
		if l.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (l *logFile) release() error {
	if l.refs.Add(-1) == 0 {
		return l.file.Close()
	}
	return nil
}

// record reads and checks the record of a put at a place that the index gave for
// a key. The value is the caller's.
func (l *logFile) record(col byte, key []byte, at location) (record, error) {
	size, err := l.sizeOf(len(key), at)
	if err != nil {
		return record{}, err
	}
	return l.recordIn(make([]byte, size), col, key, at.offset())
}

// recordIn is record with the memory to read it into, of which its parts are slices.
func (l *logFile) recordIn(b []byte, col byte, key []byte, offset int64) (record, error) {
	if err := l.read(b, offset); err != nil {
		return record{}, err
	}
	return l.identify(b, col, key, offset)
}

// identify decodes what was read where the index has the put of a key, and checks that
// it is its record.
func (l *logFile) identify(b []byte, col byte, key []byte, offset int64) (record, error) {
	r, bad := l.decode(b, offset)
	if bad != "" {
		return record{}, l.damaged(offset, len(b), bad)
	}
	if r.op != opPut || r.col != col || !bytes.Equal(r.key, key) || r.size != len(b) {
		return record{}, corrupt(l.path, offset, "another record stands where the index has that of column %d key %.80q", col, key)
	}
	return r, nil
}

// damaged returns the error of bytes that are not the indexed record that they were:
// with what is wrong with them, or that the file was cut, for where it ends within a
// page of memory there are zeros.
func (l *logFile) damaged(offset int64, size int, bad fault) error {
	if info, err := l.file.Stat(); err == nil && info.Size() < offset+int64(size) {
		return corrupt(l.path, offset, "the file ends after %d of %d bytes", max(0, info.Size()-offset), size)
	}
	return corrupt(l.path, offset, "%s", bad)
}

// sizeOf returns how long the record is that the index has for a key of keyLen bytes:
// that of a long one has to be read. With an error it is 0.
func (l *logFile) sizeOf(keyLen int, at location) (int, error) {
	if size, known := at.size(); known {
		return size, nil
	}
	return l.sizeAt(keyLen, at.offset())
}

// sizeAt reads how long the record at offset is, whose key has keyLen bytes.
func (l *logFile) sizeAt(keyLen int, offset int64) (int, error) {
	b := make([]byte, valueAtKey+keyLen+4)
	if err := l.read(b, offset); err != nil {
		return 0, err
	}
	key, value, ok := l.lengths(b)
	size := int64(l.size(key, 0)) + value
	if !ok || key != keyLen || value > MaxValue || offset+size > l.end.Load() {
		return 0, corrupt(l.path, offset, "the lengths %d and %d are not those of the indexed record", key, value)
	}
	return int(size), nil
}

// endOfFile is the error of a read that the file ended in.
type endOfFile struct{ error }

func (e endOfFile) Unwrap() error { return e.error }

// read fills b from offset. A file that ends before is corrupt: it was cut after
// it had been opened.
func (l *logFile) read(b []byte, offset int64) error {
	n, err := l.file.ReadAt(b, offset)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return endOfFile{corrupt(l.path, offset, "the file ends after %d of %d bytes", n, len(b))}
	}
	return fmt.Errorf("read %s at offset %d: %w", l.path, offset, err)
}

// write writes b at the end and moves the end. On an error the end stays, and
// what was written behind it is undone by the caller.
func (l *logFile) write(b []byte) error {
	at := l.end.Load()
	if at+int64(len(b)) > MaxFile {
		return fmt.Errorf("%w: %s: %d bytes", ErrFull, l.path, at)
	}
	if _, err := l.file.WriteAt(b, at); err != nil {
		return fmt.Errorf("append %d bytes to %s at offset %d: %w", len(b), l.path, at, err)
	}
	l.end.Store(at + int64(len(b)))
	return nil
}

// cut makes the file end where the log does.
func (l *logFile) cut() error {
	l.reserved = 0
	return l.file.Truncate(l.end.Load())
}

func (l *logFile) sync() error {
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", l.path, err)
	}
	return nil
}

func (l *logFile) writeHeader(h header) error {
	if _, err := l.file.WriteAt(h.encode(), 0); err != nil {
		return fmt.Errorf("write the header of %s: %w", l.path, err)
	}
	return nil
}
