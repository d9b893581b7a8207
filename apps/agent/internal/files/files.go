// Package files writes files whole or not at all.
package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrExists is returned by Write for a file that is there and to be kept.
var ErrExists = errors.New("it exists; --force writes over it")

// Write writes a file whole or not at all: beside it, synced, and renamed. With
// keep it takes the place of nothing. The file is for its owner alone.
func Write(path string, keep bool, write func(w io.Writer) error) error {
	if info, err := os.Stat(path); err == nil {
		if keep {
			return fmt.Errorf("%s: %w", path, ErrExists)
		}
		if !info.Mode().IsRegular() { // a device or a pipe: there is nothing to keep whole
			return writeThrough(path, write)
		}
		if path, err = filepath.EvalSymlinks(path); err != nil { // the link stays one
			return err
		}
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	if err := errors.Join(fill(temp, write), temp.Close()); err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	if err := place(temp.Name(), path, keep); err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return SyncDir(filepath.Dir(path))
}

// fill writes a file and syncs it, before its name says that it is there.
func fill(f *os.File, write func(w io.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

// place gives a file its name. A name that was taken meanwhile is kept too, where
// the file system knows hard links.
func place(temp, path string, keep bool) error {
	if !keep {
		return os.Rename(temp, path)
	}
	switch err := os.Link(temp, path); {
	case err == nil:
		return os.Remove(temp)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: %w", path, ErrExists)
	}
	return os.Rename(temp, path)
}

func writeThrough(path string, write func(w io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	return errors.Join(write(w), w.Flush(), f.Close())
}

// SyncDir makes a new name in a directory safe from a power loss. Systems that
// cannot sync a directory need not.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrPermission) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
