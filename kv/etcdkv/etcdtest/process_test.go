package etcdtest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

const childVariable = "ETCDTEST_CHILD"

// again runs one of these tests in another process.
func again(t *testing.T, test string, env ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.v", "-test.run=^"+test+"$")
	cmd.Env = append(append(os.Environ(), "TMPDIR="+t.TempDir()), env...)
	return cmd
}

// TestChild starts a server and waits to be killed.
func TestChild(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		t.Skip("for TestServersDieWithTheTestProcess")
	}
	fmt.Println("endpoint", Endpoint(t))
	select {}
}

func TestServersDieWithTheTestProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux kills the children of a process that is killed")
	}
	binary(t)
	cmd := again(t, "TestChild", childVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	endpoint := ""
	for lines := bufio.NewScanner(out); endpoint == "" && lines.Scan(); {
		_, endpoint, _ = strings.Cut(lines.Text(), "endpoint ")
	}
	answers := func() bool {
		c, err := net.Dial("tcp", endpoint)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	if !answers() {
		t.Errorf("the server at %q does not answer while its process lives", endpoint)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for limit := time.Now().Add(patience); answers(); {
		if time.Now().After(limit) {
			t.Fatal("the server has outlived its process")
		}
	}
}

// Where no server can be had a test is skipped and says why, or fails if it must not.
func TestNoServer(t *testing.T) {
	for must, want := range map[string]string{"": "--- SKIP", "1": "--- FAIL"} {
		cmd := again(t, "TestSharedServerIsOne", "CRABSTORE_ETCD=no/such/file", needServers+"="+must)
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), want) || !strings.Contains(string(out), "no/such/file") {
			t.Errorf("with %s=%q: want %s and why in\n%s", needServers, must, want, out)
		}
	}
}
