package home

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Location is where a store lies: a backend, and a path or an address as that
// backend understands it.
type Location struct {
	Backend string
	Place   string
	Home    string // the home directory in which it lies, which is made where it is missing; empty: elsewhere
}

// Locate finds the store of a home. spec is what the command line says, as
// BACKEND:LOCATION, or as BACKEND alone for the one that lies in the home; where it
// says nothing the configuration does; where that does not either, it is the store
// that the home has, and in an empty one the default backend's.
//
// ErrTwoStores is returned for a home that holds two stores, and for a home that
// holds another than the one it is asked for or its configuration names. A store
// elsewhere that the command line names is no matter of the home.
func Locate(spec, dir string) (Location, error) {
	config, err := ReadConfig(dir)
	if err != nil {
		return Location{}, err
	}
	there := present(dir)
	if spec == "" && config.Store == "" {
		if len(there) > 1 {
			return Location{}, tooMany(dir, there)
		}
		return append(there, defaultBackend().in(dir))[0], nil
	}
	asked, err := parseOf(spec, config.Store, dir)
	if err != nil {
		return Location{}, err
	}
	if spec != "" && !asked.ofHome() {
		return asked, nil
	}
	switch {
	case len(there) > 1:
		return Location{}, tooMany(dir, there)
	case len(there) == 1 && there[0] != asked:
		return Location{}, another(dir, there[0], asked, spec == "")
	}
	return asked, nil
}

// DefaultStore says, for people, which store is made in a home that has none.
func DefaultStore() string {
	b := defaultBackend()
	return b.name + ":" + cmp.Or(b.in("{home}").Place, "//…")
}

// parseOf reads what the command line says, or else the configuration, in which a
// path begins at the home.
func parseOf(spec, config, dir string) (Location, error) {
	if spec != "" {
		return Parse(spec, dir)
	}
	l, err := Parse(config, dir)
	if err != nil {
		return l, fmt.Errorf("%w (in %s)", err, filepath.Join(dir, configName))
	}
	if Local(l.Backend) && !filepath.IsAbs(l.Place) {
		l = within(dir, Location{Backend: l.Backend, Place: filepath.Join(dir, l.Place)})
	}
	return l, nil
}

// Parse reads BACKEND:LOCATION, or BACKEND alone for the store in a home. A backend
// that is not built in is ErrBackend, as is one that nobody knows. It looks at no
// disk.
func Parse(spec, dir string) (Location, error) {
	name, place, found := strings.Cut(spec, ":")
	if name == "postgresql" {
		name = Postgres
	}
	b, known := find(name)
	switch {
	case !known && !found:
		return Location{}, fmt.Errorf("%w: %q has no backend; for a file write %s:%s", ErrBackend, spec, Crabdb, spec)
	case !known:
		return Location{}, fmt.Errorf("%w: unknown backend %q; known are %s (built in: %s)", ErrBackend, name, names(all()), names(BuiltIn()))
	case b.open == nil:
		return Location{}, b.notBuiltIn()
	case found && place == "", !found && b.remote():
		return Location{}, fmt.Errorf("%w: %q names no place; write %s", ErrBackend, spec, b.form)
	case !found:
		return b.in(dir), nil
	case b.remote():
		if !strings.HasPrefix(place, "//") {
			return Location{}, fmt.Errorf("%w: %q is no address; write %s", ErrBackend, Location{Backend: name, Place: spec}, b.form)
		}
		return Location{Backend: name, Place: name + ":" + place}, nil
	}
	return within(dir, Location{Backend: name, Place: place}), nil
}

func all() (list []string) {
	for _, b := range backends() {
		list = append(list, b.name)
	}
	return list
}

// within returns the location with the home in which it lies, if that is this one.
func within(dir string, l Location) Location {
	path, err := filepath.Abs(l.Place)
	if err == nil && filepath.Dir(path) == filepath.Clean(dir) {
		l.Place, l.Home = path, dir
	}
	return l
}

// ofHome tells of the store of a home, or what would become one in it. One that lies
// there under another name, as a copy does, is as good as elsewhere.
func (l Location) ofHome() bool {
	return l.Home != "" && (l.own() || !something(l.Place))
}

// present returns the stores that a home has under the names that they have there,
// whether or not this program can open them.
func present(dir string) (there []Location) {
	for _, b := range backends() {
		if l := b.in(dir); !b.remote() && something(l.Place) {
			there = append(there, l)
		}
	}
	return there
}

func tooMany(dir string, there []Location) error {
	return fmt.Errorf("%w %s holds %s and %s, each with a history of its own, and neither is chosen for you; "+
		"move the one that is not wanted out of there (--store BACKEND:LOCATION opens it where it then lies)",
		ErrTwoStores, dir, there[0], there[1])
}

func another(dir string, there, asked Location, configured bool) error {
	by := "--store"
	if configured {
		by = configName
	}
	return fmt.Errorf("%w %s holds %s, and %s asks for %s, which would begin another history; "+
		"leave out the setting, or take the history along: agent --store %s store migrate --to %s --switch",
		ErrTwoStores, dir, there, by, asked, there.Backend, asked.spec())
}

// String returns the location as it is written on the command line, without a
// password.
func (l Location) String() string {
	if b, known := find(l.Backend); !known || !b.remote() {
		return l.Backend + ":" + l.Place
	}
	u, err := url.Parse(l.Place)
	if err != nil {
		return l.Backend + "://…"
	}
	q := u.Query()
	if q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

// spec is String for what lies in the home, and the shortest that names it.
func (l Location) spec() string {
	if l.own() {
		return l.Backend
	}
	return l.String()
}

// own tells of a location that is the one of its backend in its home.
func (l Location) own() bool {
	b, _ := find(l.Backend)
	return l.Home != "" && l == b.in(l.Home)
}
