package transcripts

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// file is an open source that is one file: plain, compressed, or a member of a .zip.
type file struct {
	*os.File
	size    int64
	modTime int64
	member  *zip.File
	pack    packing
	whole   bool // can only be read from its beginning
	closers []func()
}

func openFile(src Source) (*file, error) {
	f, err := os.Open(src.Path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("not a regular file: %w", ErrChanged)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	o := &file{File: f, size: info.Size(), modTime: info.ModTime().UnixNano(), whole: src.Layout == Document}
	if err := o.open(src); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

func (f *file) open(src Source) error {
	if src.Member != "" {
		f.whole = true
		z, err := zip.NewReader(f.File, f.size)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		for _, m := range z.File {
			if m.Name == src.Member {
				f.member = m
				return nil
			}
		}
		return fmt.Errorf("no %s in it: %w", src.Member, ErrChanged)
	}
	head := make([]byte, 8)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	f.pack = packingOf(head[:n])
	f.whole = f.whole || f.pack != plain
	return nil
}

// Close closes the file and the decompressors over it.
func (f *file) Close() error {
	for _, c := range f.closers {
		c()
	}
	return f.File.Close()
}

// stream reads the decompressed bytes from an offset on; from 0 only when whole.
func (f *file) stream(offset int64) (io.Reader, error) {
	if f.member != nil {
		r, err := f.member.Open()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		f.closers = append(f.closers, func() { r.Close() })
		return r, nil
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	r, closer, err := f.pack.reader(f.File)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	f.closers = append(f.closers, closer)
	return r, nil
}

// explain says of an error that came while reading, what kind it is. The end is none.
func (f *file) explain(err error) error {
	var path *fs.PathError
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &path):
		return err
	default:
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
}

// identity is how many bytes of a file's ends are hashed to know it again.
const identity = 4096

// identify puts into the cursor what the file can be known by: how it begins, and what comes
// right before the cursor.
func (f *file) identify(c *Cursor) (err error) {
	c.Size, c.ModTime = f.size, f.modTime
	if c.Head, err = f.hash(0, min(identity, c.Offset)); err != nil {
		return err
	}
	c.Tail, err = f.hash(max(0, c.Offset-identity), c.Offset)
	return err
}

func (f *file) hash(from, to int64) (string, error) {
	b := make([]byte, to-from)
	if n, err := f.ReadAt(b, from); n < len(b) {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12]), nil
}

// fits tells whether the cursor was made for this file as it is: for a file of lines, whether it
// has only grown; for others, whether it is the same.
func (f *file) fits(c Cursor) (bool, error) {
	if c.Size == 0 {
		return true, nil
	}
	if c.Offset < 0 || len(c.Open) > 0 && (c.Open[0] < 0 || !slices.IsSorted(c.Open)) {
		return false, nil // not one of ours
	}
	if c.Offset > f.size || f.whole && (c.Size != f.size || c.ModTime != f.modTime) {
		return false, nil
	}
	now := Cursor{Offset: c.Offset}
	err := f.identify(&now)
	if errors.Is(err, io.EOF) {
		return false, nil // it shrank just now
	}
	return now.Head == c.Head && now.Tail == c.Tail, err
}

// packing is how a file is compressed.
type packing int

const (
	plain packing = iota
	gzipped
	zstandard
)

func packingOf(head []byte) packing {
	switch {
	case bytes.HasPrefix(head, []byte{0x1F, 0x8B, 8}):
		return gzipped
	case bytes.HasPrefix(head, []byte{0x28, 0xB5, 0x2F, 0xFD}):
		return zstandard
	}
	return plain
}

// foreign names the compression of a file that we do not decompress, or is empty.
func foreign(head []byte) string {
	for magic, name := range map[string]string{"\xFD7zXZ\x00": "xz", "BZh": "bzip2", "\x04\x22\x4D\x18": "lz4", "7z\xBC\xAF\x27\x1C": "7z"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return name
		}
	}
	return ""
}

// maxWindow is the largest zstd window taken: memory that a frame can make us allocate.
const maxWindow = 128 << 20

func (p packing) reader(r io.Reader) (io.Reader, func(), error) {
	switch p {
	case gzipped:
		z, err := gzip.NewReader(r)
		return z, func() {}, err
	case zstandard:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, func() {}, err
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}
