package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/apps/agent/internal/home"
	"github.com/crabstore/crabstore/apps/agent/internal/home/storetest"
)

// input returns what is imported where the content matters: real sessions where
// there are some, else the samples.
func input(t *testing.T) string {
	t.Helper()
	if input := filepath.Join(shared, "transcripts"); isThere(input) {
		return input
	}
	return filepath.Join("..", "..", "samples")
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// order is the way through the backends, of which another one comes first.
var order = []string{home.SQLite, home.Postgres, home.Pebble, home.Etcd, home.JSON, home.Crabdb}

// A store that went from backend to backend, through all that this build has, and back
// to crabdb holds what it held, byte for byte, and so does each on the way.
func TestMigrationThroughEveryBackend(t *testing.T) {
	inFull(t)
	dir := t.TempDir()
	from := storetest.Spec(t, home.Crabdb)
	if code := codeOf(t, agent(t, dir, "--store", from, "import", "-q", input(t))); code != exitDone && code != exitPartial {
		t.Fatalf("import: exit code %d", code)
	}
	first := output(t, agent(t, dir, "--store", from, "store", "dump"))
	way := home.BuiltIn()
	slices.SortStableFunc(way, func(a, b string) int { return cmp.Compare(slices.Index(order, a), slices.Index(order, b)) })
	for _, b := range way {
		to := storetest.Spec(t, b)
		var done migration
		said := output(t, agent(t, dir, "--store", from, "store", "migrate", "--to", to, "--json"))
		if err := json.Unmarshal([]byte(said), &done); err != nil || done.Entries != int64(strings.Count(first, "\n")) || done.Switch {
			t.Errorf("to %s: it says %s, %v", b, said, err)
		}
		for _, store := range []string{from, to} {
			if now := output(t, agent(t, dir, "--store", store, "store", "dump")); now != first {
				t.Fatalf("%s, from %s to %s: another dump", store, from, to)
			}
		}
		output(t, agent(t, dir, "--store", to, "store", "check"))
		from = to
	}
}

// A switch makes the copy the home's store, and the old one lies aside, whole.
func TestMigrateAndSwitch(t *testing.T) {
	inFull(t)
	for _, b := range home.BuiltIn() {
		if b == home.Crabdb {
			continue
		}
		t.Run(b, func(t *testing.T) {
			dir := t.TempDir()
			run := func(args ...string) string { return output(t, agent(t, dir, args...)) }
			run("--store", "crabdb", "remember", "--name", "legs", "ten")
			before := run("store", "dump")
			to := b
			if !home.Local(b) {
				to = storetest.Spec(t, b)
			}
			run("store", "migrate", "--to", to, "--switch")
			if after := run("store", "dump"); after != before {
				t.Error("another dump")
			}
			if st := run("store", "stats", "--json"); !strings.Contains(st, `"engine":"`+b+`"`) {
				t.Errorf("the home uses %s", st)
			}
			aside := filepath.Join(dir, "store.crmem.migrated-1")
			if old := run("--store", "crabdb:"+aside, "store", "dump"); old != before {
				t.Error("the old store was changed")
			}
			run("remember", "--name", "claws", "two")
			back := agent(t, dir, "store", "migrate", "--to", "crabdb", "--switch")
			output(t, back)
			if got := run("recall", "two", "--json"); !strings.Contains(got, `"claws"`) {
				t.Errorf("recalls %s", got)
			}
		})
	}
}

// A migration that was cut short is gone on with, and nobody takes half a copy for a
// store.
func TestInterruptedMigration(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(t.TempDir(), "copy.crmem")
	run := func(args ...string) string { return output(t, agent(t, dir, args...)) }
	run("remember", "--name", "legs", "ten")
	// what a copy cut short leaves: a mark, part of the entries, and one that the source has no more
	half := "crabdb:" + to + ".migrating"
	load := agent(t, dir, "--store", half, "store", "load")
	load.Stdin = strings.NewReader("2 6c6f63616c2f6d656d6f72792f6f6c64 61\n")
	output(t, load)
	c := agent(t, dir, "store", "migrate", "--to", "crabdb:"+to)
	output(t, c)
	if got, want := run("--store", "crabdb:"+to, "store", "dump"), run("store", "dump"); got != want {
		t.Errorf("the copy holds\n%s\nand the source\n%s", got, want)
	}
	if isThere(to+".migrating") || isThere(to+".migrating.lock") {
		t.Error("something is left beside the copy")
	}
}

// What is refused says why, and touches nothing.
func TestRefusedMigrations(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	run := func(args ...string) string { return output(t, agent(t, dir, args...)) }
	run("--store", "crabdb", "remember", "--name", "legs", "ten")
	other := "crabdb:" + filepath.Join(elsewhere, "other.crmem")
	run("--store", other, "remember", "--name", "claws", "two")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{}, exitUsage, "--to is missing"},
		{[]string{"--to", "tape:x"}, exitUsage, "unknown backend"},
		{[]string{"--to", "sqlite"}, exitUsage, "a home has one store; add --switch"},
		{[]string{"--to", "crabdb"}, exitUsage, "is at"},
		{[]string{"--to", other}, exitFailed, "other.crmem: file already exists"},
		{[]string{"--store", other, "--to", "sqlite", "--switch"}, exitUsage, "changes which store the home has"},
		{[]string{"--to", "crabdb:" + filepath.Join(elsewhere, "no", "such", "x")}, exitFailed, "no such"},
	} {
		cmd := agent(t, dir, append([]string{"store", "migrate"}, c.args...)...)
		if code := codeOf(t, cmd); code != c.code || !strings.Contains(stderrOf(cmd), c.says) {
			t.Errorf("%q: exit code %d, says %s; want %d and %q", c.args, code, stderrOf(cmd), c.code, c.says)
		}
	}
	for _, d := range []string{dir, elsewhere} {
		files, err := os.ReadDir(d)
		if err != nil || len(files) > 2 { // the store and its lock
			t.Errorf("%v, %v", files, err)
		}
	}
}
