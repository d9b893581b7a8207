package pebblekv

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// sumsFile is the last file of a backup: a line for each file before it, in order, with
// its SHA-256 in hex, two spaces and its name, as sha256sum writes and checks them.
const sumsFile = "SHA256SUMS"

// Backup writes the store as it is at one moment, while reads and writes go on: a tar
// of the files of a pebble database, plain files in no directory, and SHA256SUMS. The
// tables are not copied but linked into a directory within that of the store until
// they are written. Restore is the inverse.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	leave, err := s.gate.Hold(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if s.frozen != nil {
		return writeTar(ctx, w, s.frozen, s.dir)
	}
	if err := s.disk.failed(); err != nil {
		return err
	}
	dir := s.fsys.PathJoin(s.dir, fmt.Sprintf("%s%016x", backupPrefix, rand.Uint64()))
	defer s.fsys.RemoveAll(dir)
	whole := s.fsys.PathJoin(dir, "store") // not in the store's own directory, whose files are the disk's to mind
	if err := s.db.Checkpoint(whole, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("pebblekv: backing up %s: %w", s.dir, translate(err))
	}
	return writeTar(ctx, w, s.fsys, whole)
}

// writeTar writes the files of a store in a directory that does not change.
func writeTar(ctx context.Context, w io.Writer, fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	slices.Sort(names)
	out, sums := tar.NewWriter(w), new(strings.Builder)
	for _, name := range names {
		if !storeFile.MatchString(name) {
			continue
		}
		sum, err := addFile(ctx, out, fsys, fsys.PathJoin(dir, name))
		if err != nil {
			return fmt.Errorf("pebblekv: backing up %s: %w", name, err)
		}
		fmt.Fprintf(sums, "%x  %s\n", sum, name)
	}
	if err := out.WriteHeader(header(sumsFile, int64(sums.Len()))); err != nil {
		return err
	}
	if _, err := io.WriteString(out, sums.String()); err != nil {
		return err
	}
	return out.Close()
}

func header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600}
}

func addFile(ctx context.Context, out *tar.Writer, fsys vfs.FS, path string) (sum []byte, err error) {
	f, err := fsys.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := out.WriteHeader(header(fsys.PathBase(path), info.Size())); err != nil {
		return nil, err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, hash), withContext{ctx, f})
	return hash.Sum(nil), err
}

// withContext is a reader that ends, with its error, when a context does.
type withContext struct {
	ctx context.Context
	r   io.Reader
}

func (c withContext) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
