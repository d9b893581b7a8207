//go:build unix

package sqlitekv_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
	"github.com/crabstore/crabstore/kv/sqlitekv"
)

// A child is this test binary, run again with an order in its environment.
const orderVariable = "SQLITEKV_CHILD"

type order struct {
	Do, Path string
	For      time.Duration
}

func TestMain(m *testing.M) {
	text := os.Getenv(orderVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.carryOut()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

func (o order) carryOut() error {
	s, err := sqlitekv.Open(ctx, o.Path, sqlitekv.Options{})
	if err != nil {
		return err
	}
	switch o.Do {
	case "count":
		n, err := countUp(s, o.For)
		fmt.Println(n)
		return errors.Join(err, s.Close())
	case "write":
		return writeUntilKilled(s)
	case "write on request":
		return errors.Join(writeOnRequest(s), s.Close())
	}
	return fmt.Errorf("nobody knows how to %q", o.Do)
}

type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(t *testing.T, o order) *child {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), orderVariable+"="+string(text))
	c.Stderr = os.Stderr
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c
}

// number reads the next number that the child says; ok is false when it has ended.
func (c *child) number(t *testing.T) (n int, ok bool) {
	t.Helper()
	if !c.out.Scan() {
		return 0, false
	}
	n, err := strconv.Atoi(c.out.Text())
	if err != nil {
		t.Fatal(err)
	}
	return n, true
}

const counter = "counter"

func read(s kv.KVStorage, key string) (int, error) {
	value, err := s.Get(ctx, kv.Config, []byte(key))
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(value))
}

func set(s kv.KVStorage, key string, n int) error {
	return s.Put(ctx, kv.Config, []byte(key), strconv.AppendInt(nil, int64(n), 10))
}

// countUp adds 1 to the counter, over and over for a time, in 50 goroutines, and tells
// how often.
func countUp(s kv.KVStorage, d time.Duration) (int, error) {
	var total atomic.Int64
	errs := make(chan error, 50)
	end := time.Now().Add(d)
	for range cap(errs) {
		go func() {
			for time.Now().Before(end) {
				if err := kv.Update(ctx, s, increment); err != nil {
					errs <- err
					return
				}
				total.Add(1)
			}
			errs <- nil
		}()
	}
	var err error
	for range cap(errs) {
		err = errors.Join(err, <-errs)
	}
	return int(total.Load()), err
}

func increment(tx kv.KVStorage) error {
	n, err := read(tx, counter)
	if err != nil {
		return err
	}
	return set(tx, counter, n+1)
}

// SQLITEKV_B01 is how long, as in 10s.
func TestB01_CounterOfTwoProcesses(t *testing.T) {
	d := 2 * time.Second
	if text := os.Getenv("SQLITEKV_B01"); text != "" {
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		d /= 4
	}
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, sqlitekv.Options{})
	c := start(t, order{Do: "count", Path: path, For: d})
	mine, err := countUp(s, d)
	if err != nil {
		t.Errorf("this process: %v", err)
	}
	others, ok := c.number(t)
	if err := c.Wait(); err != nil || !ok {
		t.Fatalf("the other process: %v", err)
	}
	got, err := read(s, counter)
	if err != nil || got != mine+others || mine == 0 || others == 0 {
		t.Errorf("counter is %d, %v; want %d + %d", got, err, mine, others)
	}
	t.Logf("%d updates here, %d there", mine, others)
}

// writeUntilKilled makes rounds, each of an update of many keys and a put, and says the
// number of each that it has made. Now and then it does what moves the whole file.
func writeUntilKilled(s *sqlitekv.Store) error {
	for n := 1; ; n++ {
		was, err := read(s, counter)
		if err != nil {
			return err
		}
		if err := s.Update(ctx, func(tx kv.KVStorage) error {
			var errs []error
			for _, part := range parts {
				errs = append(errs, set(tx, fmt.Sprint(part, was+1), was+1))
			}
			return errors.Join(errs...)
		}); err != nil {
			return err
		}
		if err := set(s, counter, was+1); err != nil {
			return err
		}
		fmt.Println(was + 1)
		switch {
		case n%61 == 0:
			err = s.Compact(ctx)
		case n%17 == 0:
			err = s.Checkpoint(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// parts are what the keys of one update begin with.
var parts = func() (all []string) {
	for i := range 10 {
		all = append(all, fmt.Sprintf("part%d/", i))
	}
	return all
}()

// SQLITEKV_KILLS is how often; the seed of a run is SQLITEKV_SEED.
func TestKillNine(t *testing.T) {
	kills, seed := 50, rand.Uint64()
	if testing.Short() {
		kills = 5
	}
	for variable, into := range map[string]func(n uint64){
		"SQLITEKV_KILLS": func(n uint64) { kills = int(n) },
		"SQLITEKV_SEED":  func(n uint64) { seed = n },
	} {
		if text := os.Getenv(variable); text != "" {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			into(n)
		}
	}
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "store.db")
	acknowledged := 0
	for range kills {
		acknowledged = liveAndDie(t, path, 1+rng.IntN(80), acknowledged)
		checkRounds(t, path, acknowledged)
	}
	t.Logf("%d kills, %d rounds acknowledged", kills, acknowledged)
}

// liveAndDie runs a child that writes, kills it when it has acknowledged so many rounds,
// and returns the last one that it did.
func liveAndDie(t *testing.T, path string, rounds, acknowledged int) int {
	t.Helper()
	c := start(t, order{Do: "write", Path: path})
	for i := 0; ; i++ {
		if i == rounds {
			c.Process.Kill()
		}
		n, ok := c.number(t)
		if !ok {
			if i < rounds {
				t.Fatalf("the child failed after %d rounds", i)
			}
			c.Wait()
			return acknowledged
		}
		acknowledged = n
	}
}

// checkRounds wants every acknowledged round, perhaps one more, and nothing that is
// half there.
func checkRounds(t *testing.T, path string, acknowledged int) {
	t.Helper()
	s := open(t, path, sqlitekv.Options{})
	defer s.Close()
	n, err := read(s, counter)
	if err != nil || n < acknowledged || n > acknowledged+1 {
		t.Fatalf("the counter is %d, %v; %d was acknowledged", n, err, acknowledged)
	}
	found := map[string]int{}
	for _, part := range parts {
		for key, err := range s.ScanKeys(ctx, kv.Config, []byte(part)) {
			if err != nil {
				t.Fatal(err)
			}
			if i, err := strconv.Atoi(string(key[len(part):])); err != nil || i < 1 || i > n+1 {
				t.Fatalf("there is %q beside a counter of %d", key, n)
			}
			found[part]++
		}
		if got := found[part]; got != found[parts[0]] || got < n {
			t.Fatalf("%d keys of one part and %d of another; the counter is %d", got, found[parts[0]], n)
		}
	}
}

// writeOnRequest raises the counter whenever it is told to, and says to what.
func writeOnRequest(s *sqlitekv.Store) error {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := s.Update(ctx, increment); err != nil {
			return err
		}
		n, err := read(s, counter)
		if err != nil {
			return err
		}
		fmt.Println(n)
	}
	return nil
}

// request has the child write once more.
func (c *child) request(t *testing.T, want int) {
	t.Helper()
	if _, err := fmt.Fprintln(c.in); err != nil {
		t.Fatal(err)
	}
	if got, ok := c.number(t); !ok || got != want {
		t.Fatalf("the child raised the counter to %d, %v; want %d", got, ok, want)
	}
}

// A reader beside a writer sees what that writes and changes no byte of database and
// log. The files are compared while this process has the store closed: closing a file
// drops the locks that a process has on it.
func TestReadOnlyBesideAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	c := start(t, order{Do: "write on request", Path: path})
	for n := 1; n <= 3; n++ {
		c.request(t, 2*n-1)
		before := contents(t, filepath.Dir(path))
		s := open(t, path, sqlitekv.Options{ReadOnly: true})
		if got, err := read(s, counter); got != 2*n-1 || err != nil {
			t.Fatalf("read %d, %v; want %d", got, err, 2*n-1)
		}
		s.Close()
		after := contents(t, filepath.Dir(path))
		for _, name := range []string{"store.db", "store.db-wal"} {
			if before[name] != after[name] || after[name] == "" && name != "store.db" {
				t.Errorf("%s was changed", name)
			}
		}
		s = open(t, path, sqlitekv.Options{ReadOnly: true})
		c.request(t, 2*n) // a reader is in nobody's way, and sees what comes
		if got, err := read(s, counter); got != 2*n || err != nil {
			t.Fatalf("read %d, %v; want %d", got, err, 2*n)
		}
		s.Close()
	}
	c.Process.Kill()
	c.Wait()
	s := open(t, path, sqlitekv.Options{ReadOnly: true})
	if got, err := read(s, counter); got != 6 || err != nil {
		t.Errorf("read %d, %v from what a killed process left; want 6", got, err)
	}
}
