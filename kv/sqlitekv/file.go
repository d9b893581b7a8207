package sqlitekv

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// file is where a store lies.
//
// No code of this package opens the file, or its -shm, but by SQLite: closing any
// descriptor of a file drops all POSIX locks that the process has on it.
type file struct{ path string } // absolute, without symbolic links

// locate finds the file behind a path, where its log will lie too.
func locate(path string) (file, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return file{}, err
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file{path}, nil
	}
	return file{real}, err
}

// name returns the file as a URI for SQLite. Whatever a path holds is escaped.
func (f file) name(params url.Values) string {
	path := filepath.ToSlash(f.path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive's letter
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: params.Encode()}
	return u.String()
}

// create makes an empty file where there is none, and the directories above it.
// SQLite gives the mode of the file to its log.
func (f file) create() error {
	if _, err := os.Stat(f.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	made, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // by another process, just now
	}
	if err != nil {
		return err
	}
	return made.Close()
}

// log returns where the write-ahead log lies: there as long as a process has the
// store open for writing, and when one was killed.
func (f file) log() string { return f.path + "-wal" }

// state is how a file is found by who only reads it. Without a log nobody writes the
// file, and its size and time tell when that has changed.
type state struct {
	log            bool
	size, modified int64 // without a log
}

func (f file) state() (state, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return state{}, err
	}
	if !info.Mode().IsRegular() {
		return state{}, fmt.Errorf("%w: %s is no regular file", ErrNotStore, f.path)
	}
	if _, err := os.Stat(f.log()); err == nil && info.Size() > 0 {
		return state{log: true}, nil
	}
	return state{size: info.Size(), modified: info.ModTime().UnixNano()}, nil
}

// forReading returns the parameters of a connection that creates and changes nothing.
// With a log, SQLite wants the index of the log (-shm) beside it, and makes that if it
// is not there; without one it is told that the file does not change, since it would
// create a log otherwise.
func (st state) forReading() url.Values {
	params := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)"}}
	if !st.log {
		params.Set("immutable", "1")
	}
	return params
}
