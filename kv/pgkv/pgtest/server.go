// Package pgtest gives tests a real PostgreSQL.
//
// Shared is one server for all tests of a process, started when the first asks for it;
// Own is one that a test may crash and restart. Both are of the newest PostgreSQL that
// is installed, in a temporary folder, reachable from this machine alone and by a
// password. A test asks a server for an URL, which names an empty schema of its own. A
// process that dies in whatever way takes its servers with it: beside each of them a
// shell waits for the end of a pipe that the process holds.
//
// Where no PostgreSQL can be had the test is skipped with the reason, unless
// CRABSTORE_NEED_SERVERS is 1: then it fails. CRABSTORE_POSTGRES names a server that
// runs already, as postgres://user:password@host:port/database, and Shared is that one.
package pgtest

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL that runs.
type Server struct {
	admin   *url.URL // of a user who may do everything
	cluster *cluster // nil when the server is not ours
}

// fast are settings for a server whose data nobody needs after a crash.
var fast = []string{"fsync=off", "full_page_writes=off", "synchronous_commit=off"}

var shared = sync.OnceValues(func() (*Server, error) {
	if there := os.Getenv("CRABSTORE_POSTGRES"); there != "" {
		admin, err := url.Parse(there)
		return &Server{admin: admin}, err
	}
	return start(fast)
})

// Shared returns the server of this process. It does not sync what it writes.
func Shared(t testing.TB) *Server {
	t.Helper()
	s, err := shared()
	if err != nil {
		unavailable(t, err)
	}
	return s
}

// Own starts a server for one test, that writes as safely as PostgreSQL does when
// nobody has told it otherwise. It is stopped when the test ends.
func Own(t testing.TB) *Server {
	t.Helper()
	s, err := start(nil)
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(s.cluster.remove)
	return s
}

func start(settings []string) (*Server, error) {
	c, err := newCluster(settings)
	if err != nil {
		return nil, err
	}
	return &Server{c.url(), c}, nil
}

// unavailable ends a test that has no server.
func unavailable(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CRABSTORE_NEED_SERVERS") == "1" {
		t.Fatalf("no PostgreSQL, and CRABSTORE_NEED_SERVERS is 1: %v", err)
	}
	t.Skipf("no PostgreSQL for this test: %v", err)
}

// URL returns the address of an empty schema, which is dropped when the test ends.
// Close what uses it before.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	schema := "t_" + strings.ToLower(rand.Text())
	if err := s.exec("create schema " + schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.exec("drop schema " + schema + " cascade"); err != nil && s.runs() {
			t.Errorf("an URL of pgtest: %v", err)
		}
	})
	u := *s.admin
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

// runs tells whether the server was not stopped.
func (s *Server) runs() bool { return s.cluster == nil || s.cluster.runs() }

// exec runs a statement as the administrator.
func (s *Server) exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.admin.String())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// Socket returns the folder of the Unix socket, by which host=FOLDER in a URL reaches
// a server that Own or Shared has started; empty for another.
func (s *Server) Socket() string {
	if s.cluster == nil {
		return ""
	}
	return s.cluster.dir
}

// Stop ends a server that is the test's Own: at once, as in a crash, or when it has
// disconnected its clients and written what it has to. It can be started again.
func (s *Server) Stop(t testing.TB, crash bool) {
	t.Helper()
	s.mustOwn(t)
	if err := s.cluster.stop(crash); err != nil {
		t.Fatal(err)
	}
}

// Start starts a server that was stopped, at the same address, and waits until it
// serves.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.mustOwn(t)
	if err := s.cluster.start(); err != nil {
		t.Fatal(err)
	}
}

// Restart stops a server and starts it again.
func (s *Server) Restart(t testing.TB, crash bool) {
	t.Helper()
	s.Stop(t, crash)
	s.Start(t)
}

func (s *Server) mustOwn(t testing.TB) {
	t.Helper()
	if shared, err := shared(); err == nil && s == shared || s.cluster == nil {
		t.Fatal("pgtest: other tests use this server: ask for one's Own to stop it")
	}
}
