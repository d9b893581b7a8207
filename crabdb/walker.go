package crabdb

import (
	"bytes"
	"encoding/binary"
)

// walker reads a file's records one after the other, through a window that it
// moves over the file. A length is checked against the file before memory is
// taken for it.
type walker struct {
	log  *logFile
	size int64 // of the file: what is behind is not looked at

	window []byte
	at     int64 // where the window stands in the file
}

const windowSize = 1 << 20

// peek returns n bytes from an offset; they must be in the file. They are valid
// until the next call.
func (w *walker) peek(offset int64, n int) ([]byte, error) {
	if from := offset - w.at; from >= 0 && from+int64(n) <= int64(len(w.window)) {
		return w.window[from : from+int64(n)], nil
	}
	want := max(n, windowSize)
	if left := w.size - offset; int64(want) > left {
		want = int(left)
	}
	if cap(w.window) < want {
		w.window = make([]byte, want)
	}
	w.window, w.at = w.window[:want], offset
	if err := w.log.read(w.window, offset); err != nil {
		w.window = w.window[:0]
		return nil, err
	}
	return w.window[:n], nil
}

// next reads the record at an offset. Its slices are valid until the next call.
// The error is one of reading the file; that the bytes are no record is a fault.
func (w *walker) next(offset int64) (record, fault, error) {
	left := w.size - offset
	whole, bad, err := w.extent(offset)
	if bad != "" || err != nil {
		return record{}, bad, err
	}
	if whole > left {
		return record{}, tooShort, nil
	}
	b, err := w.peek(offset, int(whole))
	if err != nil {
		return record{}, "", err
	}
	r, bad := w.log.decode(b, offset)
	return r, bad, nil
}

// extent reads how long the record at an offset says it is, which may be longer
// than what is left of the file.
func (w *walker) extent(offset int64) (int64, fault, error) {
	left := w.size - offset
	if left < valueAtKey {
		return 0, tooShort, nil
	}
	b, err := w.peek(offset, valueAtKey)
	if err != nil {
		return 0, "", err
	}
	key := int64(binary.LittleEndian.Uint32(b[2:]))
	switch need := valueAtKey + key + 4; {
	case key > MaxKey:
		return 0, tooLong, nil
	case need > left:
		return 0, tooShort, nil
	default:
		if b, err = w.peek(offset, int(need)); err != nil {
			return 0, "", err
		}
	}
	value := int64(binary.LittleEndian.Uint32(b[valueAtKey+key:]))
	return int64(w.log.layout.size(int(key), 0)) + value, "", nil
}

// resync returns the first offset from one on at which a whole record begins, or
// the size of the file. In a sealed file its checksum tells. In a plain one
// nothing can, so a record counts when it is of an existing column and what
// follows it, chainLength records or the exact end of the file, is too.
func (w *walker) resync(from int64) (int64, error) {
	for at := from; at < w.size; at++ {
		n, err := w.zeroRun(at)
		if err != nil {
			return at, err
		}
		at += max(0, n-zerosBegin)
		ok, err := w.beginsRecord(at)
		if ok || err != nil {
			return at, err
		}
	}
	return w.size, nil
}

// zerosBegin is how many of the zeros before something else may belong to it: the
// record of an empty key and an empty value in column 0 begins with as many as are in
// its frame, and a checksum may begin with three.
const zerosBegin = recordFrame + sumSize - 1

// lastByte returns the offset behind the last byte of the file that is not zero, or
// from, if there is none behind it.
func (w *walker) lastByte(from int64) (int64, error) {
	for end := w.size; end > from; {
		at := max(from, end-windowSize)
		b, err := w.peek(at, int(end-at))
		if err != nil {
			return 0, err
		}
		if n := len(bytes.TrimRight(b, "\x00")); n > 0 {
			return at + int64(n), nil
		}
		end = at
	}
	return from, nil
}

// zeroRun returns how many zero bytes stand at an offset, of those in the window.
func (w *walker) zeroRun(offset int64) (int64, error) {
	if _, err := w.peek(offset, 1); err != nil {
		return 0, err
	}
	b := w.window[offset-w.at:]
	return int64(len(b) - len(bytes.TrimLeft(b, "\x00"))), nil
}

const (
	chainLength = 3
	lastColumn  = 31 // beyond the columns in use, in a plain file, bytes are taken for garbage
)

func (w *walker) beginsRecord(at int64) (bool, error) {
	need := chainLength
	if w.log.sealed {
		need = 1
	}
	for ; need > 0 && at < w.size; need-- {
		if w.size-at < 2 {
			return false, nil
		}
		b, err := w.peek(at, 2)
		if err != nil {
			return false, err
		}
		if b[0] > opSnapshot || !w.log.sealed && b[1] > lastColumn {
			return false, nil
		}
		r, bad, err := w.next(at)
		if err != nil || bad != "" || !w.log.sealed && len(r.key) == 0 {
			return false, err
		}
		at += int64(r.size)
	}
	return true, nil
}
