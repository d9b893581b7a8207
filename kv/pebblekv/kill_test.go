package pebblekv

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crabstore/crabstore/kv"
)

// The test binary runs itself as another process that writes a store.
const childEnv = "PEBBLEKV_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := child(dir, os.Stdout); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child goes on writing where the store ended, and tells of each write once it is
// acknowledged, until it is killed: single puts, and every tenth time a transaction that
// writes two keys alike and deletes the one of ten before. Every hundredth it makes a
// checkpoint, and it compacts all the time.
func child(dir string, acknowledged io.Writer) error {
	s, err := Open(dir, Options{tune: small})
	if err != nil {
		return err
	}
	n, err := countPuts(s)
	if err != nil {
		return err
	}
	fmt.Fprintln(acknowledged, "open")
	go func() {
		for s.Compact(ctx) == nil {
		}
	}()
	for ; ; n++ {
		if err := childWrite(s, n); err != nil {
			return err
		}
		fmt.Fprintln(acknowledged, n)
		if n%100 == 99 {
			if err := s.Checkpoint(ctx); err != nil {
				return err
			}
		}
	}
}

func countPuts(s *Store) (n int, err error) {
	for _, err := range s.ScanKeys(ctx, kv.Session, []byte("single/")) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func single(n int) []byte { return fmt.Appendf(nil, "single/%08d", n) }

func childWrite(s *Store, n int) error {
	value := []byte(noise(n, 20+n%300))
	if n%10 != 0 {
		return s.Put(ctx, kv.Session, single(n), value)
	}
	return s.Update(ctx, func(tx kv.KVStorage) error {
		for _, key := range []string{"left", "right"} {
			if err := tx.Put(ctx, kv.Text, fmt.Appendf(nil, "%s/%08d", key, n), value); err != nil {
				return err
			}
		}
		if _, err := tx.Delete(ctx, kv.Text, fmt.Appendf(nil, "left/%08d", n-10)); err != nil {
			return err
		}
		return tx.Put(ctx, kv.Session, single(n), value)
	})
}

// checkChild wants what a child writes, at least as far as it was acknowledged, in full,
// and nothing else.
func checkChild(t *testing.T, s kv.KVStorage, acknowledged int) {
	t.Helper()
	puts, pairs := content(t, s, kv.Session), content(t, s, kv.Text)
	if len(puts) < acknowledged {
		t.Fatalf("%d writes are there, %d were acknowledged", len(puts), acknowledged)
	}
	for n := range len(puts) {
		if puts[string(single(n))] != noise(n, 20+n%300) {
			t.Fatalf("write %d of %d is not what it was", n, len(puts))
		}
	}
	transactions := (len(puts) + 9) / 10
	for n := 0; n < len(puts); n += 10 {
		right, ok := pairs[fmt.Sprintf("right/%08d", n)]
		if !ok || right != noise(n, 20+n%300) {
			t.Fatalf("transaction %d is not whole", n)
		}
	}
	if last := fmt.Sprintf("left/%08d", (transactions-1)*10); transactions > 0 && (len(pairs) != transactions+1 || pairs[last] == "") {
		t.Fatalf("%d transactions left %d entries", transactions, len(pairs))
	}
}

// process is a child that writes.
type process struct {
	*exec.Cmd
	out *bufio.Reader
}

func startChild(t *testing.T, dir string) *process {
	t.Helper()
	p, line := tryChild(t, dir)
	if line != "open\n" {
		t.Fatalf("the child says %q", line)
	}
	return p
}

// tryChild starts a child and returns the first line that it says.
func tryChild(t *testing.T, dir string) (p *process, line string) {
	t.Helper()
	p = &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), childEnv+"="+dir)
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	p.out = bufio.NewReaderSize(out, 1<<20)
	if line, err = p.out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return p, line
}

// acknowledged reads what a child tells until it has told of so many writes, or ends, and
// returns how many writes there are by the last of it.
func (p *process) acknowledged(t *testing.T, atLeast int) (last int) {
	t.Helper()
	for range atLeast {
		line, err := p.out.ReadString('\n')
		if err == io.EOF {
			return last // a line that was cut was not read
		}
		if _, err := fmt.Sscan(line, &last); err != nil {
			t.Fatalf("the child says %q", line)
		}
		last++
	}
	return last
}

// TestKill kills a process that writes again and again: when it has told of a random
// number of writes, and some microseconds later.
func TestKill(t *testing.T) {
	kills, seed := 50, uint64(time.Now().UnixNano())
	if testing.Short() {
		kills = 5
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir, total := filepath.Join(t.TempDir(), "store"), 0
	for range kills {
		p := startChild(t, dir)
		known := p.acknowledged(t, 1+random.IntN(400))
		timer := time.NewTimer(time.Duration(random.IntN(2000)) * time.Microsecond)
		<-timer.C
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		known = max(known, p.acknowledged(t, 1<<30))
		_ = p.Wait()
		s := open(t, dir, Options{ReadOnly: true})
		checkChild(t, s, known)
		shut(t, s)
		total = known
	}
	t.Logf("%d writes were acknowledged", total)
	s := open(t, dir, Options{})
	checkChild(t, s, total)
	shut(t, s)
}

// TestSecondProcess opens a store that another process writes, and which has been
// opened for reading, and closed again, by that process and by this.
func TestSecondProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	p := startChild(t, dir)
	_, err := Open(dir, Options{})
	wantError(t, err, kv.ErrBusy)
	if !strings.Contains(err.Error(), dir) {
		t.Errorf("%v does not name %s", err, dir)
	}
	shut(t, open(t, dir, Options{ReadOnly: true}))
	_, err = Open(dir, Options{})
	wantError(t, err, kv.ErrBusy)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	shut(t, open(t, dir, Options{}))
}

// TestReadersKeepTheLock opens a store for reading in the process that writes it. Closing
// any descriptor of the lock's file would release the lock.
func TestReadersKeepTheLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	put(t, s, "k", "v")
	shut(t, open(t, dir, Options{ReadOnly: true}))
	_, err := Open(dir, Options{})
	wantError(t, err, kv.ErrBusy)
	if _, said := tryChild(t, dir); !strings.Contains(said, kv.ErrBusy.Error()) {
		t.Fatalf("a second process says %q", said)
	}
}
