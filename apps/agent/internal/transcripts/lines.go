package transcripts

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// line is one line of a file.
type line struct {
	data    []byte // without its newline; valid until the next line is read
	offset  int64  // of its first byte
	number  int64  // from 1
	size    int64  // of the line, its newline included
	ended   bool   // there was a newline
	tooLong bool   // data is nil
}

// lineReader cuts a stream into lines. It holds one line of at most max bytes; of a longer one,
// endless or not, it holds nothing.
type lineReader struct {
	r      *bufio.Reader
	long   []byte // a line that did not fit r's buffer
	max    int
	offset int64
	number int64
}

// readBuffer is the unit of reading: nearly all lines fit, and are not copied.
const readBuffer = 256 << 10

func newLineReader(r io.Reader, max int, offset, number int64) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, readBuffer), max: max, offset: offset, number: number}
}

// next gives the next line, or io.EOF. With another error comes what was read before it, not
// ended.
func (lr *lineReader) next() (line, error) {
	if cap(lr.long) > 4<<20 { // one embedded image shall not be carried through the whole file
		lr.long = nil
	}
	lr.long = lr.long[:0]
	l := line{offset: lr.offset, number: lr.number + 1}
	for {
		chunk, err := lr.r.ReadSlice('\n')
		l.size += int64(len(chunk))
		whole := err != bufio.ErrBufferFull
		switch {
		case l.tooLong:
		case l.size-1 > int64(lr.max):
			l.tooLong, l.data, lr.long = true, nil, nil
		case whole && len(lr.long) == 0:
			l.data = chunk
		default:
			lr.long = append(lr.long, chunk...)
			l.data = lr.long
		}
		if whole {
			return lr.finish(l, err)
		}
	}
}

func (lr *lineReader) finish(l line, err error) (line, error) {
	l.ended = err == nil
	if l.ended {
		l.data = bytes.TrimSuffix(l.data, []byte("\n"))
	}
	if l.size > 0 {
		lr.offset += l.size
		lr.number++
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	return l, err
}
