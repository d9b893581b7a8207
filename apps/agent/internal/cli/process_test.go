package cli

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv/crabkv"
)

// agent returns the command in a home of its own. Its binary is this test's.
func agent(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command("agent", args...)
	c.Env = append(os.Environ(), "CRABSTORE_HOME="+home, "HOME="+home, "TZ=UTC")
	c.Stderr = &bytes.Buffer{}
	return c
}

func stderrOf(c *exec.Cmd) string { return c.Stderr.(*bytes.Buffer).String() }

// output runs a command that has to do well.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%.200q: %v\n%.2000s", c.Args, err, stderrOf(c))
	}
	return string(out)
}

// codeOf runs a command and returns its exit code, -1 if a signal ended it.
func codeOf(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

// Every file that another implementation wrote is dumped as that one says, the torn
// ones too.
func TestDumpOfForeignStores(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared, "crmem", "*.crmem"))
	if err != nil {
		t.Fatal(err)
	}
	crashed, err := filepath.Glob(filepath.Join(shared, "crmem", "crash", "*.crmem"))
	if err != nil {
		t.Fatal(err)
	}
	if files = append(files, crashed...); len(files) == 0 {
		t.Skip("no store files at ", shared)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".crmem"), func(t *testing.T) {
			want, err := os.ReadFile(strings.TrimSuffix(file, ".crmem") + ".dump")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			path := filepath.Join(dir, "copy.crmem")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o400); err != nil { // read-only media will do
				t.Fatal(err)
			}
			if got := output(t, agent(t, dir, "--store", "crabdb:"+path, "store", "dump")); got != string(want) {
				t.Errorf("dumped %q, want %q", got, want)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("beside the store is %v, %v", left, err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, data) {
				t.Errorf("the file was changed, %v", err)
			}
		})
	}
}

// Everything that is a session is imported from the transcripts of many programs,
// and a second run adds nothing.
func TestSharedTranscripts(t *testing.T) {
	input := filepath.Join(shared, "transcripts")
	if _, err := os.Stat(input); err != nil {
		t.Skip("no transcripts at ", shared)
	}
	home := t.TempDir()
	first := agent(t, home, "import", "--json", input)
	if code := codeOf(t, first); code != exitDone && code != exitPartial {
		t.Fatalf("exit code %d\n%s", code, stderrOf(first))
	}
	dump := output(t, agent(t, home, "store", "dump"))
	output(t, agent(t, home, "import", "--json", input))
	if again := output(t, agent(t, home, "store", "dump")); again != dump {
		t.Error("the second import changed the store")
	}
	output(t, agent(t, home, "store", "check"))
}

// A21: a store that another holds says who it is, and what reads works beside it.
func TestA21_LockedStore(t *testing.T) {
	home := t.TempDir()
	output(t, agent(t, home, "remember", "crabs have ten legs"))
	s, err := crabkv.Open(filepath.Join(home, "store.crmem"), crabdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := agent(t, home, "remember", "and two claws")
	if code := codeOf(t, c); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	for _, want := range []string{"store.crmem is held by pid ", "try again when it has ended"} {
		if !strings.Contains(stderrOf(c), want) {
			t.Errorf("says %q, and not %q", stderrOf(c), want)
		}
	}
	for _, args := range [][]string{{"recall", "legs"}, {"search", "legs"}, {"memories", "list"}, {"sessions", "list"},
		{"store", "stats"}, {"store", "check"}, {"store", "dump"}, {"store", "backup", filepath.Join(home, "copy")}} {
		output(t, agent(t, home, args...))
	}
}

// Whoever reads the output and has enough is no failure to be told of.
func TestBrokenPipe(t *testing.T) {
	home := t.TempDir()
	long := agent(t, home, "remember", "-")
	long.Stdin = strings.NewReader(strings.Repeat("words and words ", 20_000))
	output(t, long)
	c := agent(t, home, "store", "dump")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if err := c.Wait(); err == nil {
		t.Error("it was not noticed that nobody reads")
	}
	if stderrOf(c) != "" {
		t.Errorf("says %q", stderrOf(c))
	}
}

// One interrupt is enough, also where the program waits for its input.
func TestInterruptedInput(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "store.crmem")
	c := agent(t, home, "store", "load")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for { // until it is where it reads
		if _, err := os.Stat(path); err == nil {
			break
		}
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	if code := c.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	if !strings.Contains(stderrOf(c), "interrupted") {
		t.Errorf("says %q", stderrOf(c))
	}
}

// A damaged store says where it is damaged, and what can be read of it is read.
func TestDamagedStore(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "store.crmem")
	for _, word := range []string{"anchor", "barnacle", "crab"} {
		output(t, agent(t, home, "remember", "--name", word, "something about a "+word))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte("something about a barnacle"))
	if at < 0 {
		t.Fatal("the content is not in the file as it is")
	}
	data[at] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	check := agent(t, home, "store", "check")
	check.Stdout = &bytes.Buffer{}
	if code := codeOf(t, check); code != exitFailed {
		t.Errorf("check: exit code %d, want %d", code, exitFailed)
	}
	if out := check.Stdout.(*bytes.Buffer).String(); !strings.Contains(out, "file: offset ") {
		t.Errorf("check says %q and %q", out, stderrOf(check))
	}
	dump := agent(t, home, "store", "dump")
	code := codeOf(t, dump)
	if code != exitFailed || !strings.Contains(stderrOf(dump), "offset") || !strings.Contains(stderrOf(dump), "--salvage") {
		t.Errorf("dump: exit code %d, says %q", code, stderrOf(dump))
	}
	salvage := agent(t, home, "store", "dump", "--salvage")
	salvage.Stdout = &bytes.Buffer{}
	if code := codeOf(t, salvage); code != exitPartial || !regexp.MustCompile(`(?m)^left out: offset \d+, \d+ bytes: .*barnacle`).MatchString(stderrOf(salvage)) {
		t.Errorf("salvage: exit code %d, says %q", code, stderrOf(salvage))
	}
	salvaged := salvage.Stdout.(*bytes.Buffer).String()
	for word, want := range map[string]bool{"anchor": true, "crab": true, "barnacle": false} {
		if got := strings.Contains(salvaged, hex.EncodeToString([]byte("something about a "+word))); got != want {
			t.Errorf("what was salvaged has the %s: %v", word, got)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, data) {
		t.Errorf("the damaged file was changed, %v", err)
	}
}

// A21: many that write at once come one after the other, the first of them having
// made the store, and none is turned away.
func TestA21_ParallelWriters(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	const writers = 8
	var all [writers]*exec.Cmd
	for i := range all {
		all[i] = agent(t, home, "remember", "the same words")
		if err := all[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range all {
		if err := c.Wait(); err != nil {
			t.Errorf("%v\n%s", err, stderrOf(c))
		}
	}
	if n := strings.Count(output(t, agent(t, home, "memories", "list", "--json")), "\n"); n != writers {
		t.Errorf("%d are remembered of %d", n, writers)
	}
}
