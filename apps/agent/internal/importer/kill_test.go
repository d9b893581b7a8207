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

	"github.com/crabstore/crabstore/apps/agent/internal/home"
	"github.com/crabstore/crabstore/crabdb"
	"github.com/crabstore/crabstore/kv/crabkv"
	"github.com/crabstore/crabstore/kv/memkv"
)

// The environment of a child that imports until it is killed.
const (
	childStore  = "CRABSTORE_CHILD_STORE"
	childInput  = "CRABSTORE_CHILD_INPUT"
	childKind   = "CRABSTORE_CHILD_KIND"
	kills       = "CRABSTORE_KILLS" // how often the child is killed, for each kind of store; 10 if not said
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
	s, err := openKind(os.Getenv(childKind), path)
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

// Two kinds of store that are crabdb's; the others are named as their backends.
const (
	sealed = "sealed"
	plain  = "plain"
)

// openKind opens a store, those of crabdb with checkpoints all the time.
func openKind(kind, path string) (home.Store, error) {
	if kind == sealed || kind == plain {
		return crabkv.Open(path, crabdb.Options{Plain: kind == plain, CheckpointEvery: 200_000})
	}
	return home.Open(context.Background(), home.Location{Backend: kind, Place: path}, home.Make, nil)
}

// localKinds are the kinds of store that this build has and that need no server.
func localKinds() []string {
	kinds := []string{sealed, plain}
	for _, b := range home.BuiltIn() {
		if b != home.Crabdb && home.Local(b) {
			kinds = append(kinds, b)
		}
	}
	return kinds
}

// A process killed at any instant of an import leaves a store with which the next
// import comes to the same end as one that nothing disturbed.
func TestKilledImport(t *testing.T) {
	for _, kind := range localKinds() {
		t.Run(kind, func(t *testing.T) { testKilledImport(t, kind) })
	}
}

func testKilledImport(t *testing.T, kind string) {
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

	path := filepath.Join(t.TempDir(), "store")
	for left := n; left > 0; left-- {
		if finished := killChild(t, random, path, dir, kind); finished {
			if err := os.RemoveAll(path); err != nil { // begin again
				t.Fatal(err)
			}
		}
	}
	s, err := openKind(kind, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := &fixture{t, dir, s}
	f.run(Options{})
	wantSame(t, s, input.store)
	f.wantSound()
	if db, ok := home.Engine(s); ok {
		if faults, err := db.Check(context.Background()); err != nil || len(faults) > 0 {
			t.Errorf("the file: %v, %v", faults, err)
		}
	}
	if again := f.run(Options{}); again.Changed() {
		t.Errorf("another run changed %+v", again.Formats)
	}
}

// killChild has a child import and kills it at a random instant: after a number of
// its commits, and some part of the time that one takes. It returns true when the
// child was faster.
func killChild(t *testing.T, random *rand.Rand, path, input, kind string) bool {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childStore+"="+path, childInput+"="+input, childKind+"="+kind)
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
