package importer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv/crabkv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// The environment of a child that imports until it is killed.
const (
	childStore  = "CRABSTORE_CHILD_STORE"
	childInput  = "CRABSTORE_CHILD_INPUT"
	childPlain  = "CRABSTORE_CHILD_PLAIN"
	kills       = "CRABSTORE_KILLS" // how often the child is killed; 10 if not said
	childCommit = 60                // messages
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childStore); path != "" {
		if err := importAsChild(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// importAsChild imports, and writes a byte before and after each commit, so that
// the parent kills at all stages of the work and not while the child starts.
func importAsChild(path string) error {
	s, err := crabkv.Open(path, crabdb.Options{Plain: os.Getenv(childPlain) != "", CheckpointEvery: 200_000})
	if err != nil {
		return err
	}
	t := &testing.B{} // for walk, which does not fail
	_, err = os.Stdout.Write([]byte{'o'})
	if err != nil {
		return err
	}
	_, err = Run(context.Background(), s, walk(t, os.Getenv(childInput)), Options{
		chunk:    childCommit,
		Progress: func(Progress) { os.Stdout.Write([]byte{'.'}) },
	})
	if err != nil {
		return err
	}
	return s.Close()
}

// A process killed at any instant of an import leaves a store with which the next
// import comes to the same end as one that nothing disturbed.
func TestKilledImport(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(map[bool]string{false: "sealed", true: "plain"}[plain], func(t *testing.T) { testKilledImport(t, plain) })
	}
}

func testKilledImport(t *testing.T, plain bool) {
	n := 10
	if v := os.Getenv(kills); v != "" {
		n, _ = strconv.Atoi(v)
	} else if testing.Short() {
		n = 3
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	newCorpus(seed).write(t, dir, 1200, 110)
	input := &fixture{t, dir, memkv.New()}
	input.run(Options{})

	path := filepath.Join(t.TempDir(), "store.crmem")
	for left := n; left > 0; left-- {
		if finished := killChild(t, random, path, dir, plain); finished {
			if err := os.Remove(path); err != nil { // begin again
				t.Fatal(err)
			}
		}
	}
	s, err := crabkv.Open(path, crabdb.Options{Plain: plain})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := &fixture{t, dir, s}
	f.run(Options{})
	wantSame(t, s, input.store)
	f.wantSound()
	if faults, err := s.DB().Check(context.Background()); err != nil || len(faults) > 0 {
		t.Errorf("the file: %v, %v", faults, err)
	}
	if again := f.run(Options{}); again.Changed() {
		t.Errorf("another run changed %+v", again.Formats)
	}
}

// killChild has a child import and kills it at a random instant: after a number of
// its commits, and some part of the time that one takes. It returns true when the
// child was faster.
func killChild(t *testing.T, random *rand.Rand, path, input string, plain bool) bool {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childStore+"="+path, childInput+"="+input)
	if plain {
		child.Env = append(child.Env, childPlain+"=1")
	}
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	signs := bufio.NewReader(out)
	began := time.Now()
	for range 1 + random.IntN(12) {
		if _, err := signs.ReadByte(); err != nil {
			break
		}
	}
	pause := time.NewTimer(time.Duration(random.Int64N(int64(time.Since(began))/4 + 1)))
	<-pause.C
	child.Process.Signal(syscall.SIGKILL)
	io.Copy(io.Discard, out)
	err = child.Wait()
	if err != nil && child.ProcessState.ExitCode() > 0 {
		t.Fatalf("the child failed by itself: %v", err)
	}
	return err == nil
}
