package crabdb

import "slices"

// valueReader reads the values of a scan. When records stand close behind one another, as
// they do after a compaction, it reads a stretch of the log at once: first one record,
// then twice as much as the last time for as long as the stretches are of use. So it
// reads little in vain, wherever a scan ends and however its records are scattered.
//
// A stretch is read into the free end of a chunk, and each value that is asked for
// moves down to those before it, so that callers own values without an allocation
// each. A chunk lives as long as any value in it is kept, and is no longer than
// maxChunk; the value of a long record has memory of its own. A reader that lends
// leaves the values where they are, and the next stretch is read over them.
//
// Reading ahead has no errors of its own: a stretch that cannot be read is given up
// for the record alone, and a record is checked when it is asked for.
type valueReader struct {
	log    *logFile
	lend   bool   // values are the caller's until the next is read
	chunk  []byte // the values that the callers have
	ahead  []byte // of the last stretch, what is behind the last record asked for; in the free end of chunk
	at     int64  // where ahead stands in the log
	length int    // of the last stretch
	used   int    // bytes of it that were asked for
}

// longRecord is the least length of a record that is read on its own.
const longRecord = maxChunk / 4

// read returns the value of the put that the index has at a place. It is the caller's.
func (v *valueReader) read(col byte, key []byte, at location) ([]byte, error) {
	size, known := at.size()
	if !known || size >= longRecord {
		r, err := v.log.record(col, key, at)
		return r.value, err
	}
	offset := at.offset()
	if skip := offset - v.at; skip >= 0 && skip+int64(size) <= int64(len(v.ahead)) {
		v.ahead = v.ahead[skip:]
	} else if err := v.move(offset, size); err != nil {
		return nil, err
	}
	r, err := v.log.identify(v.ahead[:size], col, key, offset)
	if err != nil {
		return nil, err
	}
	v.ahead, v.at, v.used = v.ahead[size:], offset+int64(size), v.used+size
	if v.lend {
		return r.value, nil
	}
	start := len(v.chunk)
	v.chunk = append(v.chunk, r.value...) // over what came before it in the stretch
	return v.chunk[start:len(v.chunk):len(v.chunk)], nil
}

// move reads a stretch that begins with a record.
func (v *valueReader) move(offset int64, size int) error {
	free := v.room(size, v.worth(offset, size))
	v.take(free, offset)
	err := v.log.read(v.ahead, offset)
	if err != nil && len(free) > size {
		v.take(free[:size], offset)
		err = v.log.read(v.ahead, offset)
	}
	if err != nil {
		v.ahead = nil
	}
	return err
}

func (v *valueReader) take(free []byte, offset int64) {
	v.ahead, v.at, v.length, v.used = free, offset, len(free), 0
}

// worth returns how much to read for a record: more than the record where the last
// stretch was of use, and this one follows it closely.
func (v *valueReader) worth(offset int64, size int) int {
	gap := offset - v.at - int64(len(v.ahead))
	if offset < v.at || gap > int64(v.length) || v.used < v.length/4 {
		return size
	}
	return max(size, int(min(2*int64(v.length), maxChunk, v.log.end.Load()-offset)))
}

// room returns memory for a stretch, at the end of the chunk or of a new one. Where
// half of what is wanted is left it is enough, if a record of a size fits.
func (v *valueReader) room(size, want int) []byte {
	if free := cap(v.chunk) - len(v.chunk); free < max(size, want/2) {
		v.chunk = make([]byte, 0, max(want, min(2*cap(v.chunk), maxChunk)))
	}
	start := len(v.chunk)
	return v.chunk[start:min(start+want, cap(v.chunk))]
}

// appendValue appends the value of the put that the index has at a place to b. The
// record is read into the room behind b, and the value moved down.
func (l *logFile) appendValue(b []byte, col byte, key []byte, at location) ([]byte, error) {
	size, err := l.sizeOf(len(key), at)
	if err != nil {
		return b, err
	}
	b = slices.Grow(b, size)
	r, err := l.recordIn(b[len(b):len(b)+size], col, key, at.offset())
	return append(b, r.value...), err
}
