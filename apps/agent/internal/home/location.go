package home

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Location is where a store lies: a backend, and a path or an address as that
// backend understands it.
type Location struct {
	Backend string
	Place   string
	Own     bool // the default store, whose directory is made where it is missing
}

// Crabdb is the backend of a handwritten single file.
const Crabdb = "crabdb"

// backends are those that the design names, and whether this program has them.
var backends = []struct {
	name  string
	built bool
}{
	{Crabdb, true}, {"pebble", false}, {"sqlite", false}, {"json", false}, {"postgres", false}, {"etcd", false},
}

// storeName is the file of the default store in the home directory.
const storeName = "store.crmem"

// Locate reads BACKEND:LOCATION. Empty means the default store in the directory.
// A backend that is not built in is ErrBackend, as is one that nobody knows.
func Locate(spec, dir string) (Location, error) {
	if spec == "" {
		return Location{Backend: Crabdb, Place: filepath.Join(dir, storeName), Own: true}, nil
	}
	backend, place, found := strings.Cut(spec, ":")
	if !found {
		return Location{}, fmt.Errorf("%w: %q has no backend; for a file write %s:%s", ErrBackend, spec, Crabdb, spec)
	}
	for _, b := range backends {
		switch {
		case b.name != backend:
		case !b.built:
			return Location{}, fmt.Errorf("%w: the backend %s is not in this build (built in: %s)", ErrBackend, backend, names(true))
		case place == "":
			return Location{}, fmt.Errorf("%w: %q names no place; write %s:FILE", ErrBackend, spec, backend)
		default:
			return Location{Backend: backend, Place: place}, nil
		}
	}
	return Location{}, fmt.Errorf("%w: unknown backend %q; known are %s (built in: %s)", ErrBackend, backend, names(false), names(true))
}

// String returns the location as it is written on the command line.
func (l Location) String() string { return l.Backend + ":" + l.Place }

// names lists the backends, or those that are built in.
func names(builtOnly bool) string {
	var list []string
	for _, b := range backends {
		if b.built || !builtOnly {
			list = append(list, b.name)
		}
	}
	return strings.Join(slices.Sorted(slices.Values(list)), ", ")
}
