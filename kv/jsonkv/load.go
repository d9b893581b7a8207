package jsonkv

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/internal/frozen"
)

// state is all that a store holds, and never changes.
type state struct {
	entries   frozen.Map[[]byte]            // by place
	documents frozen.Map[frozen.Map[*line]] // by name, and in each by place
}

func (s *state) put(name, at string, value []byte) {
	document, _ := s.documents.Get(name)
	s.entries = s.entries.Put(at, value)
	s.documents = s.documents.Put(name, document.Put(at, &line{value: value}))
}

func (s *state) delete(name, at string) {
	document, _ := s.documents.Get(name)
	s.entries = s.entries.Delete(at)
	s.documents = s.documents.Put(name, document.Delete(at))
}

// survey tells in which files a store is: for each document its file, which is still a
// new one when a commit has been written down and not yet been carried out.
type survey map[string]source

type source struct {
	file string
	info fs.FileInfo
}

// errMoving says that files changed while they were looked at.
var errMoving = errors.New("files change")

// look surveys a directory.
func look(d disk) (survey, *commit, error) {
	c, err := readCommit(d)
	if err != nil {
		return nil, nil, err
	}
	found := survey{}
	for _, dir := range []string{".", sessionsDir} {
		names, err := d.ReadDir(dir)
		if err != nil && !(dir == sessionsDir && errors.Is(err, fs.ErrNotExist)) {
			return nil, nil, err
		}
		for _, base := range names {
			if name := path.Join(dir, base); isDocument(name) && !slices.Contains(c.Remove, name) {
				found[name] = source{file: name}
			}
		}
	}
	for name, from := range c.Replace {
		if _, err := d.Lstat(from); err == nil {
			found[name] = source{file: from}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		} else {
			found[name] = source{file: name} // it has become the document
		}
	}
	for name, s := range found {
		if s.info, err = d.Lstat(s.file); err != nil {
			return nil, nil, moving(err)
		}
		if !s.info.Mode().IsRegular() {
			return nil, nil, fmt.Errorf("%w: %s is no regular file; move it away", kv.ErrCorrupt, s.file)
		}
		found[name] = s
	}
	return found, c, nil
}

// moving tells that a file that was there is not any more.
func moving(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errMoving
	}
	return err
}

func same(d disk, a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return d.Same(a, b)
}

func (s survey) equal(d disk, t survey) bool {
	return maps.EqualFunc(s, t, func(a, b source) bool { return a.file == b.file && same(d, a.info, b.info) })
}

// patience is how often a reader begins anew beside a writer. What did not change in
// between is not read again.
const patience = 1000

// readAll reads all documents as they are at one moment, whoever is writing them: it
// looks before and after, and what is the same then was so in between. It rests on
// this: a commit that is written down counts, no file is the one that it replaced, and
// documents go when all others of the commit have been replaced.
func readAll(d disk) (texts map[string][]byte, found survey, c *commit, err error) {
	var last survey
	for range patience {
		if found, c, err = look(d); err == nil {
			texts, err = found.read(d, last, texts)
			last = found
		}
		if err == nil {
			var again survey
			if again, _, err = look(d); err == nil && found.equal(d, again) {
				return texts, found, c, nil
			}
		}
		if err != nil && err != errMoving {
			return nil, nil, nil, err
		}
	}
	return nil, nil, nil, fmt.Errorf("%w: it is being written without a pause; try again", kv.ErrBusy)
}

// read reads the documents, except those whose texts were read at the last survey and
// are the same. A document whose text is missing is not there any more.
func (s survey) read(d disk, last survey, known map[string][]byte) (texts map[string][]byte, err error) {
	texts = map[string][]byte{}
	for name, from := range s {
		text, ok := known[name]
		if !ok || !same(d, from.info, last[name].info) {
			if text, err = d.ReadFile(from.file); err != nil {
				return texts, moving(err)
			}
		}
		texts[name] = text
	}
	return texts, nil
}

// parseAll makes a state of the documents of a store in dir.
func parseAll(dir string, texts map[string][]byte) (state, error) {
	var all state
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		all.documents = all.documents.Put(name, frozen.Map[*line]{})
		err := parse(name, filepath.Join(dir, filepath.FromSlash(name)), texts[name], func(at string, value []byte) bool {
			if _, ok := all.entries.Get(at); ok {
				return false
			}
			all.put(name, at, value)
			return true
		})
		if err != nil {
			return state{}, err
		}
	}
	return all, nil
}

// inspect tells whether a directory holds a store. One that holds neither that nor
// nothing is refused; what begins with a dot is taken for nothing.
func inspect(d disk, dir string) (found bool, err error) {
	names, err := d.ReadDir(".")
	if err != nil {
		return false, err
	}
	if slices.Contains(names, storeDocument) {
		text, err := d.ReadFile(storeDocument)
		if err != nil {
			return false, err
		}
		p := parser{name: storeDocument, path: filepath.Join(dir, storeDocument), text: text}
		return true, p.header()
	}
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, ".") || name == lockName || isNew(name):
			continue
		case name == sessionsDir:
			if inside, err := d.ReadDir(sessionsDir); err == nil && len(inside) == 0 {
				continue
			}
			return false, fmt.Errorf("%w: %s has no %s beside its %s; put the one back, or move the other away", kv.ErrCorrupt, dir, storeDocument, sessionsDir)
		}
		return false, fmt.Errorf("%w: %s has a %q in it and no %s; name a directory for the store alone", ErrNotStore, dir, name, storeDocument)
	}
	return false, nil
}
