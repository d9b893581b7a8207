package pgkv_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/pgkv"
	"github.com/crabstore/crabstore/kv/pgkv/pgtest"
)

// The test binary is also the other process: these make it run a role on a store.
const (
	roleVariable = "PGKV_TEST_ROLE"
	nameVariable = "PGKV_TEST_NAME"
	urlVariable  = "PGKV_TEST_URL"
)

var roles = map[string]func(s *pgkv.Store, name string) error{
	"count": countUp,
	"pairs": pairsForEver,
	"stuck": stuckInAnUpdate,
}

// TestRole is the other process.
func TestRole(t *testing.T) {
	role := roles[os.Getenv(roleVariable)]
	if role == nil {
		t.Skip("run by other tests")
	}
	if err := role(open(t, os.Getenv(urlVariable), pgkv.Options{}), os.Getenv(nameVariable)); err != nil {
		t.Fatal(err)
	}
}

// process is another process, and what it says.
type process struct {
	*exec.Cmd
	said *bufio.Scanner
}

func start(t *testing.T, role, name, address string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRole$")
	cmd.Env = append(os.Environ(), roleVariable+"="+role, nameVariable+"="+name, urlVariable+"="+address)
	cmd.Stderr = os.Stderr
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &process{cmd, bufio.NewScanner(said)}
}

const incrementsEach = 100

// countUp has four goroutines count up one number, and write a pair for each step.
func countUp(s *pgkv.Store, name string) error {
	var group sync.WaitGroup
	errs := make([]error, 4)
	for g := range errs {
		group.Go(func() {
			for i := range incrementsEach {
				err := s.Update(ctx, func(tx kv.KVStorage) error {
					n, err := number(ctx, tx, []byte("n"))
					if err != nil {
						return err
					}
					return errors.Join(
						tx.Put(ctx, kv.Memory, []byte("n"), strconv.AppendInt(nil, int64(n+1), 10)),
						tx.Put(ctx, kv.Text, fmt.Appendf(nil, "%06d", n), fmt.Appendf(nil, "%s/%d/%d", name, g, i)))
				})
				if err != nil {
					errs[g] = err
					return
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// B01 for two processes.
func TestB01_TwoProcessesCount(t *testing.T) {
	address := pgtest.Shared(t).URL(t)
	s := open(t, address, pgkv.Options{})
	processes := []*process{start(t, "count", "a", address), start(t, "count", "b", address)}
	for _, p := range processes {
		for p.said.Scan() {
		}
		if err := p.Wait(); err != nil {
			t.Fatalf("a process that counts: %v", err)
		}
	}
	want := len(processes) * 4 * incrementsEach
	if n, err := number(ctx, s, []byte("n")); n != want || err != nil {
		t.Errorf("they counted to %d, want %d; %v", n, want, err)
	}
	writers, n := map[string]bool{}, 0
	for e, err := range s.Scan(ctx, kv.Text, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if string(e.Key) != fmt.Sprintf("%06d", n) || writers[string(e.Value)] {
			t.Fatalf("step %d is %q by %q", n, e.Key, e.Value)
		}
		writers[string(e.Value)] = true
		n++
	}
	if n != want {
		t.Errorf("%d steps, want %d", n, want)
	}
}

// pairsForEver writes pairs and says each that is acknowledged. Every fifth one is of
// so many keys that it is sent in parts, with rows locked between them.
func pairsForEver(s *pgkv.Store, name string) error {
	w := pairWriter{name: name}
	for n := 0; ; n++ {
		err := s.Update(ctx, func(tx kv.KVStorage) error {
			if n%5 == 4 {
				for i := range 3000 {
					if err := tx.Put(ctx, kv.Session, fmt.Appendf(nil, "many/%04d", i), make([]byte, 800)); err != nil {
						return err
					}
				}
			}
			return w.pair(ctx, tx, n)
		})
		if err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// A writer is killed at any moment: what it was told is there, nothing is there by half,
// and nothing stays locked.
func TestKilledWritersLeaveNothing(t *testing.T) {
	kills := 50
	if testing.Short() {
		kills = 5
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	address := pgtest.Shared(t).URL(t)
	s := open(t, address, pgkv.Options{})
	for kill := range kills {
		w := pairWriter{name: fmt.Sprint("p", kill)}
		p := start(t, "pairs", w.name, address)
		last := r.IntN(8)
		for len(w.acked) <= last && p.said.Scan() {
			n, err := strconv.Atoi(p.said.Text())
			if err != nil {
				t.Fatalf("the writer says %q", p.said.Text())
			}
			w.acked = append(w.acked, n)
		}
		delay := time.NewTimer(time.Duration(r.IntN(8000)) * time.Microsecond)
		<-delay.C // the moment is any: there is no event to wait for
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for p.said.Scan() { // what it has said before
			if n, err := strconv.Atoi(p.said.Text()); err == nil {
				w.acked = append(w.acked, n)
			}
		}
		_ = p.Wait()
		goesOn(t, s)
		w.unknown = []int{len(w.acked)}
		checkKilled(t, s, &w)
	}
}

// goesOn writes every key that a killed writer may have locked.
func goesOn(t *testing.T, s kv.KVStorage) {
	t.Helper()
	soon, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	err := kv.Update(soon, s, func(tx kv.KVStorage) error {
		for i := range 3000 {
			if err := tx.Put(soon, kv.Session, fmt.Appendf(nil, "many/%04d", i), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("after a writer was killed: %v", err)
	}
}

// checkKilled waits for no commit of the killed writer, which its server may still be at:
// it looks at one moment.
func checkKilled(t *testing.T, s kv.KVStorage, w *pairWriter) {
	t.Helper()
	err := kv.View(ctx, s, func(tx kv.KVStorage) error {
		w.check(t, tx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stuckInAnUpdate is in the middle of its function for ever.
func stuckInAnUpdate(s *pgkv.Store, _ string) error {
	return s.Update(ctx, func(tx kv.KVStorage) error {
		n, err := number(ctx, tx, []byte("k"))
		if err != nil {
			return err
		}
		if err := tx.Put(ctx, kv.Memory, []byte("k"), strconv.AppendInt(nil, int64(n+1), 10)); err != nil {
			return err
		}
		fmt.Println("stuck")
		select {}
	})
}

// An Update whose function takes its time locks nobody out, nor when it is killed.
func TestAWriterThatIsStuckLocksNothing(t *testing.T) {
	address := pgtest.Shared(t).URL(t)
	s := open(t, address, pgkv.Options{})
	p := start(t, "stuck", "", address)
	if !p.said.Scan() || !strings.Contains(p.said.Text(), "stuck") {
		t.Fatalf("it says %q", p.said.Text())
	}
	soon, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	for _, moment := range []string{"stuck", "killed"} {
		if err := s.Put(soon, kv.Memory, []byte("k"), []byte("1")); err != nil {
			t.Fatalf("Put while another is %s: %v", moment, err)
		}
		err := s.Update(soon, func(tx kv.KVStorage) error {
			n, err := number(soon, tx, []byte("k"))
			if err != nil {
				return err
			}
			return tx.Put(soon, kv.Memory, []byte("k"), strconv.AppendInt(nil, int64(n+1), 10))
		})
		if err != nil {
			t.Fatalf("Update while another is %s: %v", moment, err)
		}
		wantValue(t, s, "k", "2")
		_ = p.Process.Kill()
		_ = p.Wait()
	}
}
