package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/crabstore/crabstore/apps/agent/internal/home"
	"github.com/crabstore/crabstore/apps/agent/internal/home/storetest"
)

// everyCommand is a life with the command line, in which every command has its turn.
// {dir} is a folder that is made anew for each backend.
var everyCommand = []string{
	"import --sample -q",
	"search flaky reconnect",
	"search reconnect --json",
	"sessions list",
	"sessions list --json",
	"sessions show {session}",
	"sessions export {session}",
	"remember --name legs 'A crab has ten legs.'",
	"remember --name claws 'and two claws'",
	"recall crab",
	"memories list",
	"forget legs",
	"recall crab",
	"agents add {dir}/agent.toml",
	"agents list",
	"agents show crab",
	"skills add {dir}/SKILL.md",
	"skills list",
	"skills show counting",
	"harnesses add h {dir}/image",
	"harnesses list",
	"store check",
	"store reindex",
	"store check",
	"search flaky reconnect",
	"store read-state",
	"sessions delete --yes {session}",
	"sessions list",
	"store check",
}

const session = "6FP950KC"

// Every command does and says the same on every backend that this build has.
func TestEveryCommandOnEveryBackend(t *testing.T) {
	inFull(t)
	want := life(t, home.Crabdb)
	for _, backend := range home.BuiltIn() {
		if backend == home.Crabdb {
			continue
		}
		t.Run(backend, func(t *testing.T) {
			got := life(t, backend)
			for i, command := range everyCommand {
				if got[i] != want[i] {
					t.Errorf("%s says\n%s\nand with crabdb\n%s", command, got[i], want[i])
				}
			}
		})
	}
}

// life runs all commands on a new store and returns what each said.
func life(t *testing.T, backend string) (said []string) {
	t.Helper()
	dir, store := t.TempDir(), storetest.Spec(t, backend)
	for name, content := range map[string]string{
		"agent.toml": "name = \"crab\"\ndescription = \"You count legs.\"\n",
		"SKILL.md":   "---\nname: counting\ndescription: Counts legs.\n---\nOne, two.\n",
		"image":      "\x00\xff an image",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range everyCommand {
		c := agent(t, dir, append([]string{"--store", store}, split(strings.NewReplacer("{dir}", dir, "{session}", session).Replace(line))...)...)
		var out bytes.Buffer
		c.Stdout = &out
		code := codeOf(t, c)
		said = append(said, normal(fmt.Sprintf("exit %d\n%s%s", code, out.String(), stderrOf(c)), dir))
		if code != exitDone {
			t.Errorf("%s: %s: exit code %d: %s", backend, line, code, stderrOf(c))
		}
	}
	return said
}

// split splits a command line at spaces outside of quotes.
func split(line string) (list []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		list = append(list, m[1]+m[2])
	}
	return list
}

// normal leaves out of what was said what is another each time: times of this run,
// ids and the folder.
func normal(said, dir string) string {
	said = strings.ReplaceAll(said, dir, "{dir}")
	said = regexp.MustCompile(`[0-7][0-9A-HJKMNP-TV-Z]{25}`).ReplaceAllString(said, "{id}")
	return regexp.MustCompile(`20\d\d-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`).ReplaceAllString(said, "{time}")
}

// Processes that write one store at once lose nothing, and its indexes agree: they
// wait for each other, or share the database.
func TestProcessesOnOneBackend(t *testing.T) {
	inFull(t)
	for _, backend := range home.BuiltIn() {
		t.Run(backend, func(t *testing.T) {
			dir, store := t.TempDir(), storetest.Spec(t, backend)
			output(t, agent(t, dir, "--store", store, "remember", "--name", "first", "here"))
			const each = 6
			sources := []string{"claude-code", "codex", "pi", "opencode"}
			var all []*exec.Cmd
			for i := range 2 {
				for _, source := range sources[2*i : 2*i+2] {
					all = append(all, agent(t, dir, "--store", store, "import", "-q", filepath.Join("..", "..", "samples", source)))
				}
			}
			for i := range each {
				all = append(all, agent(t, dir, "--store", store, "remember", "--name", fmt.Sprint("note-", i), fmt.Sprint("lobster ", i)))
			}
			for _, c := range all {
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range all {
				if err := c.Wait(); err != nil {
					t.Errorf("%q: %v\n%s", c.Args, err, stderrOf(c))
				}
			}
			run := func(args ...string) string {
				return output(t, agent(t, dir, append([]string{"--store", store}, args...)...))
			}
			if n := strings.Count(run("recall", "lobster", "--json", "--limit", "50"), `"name"`); n != each {
				t.Errorf("%d memories are found, want %d", n, each)
			}
			if n := strings.Count(run("sessions", "list", "--json"), "\n"); n != 5 {
				t.Errorf("%d sessions, want 5", n)
			}
			run("store", "check")
		})
	}
}

// Stores of several realms behind one address see nothing of each other, whatever is
// asked of them.
func TestRealmsOfOneBackend(t *testing.T) {
	inFull(t)
	for _, backend := range home.BuiltIn() {
		if home.Local(backend) {
			continue
		}
		t.Run(backend, func(t *testing.T) {
			dir, address := t.TempDir(), storetest.Spec(t, backend)
			join := "?"
			if strings.Contains(address, "?") {
				join = "&"
			}
			in := func(realm string, args ...string) *exec.Cmd {
				return agent(t, dir, append([]string{"--store", address + join + "realm=" + realm}, args...)...)
			}
			for _, realm := range []string{"acme", "acme%2Fb", "beta"} {
				output(t, in(realm, "remember", "--name", "whose", realm))
			}
			acme := output(t, in("acme", "store", "dump"))
			if strings.Contains(acme, "62657461") || !strings.Contains(acme, "61636d65") { // beta, acme
				t.Errorf("acme holds\n%s", acme)
			}
			for realm, want := range map[string]string{"acme": "acme", "acme%2Fb": "acme%2Fb", "beta": "beta"} {
				if got := output(t, in(realm, "memories", "list", "--json")); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"content":"`+want+`"`) {
					t.Errorf("%s has the memories %s", realm, got)
				}
				keys := fmt.Sprintf(`"keys":%d,`, strings.Count(output(t, in(realm, "store", "dump")), "\n"))
				if got := output(t, in(realm, "store", "stats", "--json")); !strings.Contains(got, keys) {
					t.Errorf("%s: stats %s, want %s", realm, got, keys)
				}
			}
			if got := output(t, agent(t, dir, "--store", address, "memories", "list")); got != "" {
				t.Errorf("the default realm has the memories %s", got)
			}
			c := in("acme", "store", "migrate", "--to", storetest.Spec(t, home.SQLite))
			if code := codeOf(t, c); code != exitUsage || !strings.Contains(stderrOf(c), "realm") {
				t.Errorf("to another realm: exit code %d, %s", code, stderrOf(c))
			}
		})
	}
}

// inFull skips a test of dozens of processes when tests are to be short: under the race
// detector each of them takes a second to end.
func inFull(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("dozens of processes: run without -short")
	}
}
