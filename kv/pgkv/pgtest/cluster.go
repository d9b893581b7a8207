package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// cluster is a temporary folder with the data of a server, and the server.
type cluster struct {
	bin      string   // the folder of initdb and postgres
	dir      string   // holds everything, the Unix socket too
	settings []string // name=value
	user     owner    // as whom the server runs
	port     int
	password string

	reaper   *exec.Cmd // ends the server and removes dir when lifeline is closed
	lifeline *os.File
	postgres *exec.Cmd     // nil while none runs
	ended    chan struct{} // closed when postgres has ended
}

// patience is how long a server may take to serve or to stop: far above what it takes
// on a busy machine.
const patience = 2 * time.Minute

// newCluster makes a cluster and starts its server.
func newCluster(settings []string) (*cluster, error) {
	c := &cluster{settings: settings, password: rand.Text()}
	for _, step := range []func() error{c.findPrograms, c.makeFolder, c.hireReaper, c.initialize, c.start} {
		if err := step(); err != nil {
			c.remove()
			return nil, err
		}
	}
	return c, nil
}

// findPrograms finds the newest PostgreSQL where systems install several, or the one
// in the PATH.
func (c *cluster) findPrograms() (err error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		c.bin = filepath.Dir(path)
		return nil
	}
	installed, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	newest := 0.0
	for _, path := range installed {
		bin := filepath.Dir(path)
		version, err := strconv.ParseFloat(filepath.Base(filepath.Dir(bin)), 64)
		if err == nil && version > newest {
			c.bin, newest = bin, version
		}
	}
	if c.bin == "" {
		return errors.New("no initdb in PATH, nor in /usr/lib/postgresql/*/bin")
	}
	return err
}

// makeFolder makes the folder, which belongs to whom the server runs as. The path of a
// Unix socket in it has to fit in some 100 bytes.
func (c *cluster) makeFolder() (err error) {
	if c.user, err = findOwner(); err != nil {
		return err
	}
	parent := os.TempDir()
	if len(parent) > 60 {
		parent = "/tmp"
	}
	if c.dir, err = os.MkdirTemp(parent, "pgtest"); err != nil {
		return err
	}
	return c.user.give(c.dir)
}

// obituary waits for the end of its input, ends the server at once and removes all. The
// server removes the file with its pid last; the pid itself stays for as long as nobody
// has asked how the process ended.
const obituary = `read -r _
file="$1/data/postmaster.pid"
if read -r pid <"$file"; then
	kill -QUIT "$pid"
	n=0
	while [ -e "$file" ] && kill -0 "$pid" && [ $n -lt 200 ]; do sleep 0.05; n=$((n+1)); done
fi 2>/dev/null
rm -rf "$1"`

// hireReaper starts the shell that outlives this process.
func (c *cluster) hireReaper() error {
	input, lifeline, err := os.Pipe()
	if err != nil {
		return err
	}
	defer input.Close()
	c.lifeline = lifeline
	c.reaper = c.command("/bin/sh", "-c", obituary, "sh", c.dir)
	c.reaper.Dir = "/"
	c.reaper.Stdin = input
	return c.reaper.Start()
}

// command is one run as the owner, in a process group that a Ctrl-C in the terminal
// does not reach.
func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	c.user.runs(cmd)
	return cmd
}

// locales are tried from the first on: in those of a language a fault that lets
// text decide an order shows.
var locales = [][]string{
	{"--locale-provider=icu", "--icu-locale=en-US", "--locale=C.UTF-8"},
	{"--locale=en_US.UTF-8"},
	{"--locale=C.UTF-8"},
	{"--locale=C"},
}

func (c *cluster) initialize() error {
	secret := filepath.Join(c.dir, "password")
	if err := os.WriteFile(secret, []byte(c.password), 0o600); err != nil {
		return err
	}
	if err := c.user.give(secret); err != nil {
		return err
	}
	var failed error
	for _, locale := range locales {
		args := append([]string{"-D", c.data(), "-U", "crabstore", "--pwfile", secret,
			"--auth=scram-sha-256", "--encoding=UTF8", "--no-sync"}, locale...)
		out, err := c.command(filepath.Join(c.bin, "initdb"), args...).CombinedOutput()
		if err == nil {
			return os.Remove(secret)
		}
		failed = fmt.Errorf("initdb: %w: %s", err, out)
		if err := os.RemoveAll(c.data()); err != nil {
			return err
		}
	}
	return failed
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// start starts the server, which keeps its port once it has one.
func (c *cluster) start() error {
	for attempt := 0; ; attempt++ {
		first := c.port == 0
		if first {
			if err := c.choosePort(); err != nil {
				return err
			}
		}
		err := c.startOn()
		if err == nil || !first || attempt == 2 {
			return err
		}
		c.port = 0 // another process may have been faster
	}
}

func (c *cluster) choosePort() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.port = l.Addr().(*net.TCPAddr).Port
	return l.Close()
}

// startOn starts the server and waits until it serves.
func (c *cluster) startOn() error {
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-D", c.data(), "-p", strconv.Itoa(c.port)}
	for _, setting := range append([]string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=" + c.dir, "max_connections=200",
	}, c.settings...) {
		args = append(args, "-c", setting)
	}
	postgres := c.command(filepath.Join(c.bin, "postgres"), args...)
	postgres.Stdout, postgres.Stderr = log, log
	if err := postgres.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = postgres.Wait() // how it ended is in its log
		close(ended)
	}()
	c.postgres, c.ended = postgres, ended
	return c.waitUntilItServes()
}

func (c *cluster) url() *url.URL {
	return &url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword("crabstore", c.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}
}

// waitUntilItServes asks again and again: a server has no other way to tell.
func (c *cluster) waitUntilItServes() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := pgx.Connect(ctx, c.url().String())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-again.C:
		case <-c.ended:
			c.postgres = nil
			return fmt.Errorf("postgres ended: %s", c.log())
		case <-ctx.Done():
			return fmt.Errorf("postgres does not serve: %w: %s", err, c.log())
		}
	}
}

// log returns the end of what the server said.
func (c *cluster) log() []byte {
	log, err := os.ReadFile(filepath.Join(c.dir, "log"))
	if err != nil {
		return []byte(err.Error())
	}
	return log[max(0, len(log)-2000):]
}

func (c *cluster) runs() bool { return c.postgres != nil }

func (c *cluster) stop(crash bool) error {
	if c.postgres == nil {
		return errors.New("pgtest: the server does not run")
	}
	how := os.Interrupt // its fast shutdown
	if crash {
		how = quit
	}
	if err := c.postgres.Process.Signal(how); err != nil {
		return err
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-c.ended:
		c.postgres = nil
		return nil
	case <-limit.C:
		return fmt.Errorf("pgtest: postgres does not stop: %s", c.log())
	}
}

// remove lets the reaper do its work and waits for it.
func (c *cluster) remove() {
	switch {
	case c.reaper != nil && c.reaper.Process != nil:
		c.lifeline.Close()
		_ = c.reaper.Wait()
	case c.dir != "":
		_ = os.RemoveAll(c.dir)
	}
}
