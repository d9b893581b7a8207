package etcdkv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// A test that needs another process runs the test program again as one of these.
const (
	roleVariable  = "ETCDKV_TEST_ROLE"
	placeVariable = "ETCDKV_TEST_PLACE"
)

func TestMain(m *testing.M) {
	role, isChild := map[string]func(s *Store, out io.Writer) error{
		"count": countUp,
		"write": writeUntilKilled,
	}[os.Getenv(roleVariable)]
	if !isChild {
		os.Exit(m.Run())
	}
	s, err := Open(ctx, os.Getenv(placeVariable), Options{})
	if err == nil {
		s.patience /= 50
		err = role(s, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child starts this program in a role and returns what it writes.
func child(t testing.TB, role, at string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, placeVariable+"="+at)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

const counts = 50

func countUp(s *Store, _ io.Writer) error {
	done := make(chan error)
	const writers = 4
	for range writers {
		go func() {
			var err error
			for range counts {
				err = errors.Join(err, s.Update(ctx, func(tx kv.KVStorage) error { return increment(ctx, tx, "n") }))
			}
			done <- err
		}()
	}
	var err error
	for range writers {
		err = errors.Join(err, <-done)
	}
	return err
}

// Two processes, each of several writers, count up one counter: none is busy, and
// none's count is lost.
func TestB01_TwoProcessesCount(t *testing.T) {
	at := place(t)
	s := openWith(t, at, nil)
	first, _ := child(t, "count", at)
	second, _ := child(t, "count", at)
	for _, cmd := range []*exec.Cmd{first, second} {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if n, err := number(ctx, s, "n"); err != nil || n != 2*4*counts {
		t.Errorf("counted %d, %v; want %d", n, err, 2*4*counts)
	}
}

// A transaction in which other writers of the process come between again and again is
// let through in the end.
func TestUpdatesAreNotStarvedByPuts(t *testing.T) {
	s := openWith(t, place(t), nil)
	stop, done := make(chan struct{}), make(chan error)
	const writers = 8
	for i := range writers {
		go func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				if err := s.Put(ctx, col, fmt.Append(nil, i), fmt.Append(nil, n)); err != nil {
					done <- err
					return
				}
			}
		}()
	}
	for range 20 {
		if err := s.Update(ctx, func(tx kv.KVStorage) error { return increment(ctx, tx, "n") }); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Waiting for the turn ends with the context, and in the end by itself.
func TestTheTurn(t *testing.T) {
	s := openWith(t, place(t), nil)
	pass, err := s.takeTurn(ctx, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.takeTurn(ctx, time.Millisecond); !errors.Is(err, kv.ErrBusy) {
		t.Errorf("waited too long: %v; want ErrBusy", err)
	}
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if err := s.Update(short, func(kv.KVStorage) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an Update with a short time waited: %v", err)
	}
	pass()
	if s.contended() {
		t.Error("somebody still waits")
	}
}

// widths are how many keys the transactions of the killed process write besides the
// number: in one request, and through the stage.
var widths = []int{3, 150}

// writeUntilKilled writes a number, alone and in transactions, and tells of each that
// is acknowledged.
func writeUntilKilled(s *Store, out io.Writer) error {
	n, err := number(ctx, s, "last")
	for ; err == nil; n++ {
		err = writeNumber(s, n+1)
		if err == nil {
			_, err = fmt.Fprintln(out, n+1)
		}
	}
	return err
}

func writeNumber(s *Store, n int) error {
	value := strconv.Itoa(n)
	return s.Update(ctx, func(tx kv.KVStorage) error {
		for _, width := range widths[n%2 : n%2+1] {
			for i := range width {
				if err := tx.Put(ctx, col, fmt.Appendf(nil, "%d/%03d", width, i), []byte(value)); err != nil {
					return err
				}
			}
		}
		return tx.Put(ctx, col, []byte("last"), []byte(value))
	})
}

// A process that writes is killed at random moments. Whoever reads finds what it had
// acknowledged, and whole transactions.
func TestKilledClients(t *testing.T) {
	kills := 50
	if testing.Short() {
		kills = 5
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	at := place(t)
	s := openWith(t, at, nil)
	for range kills {
		cmd, acknowledged := child(t, "write", at)
		last, after := 0, 1+dice.IntN(8)
		delay := time.NewTimer(time.Hour)
		for n := 0; acknowledged.Scan(); n++ {
			if n == after {
				delay.Reset(time.Duration(dice.IntN(4000)) * time.Microsecond)
				go func() { <-delay.C; _ = cmd.Process.Kill() }()
			}
			var err error
			if last, err = strconv.Atoi(acknowledged.Text()); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Wait() // killed
		checkNumber(t, s, last)
	}
	writer := openWith(t, at, nil)
	writer.youth = 0
	if err := writer.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	wantNoLitter(t, writer)
}

// checkNumber wants the number that was acknowledged last or the one after it, and of
// each width one number.
func checkNumber(t *testing.T, s kv.KVStorage, acknowledged int) {
	t.Helper()
	all := content(t, s)
	last, err := strconv.Atoi(all["last"])
	if err != nil || last != acknowledged && last != acknowledged+1 {
		t.Fatalf("%d was acknowledged, there is %d, %v", acknowledged, last, err)
	}
	want := map[string]string{strconv.Itoa(widths[last%2]): all["last"], strconv.Itoa(widths[1-last%2]): strconv.Itoa(last - 1)}
	for key, value := range all {
		if width, _, ok := strings.Cut(key, "/"); ok && value != want[width] {
			t.Fatalf("the last number is %d and %s is %s; want %s", last, key, value, want[width])
		}
	}
}
