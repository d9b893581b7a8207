package dump

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/crabstore/crabstore/kv"
)

// ErrLine says that a line is none that Write makes. The message has its number.
var ErrLine = errors.New("no line of a dump")

// Write writes every live key of a store, as it is at one moment.
func Write(ctx context.Context, s kv.KVStorage, w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		var line []byte
		for col := range kv.EveryColumn() {
			for e, err := range tx.Scan(ctx, col, nil) {
				if err != nil {
					return err
				}
				line = appendLine(line[:0], byte(col), e)
				if _, err := out.Write(line); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

func appendLine(b []byte, col byte, e kv.Entry) []byte {
	b = strconv.AppendUint(b, uint64(col), 10)
	b = append(b, ' ')
	b = hex.AppendEncode(b, e.Key)
	b = append(b, ' ')
	b = hex.AppendEncode(b, e.Value)
	return append(b, '\n')
}

// The size at which Load commits.
const (
	batchKeys  = 10_000
	batchBytes = 8 << 20
)

// Load puts what a dump holds into a store and returns how many keys that were. It
// commits in batches: after an error those before it are stored.
func Load(ctx context.Context, s kv.KVStorage, r io.Reader) (int, error) {
	in := &reader{in: bufio.NewReaderSize(r, 1<<16)}
	total := 0
	for {
		batch, err := in.batch()
		if len(batch) > 0 {
			put := func(tx kv.KVStorage) error { return putAll(ctx, tx, batch) }
			if err := kv.Update(ctx, s, put); err != nil {
				return total, err
			}
			total += len(batch)
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// entry is one line.
type entry struct {
	col        kv.Column
	key, value []byte
}

func putAll(ctx context.Context, tx kv.KVStorage, batch []entry) error {
	for _, e := range batch {
		if err := tx.Put(ctx, e.col, e.key, e.value); err != nil {
			return fmt.Errorf("column %d, key %.200q: %w", e.col, e.key, err)
		}
	}
	return nil
}

// reader reads lines and counts them.
type reader struct {
	in     *bufio.Reader
	number int
}

// batch reads lines for one commit. It returns what it read also beside an error,
// which is io.EOF at the end.
func (r *reader) batch() ([]entry, error) {
	var batch []entry
	for size := 0; len(batch) < batchKeys && size < batchBytes; {
		e, err := r.line()
		if err != nil {
			return batch, err
		}
		batch = append(batch, e)
		size += len(e.key) + len(e.value)
	}
	return batch, nil
}

func (r *reader) line() (entry, error) {
	line, err := r.in.ReadBytes('\n')
	if err != nil && len(line) == 0 {
		return entry{}, err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return entry{}, err
	}
	r.number++
	if err != nil {
		return entry{}, fmt.Errorf("line %d: %w: it has no end; the file was cut", r.number, ErrLine)
	}
	e, err := parse(bytes.TrimSuffix(line[:len(line)-1], []byte("\r")))
	if err != nil {
		return entry{}, fmt.Errorf("line %d: %w", r.number, err)
	}
	return e, nil
}

func parse(line []byte) (entry, error) {
	fields := bytes.Split(line, []byte(" "))
	if len(fields) != 3 {
		return entry{}, fmt.Errorf("%w: %d fields instead of column, key, value: %.60q", ErrLine, len(fields), line)
	}
	col, err := strconv.ParseUint(string(fields[0]), 10, 8)
	if err != nil {
		return entry{}, fmt.Errorf("%w: column %.20q is no number below %d", ErrLine, fields[0], math.MaxUint8+1)
	}
	key, err := hex.AppendDecode(nil, fields[1])
	if err != nil {
		return entry{}, fmt.Errorf("%w: the key is not hexadecimal: %.60q", ErrLine, fields[1])
	}
	value, err := hex.AppendDecode(nil, fields[2])
	if err != nil {
		return entry{}, fmt.Errorf("%w: the value is not hexadecimal: %.60q", ErrLine, fields[2])
	}
	return entry{kv.Column(col), key, value}, nil
}
