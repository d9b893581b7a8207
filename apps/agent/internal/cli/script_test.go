package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"agent": func() {
			os.Exit(Run(os.Args[1:], System{
				In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv,
				Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
			}))
		},
	})
}

// shared is where files are that are not in the repository.
const shared = "../../../../../shared/testdata"

func TestScript(t *testing.T) {
	absolute, err := filepath.Abs(shared)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "user"))
			env.Setenv("CRABSTORE_HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("TZ", "UTC")
			env.Setenv("TMPDIR", env.WorkDir)
			if _, err := os.Stat(absolute); err == nil {
				env.Setenv("SHARED", absolute)
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
		Condition: func(cond string) (bool, error) {
			_, err := os.Stat(absolute)
			return cond == "shared" && err == nil, nil
		},
	})
}

// exits runs a command and compares its exit code: exits CODE agent …
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command [args…]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if want := args[0]; want != strconv.Itoa(code) {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}
