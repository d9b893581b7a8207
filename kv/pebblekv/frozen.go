package pebblekv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/crabstore/crabstore/kv"
)

// frozen is the directory of a store as it was at one moment, for reading: what a
// writer beside us deletes is still there, what it appends or makes is not, and
// nothing can be changed through it.
//
// All files are opened, and kept open, so that they outlive their names. A file is cut
// where it ended when its size was taken. The manifest is measured first: what it
// names was complete before it was named there. Then the logs and tables are measured.
// If a file has come meanwhile, all is done again, but what is open stays open.
//
// So, when no file has come: a table or log that the measured manifest names was there
// from the first listing on, since it would be a new one otherwise, and deleted, if at
// all, after the manifest said that it is not needed. Every log but the last was
// complete, since a log is closed before the next one is made, and no next one was
// made. And whatever had been acknowledged before we began is in a log at its measured
// size or, by the manifest, in a table. The last log and the manifest may end within a
// record, which pebble takes for the end of either.
type frozen struct {
	vfs.FS
	dir   string
	files map[string]*held
}

// held is a file that is kept open.
type held struct {
	vfs.File
	info vfs.FileInfo
}

// freezeRounds bounds how often a directory is looked at again. One round takes a
// fraction of a millisecond, and a busy writer makes a file every few.
const freezeRounds = 100

// freeze returns a directory as it is now. Close it.
func freeze(fsys vfs.FS, dir string) (*frozen, error) {
	z := &frozen{FS: fsys, dir: dir, files: map[string]*held{}}
	for range freezeRounds {
		again, err := z.look()
		if err != nil {
			return nil, errors.Join(err, z.close())
		}
		if !again {
			return z, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("%w: %s changes faster than it can be looked at", kv.ErrBusy, dir), z.close())
}

// look opens what is new, measures all, and tells whether more has come.
func (z *frozen) look() (again bool, err error) {
	names, err := z.FS.List(z.dir)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if err := z.hold(name); err != nil {
			return false, err
		}
	}
	if err := z.measure(isManifest); err != nil {
		return false, err
	}
	if err := z.measure(func(name string) bool { return !isManifest(name) }); err != nil {
		return false, err
	}
	names, err = z.FS.List(z.dir)
	return slices.ContainsFunc(names, func(name string) bool {
		return storeFile.MatchString(name) && z.files[name] == nil
	}), err
}

func isManifest(name string) bool { return strings.HasPrefix(name, "MANIFEST-") }

// hold opens a file of the store. It never opens the lock, which closing it again
// would release if this process has it.
func (z *frozen) hold(name string) error {
	if !storeFile.MatchString(name) || z.files[name] != nil {
		return nil
	}
	f, err := z.FS.Open(z.PathJoin(z.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted since it was listed
	}
	if err != nil {
		return err
	}
	z.files[name] = &held{File: f}
	return nil
}

// measure takes the sizes of some files.
func (z *frozen) measure(which func(name string) bool) error {
	for name, f := range z.files {
		if !which(name) {
			continue
		}
		info, err := f.File.Stat()
		if err != nil {
			return err
		}
		f.info = info
	}
	return nil
}

func (z *frozen) close() error {
	var errs []error
	for _, f := range z.files {
		errs = append(errs, f.File.Close())
	}
	return errors.Join(errs...)
}

func (z *frozen) find(name string) (*held, error) {
	f := z.files[z.PathBase(name)]
	if f == nil || z.PathDir(name) != z.dir {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f, nil
}

// List returns the names of the files that are held.
func (z *frozen) List(string) ([]string, error) { return slices.Sorted(maps.Keys(z.files)), nil }

// Lock locks nothing.
func (z *frozen) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Open returns a file that is held.
func (z *frozen) Open(name string, _ ...vfs.OpenOption) (vfs.File, error) {
	f, err := z.find(name)
	if err != nil {
		return nil, err
	}
	return &section{f, io.NewSectionReader(f.File, 0, f.info.Size())}, nil
}

// Stat tells of a file that is held as it was when it was measured.
func (z *frozen) Stat(name string) (vfs.FileInfo, error) {
	if name == z.dir {
		return z.FS.Stat(name)
	}
	f, err := z.find(name)
	if err != nil {
		return nil, err
	}
	return f.info, nil
}

// Nothing is written: pebble, opened read-only, has no reason to.

func (z *frozen) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, kv.ErrReadOnly }
func (z *frozen) Link(string, string) error                              { return kv.ErrReadOnly }
func (z *frozen) Remove(string) error                                    { return kv.ErrReadOnly }
func (z *frozen) RemoveAll(string) error                                 { return kv.ErrReadOnly }
func (z *frozen) Rename(string, string) error                            { return kv.ErrReadOnly }
func (z *frozen) MkdirAll(string, os.FileMode) error                     { return kv.ErrReadOnly }

func (z *frozen) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, kv.ErrReadOnly
}

func (z *frozen) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, kv.ErrReadOnly
}

// section is a file that is held, up to its size, as one who opened it sees it.
type section struct {
	*held
	bytes *io.SectionReader
}

func (s *section) Read(p []byte) (int, error)             { return s.bytes.Read(p) }
func (s *section) ReadAt(p []byte, at int64) (int, error) { return s.bytes.ReadAt(p, at) }
func (s *section) Stat() (vfs.FileInfo, error)            { return s.info, nil }
func (s *section) Write([]byte) (int, error)              { return 0, kv.ErrReadOnly }
func (s *section) WriteAt([]byte, int64) (int, error)     { return 0, kv.ErrReadOnly }
func (s *section) Close() error                           { return nil }

// openReadOnly opens the store on what freeze makes of its directory. What is opened
// beside a writer that opens the store too, and a table that was made, named and given
// up between two listings, by a compaction that left nothing, can be missed: so what
// looks damaged, or to be missing, is looked at again.
func (s *Store) openReadOnly(fsys vfs.FS, o Options) (err error) {
	const attempts = 5
	for range attempts {
		err = s.openFrozen(fsys, o)
		if !errors.Is(err, kv.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

func (s *Store) openFrozen(fsys vfs.FS, o Options) error {
	exists, err := inspect(fsys, s.dir)
	if err != nil {
		return err
	}
	if !exists {
		return fmt.Errorf("pebblekv: there is no store in %s: %w", s.dir, fs.ErrNotExist)
	}
	if s.frozen, err = freeze(fsys, s.dir); err != nil {
		return err
	}
	s.fsys, s.news.fatal = s.frozen, s.news.keep
	if s.db, err = startEngine(s.dir, engineOptions(s.frozen, &s.news, o)); err != nil {
		return errors.Join(err, s.frozen.close())
	}
	return nil
}
