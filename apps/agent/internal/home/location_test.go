package home

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLocate(t *testing.T) {
	dir := t.TempDir()
	own := Location{Backend: Crabdb, Place: filepath.Join(dir, "store.crmem"), Home: dir}
	lite := Location{Backend: SQLite, Place: filepath.Join(dir, "store.sqlite3"), Home: dir}
	for spec, want := range map[string]Location{
		"":                    defaultBackend().in(dir),
		"crabdb":              own,
		"crabdb:" + own.Place: own,
		"crabdb:x.crmem":      {Backend: Crabdb, Place: "x.crmem"},
		"crabdb:a:b":          {Backend: Crabdb, Place: "a:b"},
		"crabdb:/abs/a b":     {Backend: Crabdb, Place: "/abs/a b"},
		"sqlite":              lite,
		"sqlite:a?b#c%20":     {Backend: SQLite, Place: "a?b#c%20"},
	} {
		if got, err := Locate(spec, dir); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", spec, got, err, want)
		}
	}
	for _, spec := range []string{"x", "crabdb:", "tape:x", ":x", "CRABDB:x", "postgres", "etcd:", "postgres:x"} {
		if _, err := Locate(spec, dir); !errors.Is(err, ErrBackend) {
			t.Errorf("%q: %v, want ErrBackend", spec, err)
		}
	}
}

// What is not built in says by which tag it is.
func TestBackendsThatAreNotBuiltIn(t *testing.T) {
	for _, b := range backends() {
		spec := b.name + ":x"
		if b.remote() {
			spec = b.name + "://x"
		}
		_, err := Locate(spec, t.TempDir())
		if b.open != nil {
			if err != nil {
				t.Errorf("%s: %v", spec, err)
			}
			continue
		}
		if !errors.Is(err, ErrBackend) || !strings.Contains(err.Error(), "build with -tags "+b.tag) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func TestPasswordsAreNotShown(t *testing.T) {
	for place, want := range map[string]string{
		"postgres://me:secret@h/db?realm=a":      "postgres://me:xxxxx@h/db?realm=a",
		"postgres://h/db?password=secret":        "postgres://h/db?password=xxxxx",
		"postgres://me:sec ret%@h/db":            "postgres://…",
		"etcd://root:secret@a:2379,b:2379/name":  "etcd://root:xxxxx@a:2379,b:2379/name",
		"etcd://a:2379,b:2379,c:2379/name?tls=1": "etcd://a:2379,b:2379,c:2379/name?tls=1",
	} {
		backend, _, _ := strings.Cut(place, ":")
		if got := (Location{Backend: backend, Place: place}).String(); got != want {
			t.Errorf("%q is shown as %q, want %q", place, got, want)
		}
	}
}

// put makes a file of a home that is more than an empty one.
func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A home has the store that is in it, one store only, and not another than the one
// that is asked for.
func TestDetection(t *testing.T) {
	const crab, lite, pebbles = "store.crmem", "store.sqlite3", "store.pebble/CURRENT"
	for _, c := range []struct {
		name    string
		has     []string
		config  string // config.toml, if not empty
		spec    string
		backend string // of what is found in the home; empty: refused, by
		wants   []string
	}{
		{name: "an empty home", backend: defaultBackend().name},
		{name: "a damaged store is one too", has: []string{crab}, backend: Crabdb},
		{name: "SQLite", has: []string{lite}, backend: SQLite},
		{name: "two", has: []string{crab, lite}, wants: []string{crab, lite, "move the one"}},
		{name: "two, and one is asked for", has: []string{crab, lite}, spec: "sqlite", wants: []string{crab, lite}},
		{name: "two, and one is configured", has: []string{crab, lite}, config: `store = "crabdb"`, wants: []string{crab, lite}},
		{name: "two, one of which is not built in", has: []string{crab, pebbles}, spec: "crabdb", wants: []string{crab, "store.pebble"}},
		{name: "another is asked for", has: []string{crab}, spec: "sqlite", wants: []string{crab, "sqlite", "migrate --to sqlite --switch"}},
		{name: "another place in the home", has: []string{crab}, spec: "crabdb:{home}/b.crmem", wants: []string{crab, "b.crmem"}},
		{name: "another is configured", has: []string{crab}, config: `store = "sqlite:work.db"`, wants: []string{crab, "config.toml asks for sqlite:", "work.db"}},
		{name: "that one is configured", has: []string{lite}, config: "store = \"sqlite\"", backend: SQLite},
		{name: "configured and not there yet", config: `store = "sqlite"`, backend: SQLite},
		{name: "the command line goes before", config: `store = "sqlite"`, spec: "crabdb", backend: Crabdb},
		{name: "a bad setting", config: `store = "tape:x"`, wants: []string{"tape", "config.toml"}},
		{name: "an unknown setting", config: "stroe = 1", wants: []string{"config.toml, line 1", "stroe"}},
		{name: "no TOML", config: "store = \n", wants: []string{"config.toml, line 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range c.has {
				put(t, dir, name, "something")
			}
			put(t, dir, "store.json/empty", "")
			if err := os.Remove(filepath.Join(dir, "store.json", "empty")); err != nil { // an empty folder is no store
				t.Fatal(err)
			}
			if c.config != "" {
				put(t, dir, configName, c.config)
			}
			l, err := Locate(strings.ReplaceAll(c.spec, "{home}", dir), dir)
			if c.backend != "" {
				if b, _ := find(c.backend); err != nil || l != b.in(dir) {
					t.Errorf("%v, %v, want the one of %s", l, err, c.backend)
				}
				return
			}
			if err == nil {
				t.Fatalf("%v is opened", l)
			}
			for _, want := range c.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("says %q, and not %q", err, want)
				}
			}
		})
	}
}

// What lies elsewhere is no matter of the home.
func TestElsewhere(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	put(t, dir, "store.crmem", "something")
	put(t, dir, "store.sqlite3", "something")
	if l, err := Locate("sqlite:"+filepath.Join(other, "s.db"), dir); err != nil || l.Home != "" {
		t.Errorf("%v, %v", l, err)
	}
	put(t, dir, "copy.crmem", "something") // in the home, but under a name of its own
	if l, err := Locate("crabdb:"+filepath.Join(dir, "copy.crmem"), dir); err != nil || filepath.Base(l.Place) != "copy.crmem" {
		t.Errorf("%v, %v", l, err)
	}
}

// A home whose store another build made is not made anew: it says which build it takes.
func TestHomeOfAnotherBuild(t *testing.T) {
	for _, b := range backends() {
		if b.open != nil || b.remote() {
			continue
		}
		dir := t.TempDir()
		put(t, dir, b.file+"/x", "something")
		l, err := Locate("", dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := OpenWrite(context.Background(), l, nil); !errors.Is(err, ErrBackend) || !strings.Contains(err.Error(), "build with -tags "+b.tag) {
			t.Errorf("%s: %v", l, err)
		}
	}
}

// A file of another backend is named for what it is, and stays as it is.
func TestAnotherBackendsFile(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "s", "SQLite format 3\x00 and so on")
	l := Location{Backend: Crabdb, Place: filepath.Join(dir, "s")}
	_, err := OpenWrite(context.Background(), l, nil)
	if !errors.Is(err, ErrBackend) || !strings.Contains(err.Error(), "write sqlite:") {
		t.Errorf("%v", err)
	}
}

// The store is switched in the configuration and nothing else in it is touched.
func TestSetStore(t *testing.T) {
	const want = "store = 'etcd://h/x'\n"
	for was, becomes := range map[string]string{
		"":                                   want,
		"# mine\n":                           want + "# mine\n",
		"store = \"crabdb\"":                 want,
		"# a\nstore='x' # b\n# c\n":          "# a\n" + want + "# c\n",
		"  store  =  \"\"\"\nsqlite\"\"\"\n": "", // refused: a value of several lines
	} {
		dir := t.TempDir()
		if was != "" {
			put(t, dir, configName, was)
		}
		err := SetStore(dir, "etcd://h/x")
		got, _ := os.ReadFile(filepath.Join(dir, configName))
		if becomes == "" {
			if !errors.Is(err, ErrConfig) || string(got) != was {
				t.Errorf("%q became %q, %v", was, got, err)
			}
			continue
		}
		if err != nil || string(got) != becomes {
			t.Errorf("%q became %q, %v; want %q", was, got, err, becomes)
		}
	}
}
