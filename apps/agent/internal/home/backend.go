package home

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Access says what a store is opened for.
type Access int

const (
	Read   Access = iota // what exists, to be read: nothing is changed, nobody is waited for
	Change               // what exists, to be read and written
	Make                 // the same, and made where it is missing
)

// backend is one kind of store.
type backend struct {
	name string // as in BACKEND:LOCATION
	tag  string // the build tag that brings it; it, or another one, makes it the default
	file string // its store in a home; empty: it lies behind an address
	form string // what a location looks like, for messages

	isDefault bool // this program was built to make such a store where there is none

	open    opener   // nil: it is not in this build
	restore restorer // nil: there is none

	// is tells whether a path that exists holds a store of this kind; nil for an
	// address.
	is func(path string, info os.FileInfo) bool
}

// opener opens the store at a place.
type opener = func(ctx context.Context, place string, access Access) (Store, error)

// restorer makes a store at a place of what Backup wrote.
type restorer = func(ctx context.Context, place string, r io.Reader) error

// The names of the backends.
const (
	Crabdb   = "crabdb"
	SQLite   = "sqlite"
	Pebble   = "pebble"
	JSON     = "json"
	Postgres = "postgres"
	Etcd     = "etcd"
)

// backends are those that the design names, whether or not this program has them.
// The first that a build tag made the default is it, else the first of all.
func backends() []backend {
	return []backend{crabdbBackend(), pebbleBackend(), sqliteBackend(), jsonBackend(), postgresBackend(), etcdBackend()}
}

// What needs more than the default build has two files: one for builds with its tag,
// which says how it is opened, and one for those without.

func pebbleBackend() backend {
	return backend{
		name: Pebble, tag: "pebble", file: "store.pebble", form: "pebble:DIR", isDefault: true,
		open: openPebble, restore: restorePebble,
		is: func(path string, info os.FileInfo) bool { return hasAny(path, info, "marker.manifest.*", "MANIFEST-*") },
	}
}

func jsonBackend() backend {
	return backend{
		name: JSON, tag: "json", file: "store.json", form: "json:DIR", isDefault: true,
		open: openJSON, restore: restoreJSON,
		is: func(path string, info os.FileInfo) bool { return hasAny(path, info, "store.json") },
	}
}

func postgresBackend() backend {
	return backend{name: Postgres, tag: "postgres", form: "postgres://USER@HOST/DATABASE", isDefault: true, open: openPostgres}
}

func etcdBackend() backend {
	return backend{name: Etcd, tag: "etcd", form: "etcd://HOST:2379/NAME", isDefault: true, open: openEtcd}
}

func find(name string) (backend, bool) {
	for _, b := range backends() {
		if b.name == name {
			return b, true
		}
	}
	return backend{}, false
}

// defaultBackend is the kind of store that is made in a home which has none.
func defaultBackend() backend {
	all := backends()
	for _, b := range all {
		if b.isDefault && b.open != nil {
			return b
		}
	}
	return all[0]
}

// BuiltIn lists the backends of this program, the default one first.
func BuiltIn() []string {
	first := defaultBackend().name
	list := []string{first}
	for _, b := range backends() {
		if b.open != nil && b.name != first {
			list = append(list, b.name)
		}
	}
	return list
}

// Local tells of a backend whose stores are files.
func Local(name string) bool {
	b, known := find(name)
	return known && !b.remote()
}

// notBuiltIn says how a program is made that has the backend.
func (b backend) notBuiltIn() error {
	return fmt.Errorf("%w: the backend %s is not in this build, which has %s; build with -tags %s for it", ErrBackend, b.name, names(BuiltIn()), b.tag)
}

// remote tells of a store that lies behind an address.
func (b backend) remote() bool { return b.file == "" }

// in returns where a store of this kind lies in a home.
func (b backend) in(dir string) Location {
	place := ""
	if !b.remote() {
		place = filepath.Join(dir, b.file)
	}
	return Location{Backend: b.name, Place: place, Home: dir}
}

// something tells whether there is anything at a path: more than a file of no bytes
// or an empty folder. A store that is damaged is something too.
func something(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	if info.IsDir() {
		return hasAny(path, info, "*")
	}
	return !info.Mode().IsRegular() || info.Size() > 0
}

// kindAt returns the name of the backend whose store is at a path, by what is in it,
// or nothing.
func kindAt(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	for _, b := range backends() {
		if b.is != nil && b.is(path, info) {
			return b.name
		}
	}
	return ""
}

// begins tells whether a file begins with some bytes.
func begins(path string, info os.FileInfo, with string) bool {
	if !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(with))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == with
}

// hasAny tells whether a folder has an entry that fits one of the patterns.
func hasAny(dir string, info os.FileInfo, patterns ...string) bool {
	if !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			fits, _ := filepath.Match(p, e.Name())
			return fits
		})
	})
}

// names lists backends for messages.
func names(of []string) string { return strings.Join(slices.Sorted(slices.Values(of)), ", ") }
