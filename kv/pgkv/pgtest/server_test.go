package pgtest_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/crabstore/crabstore/kv/pgkv/pgtest"
)

// helper is the environment variable that makes the test binary one that only starts
// a server, and names it.
const helper = "PGTEST_HELPER"

// ask runs statements and returns what the last of them answers.
func ask(t *testing.T, url string, statements ...string) (answer string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, sql := range statements {
		err := conn.QueryRow(ctx, sql).Scan(&answer)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			t.Fatal(err)
		}
	}
	return answer
}

func TestEveryURLIsAnEmptySchema(t *testing.T) {
	s := pgtest.Shared(t)
	a, b := s.URL(t), s.URL(t)
	ask(t, a, "create table x ()")
	const count = "select count(*)::text from information_schema.tables where table_schema = current_schema()"
	if inA, inB := ask(t, a, count), ask(t, b, count); inA != "1" || inB != "0" {
		t.Errorf("%s tables in a schema that has one, %s in an empty one", inA, inB)
	}
	if enc := ask(t, a, "show server_encoding"); enc != "UTF8" {
		t.Errorf("the encoding is %s", enc)
	}
	if pgtest.Shared(t) != s {
		t.Error("a second server is shared")
	}
}

func TestASchemaGoesWithItsTest(t *testing.T) {
	var url string
	t.Run("inner", func(t *testing.T) { url = pgtest.Shared(t).URL(t) })
	if got := ask(t, url, "select coalesce(current_schema(), 'none')"); got != "none" {
		t.Errorf("the schema %s is still there", got)
	}
}

func TestAnOwnServerComesBackFromACrash(t *testing.T) {
	s := pgtest.Own(t)
	url := s.URL(t)
	ask(t, url, "create table x (n int)", "insert into x values (7)")
	for _, crash := range []bool{true, false} {
		s.Restart(t, crash)
		if got := ask(t, url, "select n::text from x"); got != "7" {
			t.Errorf("after a restart, crash %v: %s", crash, got)
		}
	}
	s.Stop(t, true)
	if _, err := pgx.Connect(context.Background(), url); err == nil {
		t.Error("a server that was stopped serves")
	}
}

// A process that is killed takes its server and its folder with it.
func TestNothingOutlivesAKilledProcess(t *testing.T) {
	pgtest.Shared(t) // skips where there is none
	child := exec.Command(os.Args[0], "-test.run=^TestHelper$")
	child.Env = append(os.Environ(), helper+"=1")
	said, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir := line[:len(line)-1]
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	limit := time.After(time.Minute)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return // the shell removes it when the server has ended
		}
		select {
		case <-again.C:
		case <-limit:
			t.Fatalf("%s is still there", dir)
		}
	}
}

// TestHelper is the process that is killed.
func TestHelper(t *testing.T) {
	if os.Getenv(helper) == "" {
		t.Skip("run by TestNothingOutlivesAKilledProcess")
	}
	_, _ = io.WriteString(os.Stdout, pgtest.Own(t).Socket()+"\n")
	select {}
}
