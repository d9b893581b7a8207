package jsonkv

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// commit is what is to be done to the documents. One that concerns several is written
// down, and from then on is done, for whoever reads; a crash before that leaves files
// that nobody asks for, and one after it a commit that is carried out by the next who
// opens the store for writing.
type commit struct {
	Format  string            `json:"format"`
	Version int               `json:"version"`
	Replace map[string]string `json:"replace,omitempty"` // documents, and the new files that become them
	Remove  []string          `json:"remove,omitempty"`
}

// readCommit reads the commit that is to be carried out, and an empty one if there is
// none.
func readCommit(d disk) (*commit, error) {
	data, err := d.ReadFile(commitName)
	if errors.Is(err, fs.ErrNotExist) {
		return &commit{}, nil
	} else if err != nil {
		return nil, err
	}
	var c commit
	if err := json.Unmarshal(data, &c); err != nil || c.Format != commitFormat || c.Version < 1 {
		return nil, fmt.Errorf("%w: %s: want a commit with \"format\": %q; without it the documents may be of two moments: restore a backup, or move it away and look at them", kv.ErrCorrupt, commitName, commitFormat)
	}
	if c.Version > formatVersion {
		return nil, fmt.Errorf("%w: %s is of version %d, this program knows versions up to %d; use a newer one", ErrVersion, commitName, c.Version, formatVersion)
	}
	for name, from := range c.Replace {
		if !isDocument(name) || !isNew(from) || path.Dir(from) != path.Dir(name) {
			return nil, fmt.Errorf("%w: %s replaces %.40q by %.40q", kv.ErrCorrupt, commitName, name, from)
		}
	}
	for _, name := range c.Remove {
		if !isDocument(name) || name == storeDocument {
			return nil, fmt.Errorf("%w: %s removes %.40q", kv.ErrCorrupt, commitName, name)
		}
	}
	return &c, nil
}

const commitFormat = formatName + "-commit"

// writer writes documents. It is for one goroutine at a time.
type writer struct {
	disk
	stamps   map[string]fs.FileInfo // of the documents, as they were read or written
	last     time.Time              // of all modifications; each has a time of its own
	poisoned error
}

// write makes those documents that are dirty what they are in next, all or none. An
// error is ErrPoisoned when it is not known which.
func (w *writer) write(next *state, dirty map[string]bool) error {
	if w.poisoned != nil {
		return w.poisoned
	}
	c := &commit{Format: commitFormat, Version: formatVersion, Replace: map[string]string{}}
	stamps := map[string]fs.FileInfo{}
	err := w.prepare(c, stamps, next, dirty)
	if err == nil {
		err = w.commit(c)
	}
	if err != nil {
		if w.poisoned == nil {
			w.discard(c)
		}
		return err
	}
	maps.Copy(w.stamps, stamps)
	for _, name := range c.Remove {
		delete(w.stamps, name)
	}
	return nil
}

// prepare writes the files that are to become documents.
func (w *writer) prepare(c *commit, stamps map[string]fs.FileInfo, next *state, dirty map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(dirty)) {
		if err := w.untouched(name); err != nil {
			return err
		}
		document, _ := next.documents.Get(name)
		was, mode := w.stamps[name], fs.FileMode(0o600)
		if was != nil {
			mode = was.Mode().Perm()
		}
		if document.Len() == 0 && name != storeDocument {
			if was != nil {
				c.Remove = append(c.Remove, name)
			}
			continue
		}
		file, err := w.create(path.Dir(name), render(document), mode)
		if err != nil {
			return err
		}
		c.Replace[name] = file
		if stamps[name], err = w.Lstat(file); err != nil {
			return err
		}
	}
	return nil
}

// untouched wants a document to be as it was read or written: what somebody changed
// meanwhile is not overwritten.
func (w *writer) untouched(name string) error {
	info, err := w.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return err
	}
	if !same(w, info, w.stamps[name]) {
		return fmt.Errorf("%w: %s; nothing was written: close the store, open it again, and try again", ErrEdited, name)
	}
	return nil
}

// create writes a new file, and leaves nothing if it cannot.
func (w *writer) create(dir string, data []byte, mode fs.FileMode) (string, error) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	name := path.Join(dir, newPrefix+hex.EncodeToString(random[:]))
	if now := time.Now(); now.After(w.last) {
		w.last = now
	} else {
		w.last = w.last.Add(1)
	}
	err := w.Create(name, data, mode, w.last)
	if err != nil {
		_ = w.Remove(name)
	}
	return name, err
}

// discard removes what is not needed any more, as far as it can; the next who opens
// the store does so too.
func (w *writer) discard(c *commit) {
	for _, file := range c.Replace {
		_ = w.Remove(file)
	}
}

// commit does what a commit says, at one moment.
func (w *writer) commit(c *commit) error {
	switch {
	case len(c.Replace)+len(c.Remove) > 1:
		return w.commitSeveral(c)
	case len(c.Remove) == 1:
		name := c.Remove[0]
		return w.decide(name, path.Dir(name), func() error { return w.Remove(name) })
	}
	for name, file := range c.Replace {
		return w.decide(file, path.Dir(name), func() error { return w.Rename(file, name) })
	}
	return nil
}

// commitSeveral writes the commit down, as soon as everything that it names lasts,
// and carries it out.
func (w *writer) commitSeveral(c *commit) error {
	for _, dir := range c.dirs() {
		if err := w.SyncDir(dir); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	file, err := w.create(".", append(data, '\n'), 0o600)
	if err != nil {
		return err
	}
	if err := w.decide(file, ".", func() error { return w.Rename(file, commitName) }); err != nil {
		if w.poisoned == nil {
			_ = w.Remove(file)
		}
		return err
	}
	return w.poison(w.carryOut(c))
}

// decide takes the step that makes a commit, in a directory. The step takes away a
// file: as long as that is there, it was not taken.
func (w *writer) decide(file, dir string, step func() error) error {
	if err := step(); err != nil {
		if _, gone := w.Lstat(file); gone == nil {
			return err
		}
		return w.poison(err)
	}
	return w.poison(w.SyncDir(dir))
}

func (w *writer) poison(err error) error {
	if err != nil {
		w.poisoned = fmt.Errorf("%w: %w", ErrPoisoned, err)
		err = w.poisoned
	}
	return err
}

// dirs returns the directories of the documents that a commit replaces.
func (c *commit) dirs() []string {
	dirs := map[string]bool{}
	for name := range c.Replace {
		dirs[path.Dir(name)] = true
	}
	return slices.Sorted(maps.Keys(dirs))
}

// carryOut does what a commit that is written down says, from wherever it was left
// off. Documents are removed last, so that a reader who finds one gone finds the
// others replaced; and the commit goes when all of that lasts, since it would undo
// later ones if it came back.
func (w *writer) carryOut(c *commit) error {
	for name, file := range c.Replace {
		if err := w.Rename(file, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range c.Remove {
		if err := w.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, dir := range []string{sessionsDir, "."} {
		if err := w.SyncDir(dir); err != nil {
			return err
		}
	}
	if err := w.Remove(commitName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return w.SyncDir(".")
}

// tidy removes new files that became nothing.
func (w *writer) tidy() error {
	for _, dir := range []string{".", sessionsDir} {
		names, err := w.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, base := range names {
			if isNew(base) {
				if err := w.Remove(path.Join(dir, base)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
