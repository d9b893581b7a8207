package jsonkv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// child is the environment variable that makes the test binary a writer of the store
// that it names.
const child = "JSONKV_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(child); dir != "" {
		fmt.Println(writeWithoutEnd(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// step is the nth transaction of a history: most touch a session and the rest, some
// remove a session.
func step(tx kv.KVStorage, n int) error {
	handle := "h" + strconv.Itoa(n%3)
	if n%7 == 0 {
		for key, err := range tx.ScanKeys(ctx, kv.Session, kv.Prefix(tx, "session", handle)) {
			if err != nil {
				return err
			}
			if _, err := tx.Delete(ctx, kv.Session, key); err != nil {
				return err
			}
		}
	}
	for key, value := range map[string]string{
		"local/session/" + handle + "/msg/" + strconv.Itoa(n): "message " + strconv.Itoa(n),
		"local/session/h" + strconv.Itoa((n+1)%3) + "/meta":   "touched by " + strconv.Itoa(n),
		"local/last": "number " + strconv.Itoa(n),
	} {
		if n%7 == 0 && key != "local/last" {
			continue
		}
		if err := tx.Put(ctx, kv.Session, []byte(key), []byte(value)); err != nil {
			return err
		}
	}
	return nil
}

// last returns the number of the last transaction in a store.
func last(s kv.KVStorage) (int, error) {
	value, err := s.Get(ctx, kv.Session, []byte("local/last"))
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimPrefix(string(value), "number "))
}

// writeWithoutEnd goes on with the history, and tells of each transaction that it was
// acknowledged.
func writeWithoutEnd(dir string) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	n, err := last(s)
	for n++; err == nil; n++ {
		if err = s.Update(ctx, func(tx kv.KVStorage) error { return step(tx, n) }); err == nil {
			fmt.Println(n)
		}
	}
	return err
}

func start(t testing.TB, dir string) (cmd *exec.Cmd, out *bufio.Reader) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"="+dir)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewReader(pipe)
}

// hear reads what a child acknowledges next; io.EOF when it is dead.
func hear(out *bufio.Reader) (int, error) {
	line, err := out.ReadString('\n')
	if err != nil {
		return 0, io.EOF // half a line is none
	}
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return 0, fmt.Errorf("the child failed: %s", line)
	}
	return n, nil
}

// history is what a store has to hold after so many transactions.
type history struct {
	memory *Store
	n      int
}

func newHistory(t testing.TB) *history { return &history{mustOpenOn(t, newMemDisk(), Options{}), 0} }

func (h *history) at(t testing.TB, n int) contents {
	t.Helper()
	for h.n < n {
		h.n++
		if err := h.memory.Update(ctx, func(tx kv.KVStorage) error { return step(tx, h.n) }); err != nil {
			t.Fatal(err)
		}
	}
	return contentsOf(t, h.memory)
}

// wantHistory wants a store to hold what so many transactions made, or more of them.
func (h *history) want(t testing.TB, s *Store, atLeast int) int {
	t.Helper()
	n, err := last(s)
	if err != nil || n < atLeast || n < h.n {
		t.Fatalf("%d transactions are there, %v; want %d, and before there were %d", n, err, atLeast, h.n)
	}
	if got, want := contentsOf(t, s), h.at(t, n); !maps.Equal(got, want) {
		t.Fatalf("after %d transactions: %v, want %v", n, got, want)
	}
	return n
}

// A process that is killed at any moment loses nothing that it acknowledged, and
// leaves no half transaction. Nor does a reader beside it see one.
func TestKillNine(t *testing.T) {
	kills := 50
	if testing.Short() {
		kills = 5
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	dir, h := filepath.Join(t.TempDir(), "store"), newHistory(t)
	acknowledged, halfway, beside := 0, 0, 0
	for range kills {
		cmd, out := start(t, dir)
		lines, err := 1+r.IntN(10), error(nil)
		for i := 0; i < lines && err == nil; i++ {
			var n int
			if n, err = hear(out); err == nil {
				acknowledged = n
			}
			if err == nil && i%4 == 0 {
				reader := mustOpen(t, dir, Options{ReadOnly: true})
				h.want(t, reader, acknowledged)
				mustClose(t, reader)
				beside++
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(r.IntN(3000))*time.Microsecond, func() { cmd.Process.Kill() })
		for err == nil {
			var n int
			if n, err = hear(out); err == nil {
				acknowledged = n
			}
		}
		if err != io.EOF {
			t.Fatal(err)
		}
		cmd.Wait()
		if _, err := os.Stat(filepath.Join(dir, commitName)); err == nil {
			halfway++
		}
		reader := mustOpen(t, dir, Options{ReadOnly: true})
		h.want(t, reader, acknowledged)
		mustClose(t, reader)
		if r.IntN(2) == 0 {
			s := mustOpen(t, dir, Options{})
			h.want(t, s, acknowledged)
			mustClose(t, s)
		}
	}
	t.Logf("%d transactions, %d kills, %d of them in the middle of a commit, %d readings beside a writer", acknowledged, kills, halfway, beside)
}

// A second writer is refused at once, in the same process and from another, and told
// who has the store; a reader is not. The lock ends with the process that holds it.
func TestOneWriter(t *testing.T) {
	dir := sample(t)
	refused := func(pid int) {
		t.Helper()
		s, err := Open(dir, Options{})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, kv.ErrBusy) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d ", pid)) {
			t.Fatalf("a second writer: %v; want kv.ErrBusy, %s and pid %d", err, dir, pid)
		}
		mustClose(t, mustOpen(t, dir, Options{ReadOnly: true}))
	}
	s := mustOpen(t, dir, Options{})
	refused(os.Getpid())
	refused(os.Getpid())
	put(t, s, kv.Memory, "k", "v")
	mustClose(t, s)
	cmd, out := start(t, dir)
	if _, err := hear(out); err != nil {
		t.Fatal(err)
	}
	refused(cmd.Process.Pid)
	cmd.Process.Kill()
	cmd.Wait()
	mustClose(t, mustOpen(t, dir, Options{}))
}

// A store that was opened to be read refuses to be written, and stays at its moment.
func TestReadOnly(t *testing.T) {
	dir := sample(t)
	before := filesIn(t, dir)
	s := mustOpen(t, dir, Options{ReadOnly: true})
	_, deleted := s.Delete(ctx, kv.Session, []byte("local/idx/sess/x"))
	for what, err := range map[string]error{
		"Put":    s.Put(ctx, kv.Memory, []byte("k"), nil),
		"Delete": deleted,
		"Update": s.Update(ctx, func(kv.KVStorage) error { return nil }),
	} {
		if !errors.Is(err, kv.ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := filesIn(t, dir); !maps.Equal(before, after) {
		t.Errorf("there was %v, and is %v", before, after)
	}
	was := contentsOf(t, s)
	w := mustOpen(t, dir, Options{})
	put(t, w, kv.Memory, "k", "v")
	if now := contentsOf(t, s); !maps.Equal(was, now) {
		t.Errorf("there was %v, and is %v", was, now)
	}
}

// Readers that open a store over and over while it is written each see one moment of
// it, and never an earlier one than before.
func TestReadersBesideAWriter(t *testing.T) {
	dir, h := t.TempDir(), newHistory(t)
	w := mustOpen(t, dir, Options{})
	moments := 100
	if testing.Short() {
		moments = 20
	}
	_, end := writing(t, w)
	for seen := map[int]bool{}; len(seen) < moments; {
		s := mustOpen(t, dir, Options{ReadOnly: true})
		seen[h.want(t, s, 0)] = true
		mustClose(t, s)
	}
	end()
}

// writing goes on with the history in a store until end is called, and tells of written
// transactions when somebody listens.
func writing(t testing.TB, s *Store) (written <-chan bool, end func()) {
	stop, done, tells := make(chan bool), make(chan error, 1), make(chan bool, 1)
	go func() {
		for n := 1; ; n++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := s.Update(ctx, func(tx kv.KVStorage) error { return step(tx, n) }); err != nil {
				done <- err
				return
			}
			select {
			case tells <- true:
			default:
			}
		}
	}()
	return tells, func() {
		t.Helper()
		close(stop)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}
