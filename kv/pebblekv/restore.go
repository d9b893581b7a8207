package pebblekv

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxSums bounds how much memory the list of a backup may take: some 100,000 files.
const maxSums = 16 << 20

// Restore makes a directory, which must not exist, a store from what Backup wrote. It
// checks all of it first, in a directory beside, and returns ErrBadBackup if anything
// is missing, more or other than it was; then nothing is left behind. When it has
// returned nil the store is safe from a power loss.
func Restore(ctx context.Context, dir string, r io.Reader) error {
	real, err := resolve(dir)
	if err != nil {
		return fmt.Errorf("pebblekv: %w", err)
	}
	if _, err := os.Lstat(real); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("pebblekv: restoring into %s: %w", dir, errors.Join(fs.ErrExist, err))
	}
	parent := filepath.Dir(real)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	work, err := os.MkdirTemp(parent, filepath.Base(real)+".restore-*") // 0700
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) // renamed by then, if all went well
	if err := unpack(withContext{ctx, r}, work); err != nil {
		return err
	}
	if err := checkRestored(work); err != nil {
		return err
	}
	if err := syncDir(work); err != nil {
		return err
	}
	if err := os.Rename(work, real); err != nil {
		return err
	}
	return syncDir(parent)
}

// checkRestored opens what was unpacked, which replays its log.
func checkRestored(dir string) error {
	s, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadBackup, err)
	}
	return s.Close()
}

// unpack writes the files of a backup into an empty directory. No name is taken but
// those of a store's files, so that none leads elsewhere.
func unpack(r io.Reader, dir string) error {
	in, sums := tar.NewReader(r), new(strings.Builder)
	for {
		h, err := in.Next()
		switch {
		case err == io.EOF:
			return fmt.Errorf("%w: it ends without %s", ErrBadBackup, sumsFile)
		case err != nil:
			return badBackup(err)
		case h.Typeflag == tar.TypeReg && h.Name == sumsFile:
			return checkSums(in, sums.String())
		case h.Typeflag != tar.TypeReg || !storeFile.MatchString(h.Name):
			return fmt.Errorf("%w: %q is no file of a store", ErrBadBackup, h.Name)
		}
		sum, err := unpackFile(in, filepath.Join(dir, h.Name))
		if err != nil {
			return err
		}
		fmt.Fprintf(sums, "%x  %s\n", sum, h.Name)
	}
}

// checkSums compares the list of a backup with that of what was unpacked, and looks
// for its end.
func checkSums(in *tar.Reader, unpacked string) error {
	listed, err := io.ReadAll(io.LimitReader(in, maxSums))
	if err != nil {
		return badBackup(err)
	}
	if string(listed) != unpacked {
		return fmt.Errorf("%w: its files are not those that %s lists", ErrBadBackup, sumsFile)
	}
	if h, err := in.Next(); err == nil {
		return fmt.Errorf("%w: %q lies behind its end", ErrBadBackup, h.Name)
	} else if err != io.EOF {
		return badBackup(err)
	}
	return nil
}

// badBackup tells what the tar is not from what reading it met.
func badBackup(err error) error {
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", ErrBadBackup, err)
	}
	return fmt.Errorf("pebblekv: unpacking a backup: %w", err)
}

// unpackFile writes a file that is not there yet, and syncs it.
func unpackFile(in io.Reader, path string) (sum []byte, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: %q is in it twice", ErrBadBackup, filepath.Base(path))
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // again, where it was not
	hash := sha256.New()
	if _, err := io.Copy(f, io.TeeReader(in, hash)); err != nil {
		return nil, badBackup(err)
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	return hash.Sum(nil), f.Close()
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
