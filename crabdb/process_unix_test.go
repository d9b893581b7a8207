//go:build unix

package crabdb

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// The test binary, started with this in its environment, is another process that
// works on a store as it is told on its standard input.
const childEnv = "CRABDB_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		serve(os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

// serve runs commands, one a line: words that are quoted as in Go. It answers each
// with a line, "ok" and a result or "error" and a message.
func serve(in io.Reader, out io.Writer) {
	var db *DB
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var words [3]string
		n, _ := fmt.Sscanf(lines.Text(), "%q %q %q", &words[0], &words[1], &words[2])
		result, err := perform(&db, words[:n])
		if err != nil {
			fmt.Fprintf(out, "error %q\n", err)
		} else {
			fmt.Fprintf(out, "ok %q\n", result)
		}
	}
}

func perform(db **DB, words []string) (result string, err error) {
	switch words[0] {
	case "uid":
		return "", setUID(words[1])
	case "chdir":
		return "", os.Chdir(words[1])
	case "open", "open read-only":
		opts := quiet()
		opts.ReadOnly = words[0] != "open"
		*db, err = Open(words[1], opts)
	case "write":
		err = runWriters(words[1], words[2], os.Stdout)
	case "put":
		err = (*db).Put(ctx, 1, []byte(words[1]), []byte(words[2]))
	case "get":
		var b []byte
		b, err = (*db).Get(ctx, 1, []byte(words[1]))
		result = string(b)
	case "compact":
		err = (*db).Compact(ctx)
	case "checkpoint":
		err = (*db).Checkpoint(ctx)
	case "refresh":
		err = (*db).Refresh(ctx)
	case "close":
		err = (*db).Close()
	default:
		err = fmt.Errorf("unknown command %q", words[0])
	}
	return result, err
}

func setUID(s string) error {
	var n int
	if _, err := fmt.Sscan(s, &n); err != nil {
		return err
	}
	return errors.Join(syscall.Setgid(n), syscall.Setuid(n))
}

// child is another process.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T) *child {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	c := &child{t: t, cmd: exec.Command(exe, "-test.run=^$")}
	c.cmd.Env = append(os.Environ(), childEnv+"=1")
	c.cmd.Dir = t.TempDir()
	c.cmd.Stderr = os.Stderr
	c.in, err = c.cmd.StdinPipe()
	must(t, err)
	out, err := c.cmd.StdoutPipe()
	must(t, err)
	c.out = bufio.NewReader(out)
	must(t, c.cmd.Start())
	t.Cleanup(c.kill)
	return c
}

// ask runs a command and returns its result.
func (c *child) ask(words ...string) (string, error) {
	c.t.Helper()
	var line strings.Builder
	for _, w := range words {
		fmt.Fprintf(&line, "%q ", w)
	}
	_, err := fmt.Fprintln(c.in, line.String())
	must(c.t, err)
	answer, err := c.out.ReadString('\n')
	must(c.t, err)
	var kind, result string
	if _, err := fmt.Sscanf(answer, "%s %q", &kind, &result); err != nil {
		c.t.Fatalf("the child answered %q", answer)
	}
	if kind != "ok" {
		return "", errors.New(result)
	}
	return result, nil
}

// do runs a command that has to succeed.
func (c *child) do(words ...string) string {
	c.t.Helper()
	result, err := c.ask(words...)
	if err != nil {
		c.t.Fatalf("%q: %v", words, err)
	}
	return result
}

// kill ends the process with SIGKILL and waits until it is gone.
func (c *child) kill() {
	if c.cmd.ProcessState == nil {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	}
}
